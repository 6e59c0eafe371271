"""The retrievers without a graph that Magma is measured against, as strong as they could be made.

They search the same texts with the same vectors. `fusion` and `adjacent` have weights; these are chosen for each
conversation by recall on all others. What each adds was measured on LoCoMo: fusion of scores beats fusion of ranks,
and neighbours in time are worth more than anything else that is flat.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from bench.bm25 import Scores
from bench.corpus import Corpus
from bench.datasets import Question
from memory.dates import find_dates
from memory.events import from_us
from memory.names import normal_form, provisional_names
from memory.text import question_keywords

#: Weights are chosen by the mean recall at these ranks: by one rank alone the choice would be a matter of chance.
CHOSEN_AT = (10, 20)
#: A session so soon after a named date may still talk about it.
GRACE_US = 21 * 86_400 * 1_000_000
#: Part of BM25 in the score of a session, and turns of it that its cosine is the mean of.
SESSION_WORDS = 0.6
SESSION_BEST = 3


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of one question for each event of a corpus, before anything is weighed."""

    words: Scores
    cosines: Scores
    by_session: Scores
    speaker: Scores
    date: Scores


@dataclass(frozen=True, slots=True)
class AdjacentWeights:
    """`meaning`: part of the cosine in the base score, the rest is BM25; `near`, `near_two`: share of the base score of
    neighbours one and two turns away; the others are added as they are.
    """

    meaning: float = 0.4
    near: float = 0.3
    near_two: float = 0.15
    session: float = 0.3
    speaker: float = 0.1
    date: float = 0.3


#: Parts of BM25 in `fusion` to choose from, and what is used when there is no other conversation to choose on.
FUSION_GRID = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
FUSION_FIXED = 0.4
ADJACENT_GRID = tuple(
    AdjacentWeights(meaning, near, near_two, session, speaker)
    for meaning, (near, near_two), session, speaker in itertools.product(
        (0.2, 0.3, 0.4, 0.5), ((0.2, 0.1), (0.3, 0.15), (0.4, 0.2), (0.5, 0.3)), (0.15, 0.3, 0.45), (0.05, 0.1, 0.2)
    )
)
ADJACENT_FIXED = AdjacentWeights()


def signals(corpus: Corpus, question: Question, vector: NDArray[np.float32] | None) -> Signals:
    """Compute what is known of a question; without a vector its cosines are 0."""
    terms = question_keywords(question.text).split()
    cosines = np.zeros(len(corpus.nodes)) if vector is None else (corpus.vectors @ vector).astype(float)
    by_session = SESSION_WORDS * over_best(corpus.sessions.scores(terms))
    by_session += (1 - SESSION_WORDS) * standard(_best_of_sessions(corpus, cosines))
    return Signals(
        words=corpus.turns.scores(terms),
        cosines=cosines,
        by_session=by_session[corpus.session],
        speaker=_spoken(corpus, question.text),
        date=_dated(corpus, question),
    )


def fused(found: Signals, words: float) -> Scores:
    """Give `fusion`: both scores min-max scaled, weighed by the part of BM25."""
    return words * min_max(found.words) + (1 - words) * min_max(found.cosines)


def adjacent(corpus: Corpus, found: Signals, weights: Sequence[AdjacentWeights]) -> NDArray[np.float64]:
    """Give `adjacent`: one row of scores for each of the weights."""
    words, meaning = over_best(found.words), over_best(np.maximum(standard(found.cosines), 0))
    ones = _shifted(words, corpus, 1), _shifted(meaning, corpus, 1)
    twos = _shifted(words, corpus, 2), _shifted(meaning, corpus, 2)
    columns = np.stack([words, meaning, *ones, *twos, found.by_session, found.speaker, found.date])
    rows = []
    for weight in weights:
        part, near, near_two, session, speaker, date = astuple(weight)
        base = (1 - part, part)
        spread = [share * value for share in (1.0, near, near_two) for value in base]
        rows.append([*spread, session, speaker, date])
    scores: NDArray[np.float64] = np.array(rows) @ columns
    return scores


def order(scores: Scores) -> NDArray[np.int64]:
    """Give the places of the events by falling score, equal ones in the order of the conversation."""
    places: NDArray[np.int64] = np.argsort(-scores, kind="stable")
    return places


def recalls(scores: NDArray[np.float64], evidence: NDArray[np.bool_]) -> Scores:
    """Give the mean recall at `CHOSEN_AT` of each row of scores."""
    ordered = evidence[np.argsort(-scores, axis=1, kind="stable")]
    found = np.stack([ordered[:, :k].sum(axis=1) for k in CHOSEN_AT])
    share: Scores = found.mean(axis=0) / evidence.sum()
    return share


def choose(recalls_by_conversation: Mapping[str, Sequence[Scores]], held_out: str) -> int | None:
    """Give the place in the grid that is best on all other conversations; None when there are none."""
    others = [row for name, rows in recalls_by_conversation.items() if name != held_out for row in rows]
    return int(np.mean(others, axis=0).argmax()) if others else None


def over_best(scores: Scores) -> Scores:
    """Divide by the highest score, when there is one above 0."""
    top = scores.max()
    return scores / top if top > 0 else scores


def min_max(scores: Scores) -> Scores:
    """Scale to [0, 1]; all equal gives 0."""
    width = scores.max() - scores.min()
    return (scores - scores.min()) / width if width > 0 else np.zeros_like(scores)


def standard(scores: Scores) -> Scores:
    """Give distances from the mean in standard deviations."""
    scaled: Scores = (scores - scores.mean()) / (scores.std() + 1e-9)
    return scaled


def _shifted(scores: Scores, corpus: Corpus, steps: int) -> Scores:
    """Give for each event the sum of the scores of the events so many steps before and after it in its session."""
    total = np.zeros_like(scores)
    if len(scores) > steps:
        same = corpus.session[steps:] == corpus.session[:-steps]
        total[:-steps] += np.where(same, scores[steps:], 0)
        total[steps:] += np.where(same, scores[:-steps], 0)
    return total


def _best_of_sessions(corpus: Corpus, cosines: Scores) -> Scores:
    parts = (cosines[corpus.session == number] for number in range(int(corpus.session.max()) + 1))
    return np.array([np.sort(part)[-SESSION_BEST:].mean() for part in parts])


def _spoken(corpus: Corpus, question: str) -> Scores:
    """1 for the events of the one speaker that the question names; all 0 when it names none or several."""
    words = f" {normal_form(question)} "
    spans = {span.key for span in provisional_names(question)}
    named = [speaker for speaker in corpus.speakers if speaker and (f" {speaker} " in words or speaker in spans)]
    if len(named) != 1:
        return np.zeros(len(corpus.nodes))
    return np.array([float(normal_form(node.speaker) == named[0]) for node in corpus.nodes])


def _dated(corpus: Corpus, question: Question) -> Scores:
    """1 for events inside a date that the question names, half for those soon after."""
    reference = question.as_of or from_us(max(node.occurred_us for node in corpus.nodes))
    at = np.array([node.occurred_us for node in corpus.nodes])
    best = np.zeros(len(at))
    for span in find_dates(question.text, reference):
        inside = (span.start_us <= at) & (at < span.end_us)
        after = (span.end_us <= at) & (at < span.end_us + GRACE_US)
        best = np.maximum(best, np.where(inside, 1.0, np.where(after, 0.5, 0.0)))
    return best
