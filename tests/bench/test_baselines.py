"""The baselines: what each adds to a score, on a conversation small enough to see through."""

import math

import numpy as np
import pytest

from bench.baselines import (
    AdjacentWeights,
    adjacent,
    choose,
    fused,
    min_max,
    order,
    over_best,
    recalls,
    signals,
)
from bench.bm25 import Bm25
from bench.corpus import Corpus
from bench.datasets import Question
from bench.run_baselines import fill
from cli.readers.locomo import parse_session_time
from memory.events import EventKind, EventNode, to_us
from memory.names import normal_form
from memory.text import document_keywords

DAYS = ("1:00 pm on 2 March, 2024", "1:00 pm on 9 May, 2024")
TALK = [
    (0, "Ines", "My sister sold the boat."),
    (0, "Tom", "How sad."),
    (0, "Ines", "It needed new sails."),
    (1, "Tom", "The bakery opened."),
    (1, "Ines", "Wonderful."),
]


def node(place: int) -> EventNode:
    session, speaker, text = TALK[place]
    at = to_us(parse_session_time(DAYS[session]))
    return EventNode(
        tenant="t", id=f"e{place}", ref=f"D{place}", source="", session=f"s{session}", agent=speaker,
        kind=EventKind.MESSAGE, text=text, speaker=speaker, occurred_us=at, offset_minutes=0, sequence=place,
        ingested_us=at, arrival=place, digest="",
    )  # fmt: skip


@pytest.fixture
def corpus() -> Corpus:
    nodes = [node(place) for place in range(len(TALK))]
    session = np.array([number for number, _, _ in TALK])
    terms = [document_keywords(one).split() for one in nodes]
    whole = [[term for place in np.flatnonzero(session == number) for term in terms[place]] for number in (0, 1)]
    return Corpus(
        nodes=tuple(nodes),
        vectors=np.eye(5, dtype=np.float32),
        session=session,
        turns=Bm25(terms),
        sessions=Bm25(whole),
        tokens=np.array([30, 10, 40, 20, 10]),
        speakers=tuple(dict.fromkeys(normal_form(one.speaker) for one in nodes)),
    )


def test_bm25_is_the_formula() -> None:
    index = Bm25([["boat", "sail"], ["boat", "boat"], ["bread", "oven", "bread", "yeast"]], k1=0.9, b=0.3)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = 8 / 3
    one = 0.9 * (1 - 0.3 + 0.3 * 2 / mean)
    assert index.scores(["boat"]).tolist() == pytest.approx([idf / (1 + one), idf * 2 / (2 + one), 0])
    assert index.scores(["boat", "boat"])[0] == pytest.approx(2 * idf / (1 + one))
    assert index.scores(["nothing"]).tolist() == [0, 0, 0]


def test_fusion_weighs_both_scores_after_scaling(corpus: Corpus) -> None:
    found = signals(corpus, Question("Who sold a boat?", "1", ()), corpus.vectors[3])
    assert order(found.words)[0] == 0
    assert order(found.cosines)[0] == 3
    assert fused(found, 1.0).tolist() == min_max(found.words).tolist()
    assert order(fused(found, 0.4))[:2].tolist() == [3, 0]


def test_neighbours_of_a_hit_get_a_share_and_never_across_sessions(corpus: Corpus) -> None:
    found = signals(corpus, Question("Who sold a boat?", "1", ()), None)
    [score] = adjacent(corpus, found, [AdjacentWeights(0, 0.3, 0.15, 0, 0, 0)])
    assert score.tolist() == pytest.approx([1, 0.3, 0.15, 0, 0])
    across = signals(corpus, Question("Which bakery?", "1", ()), None)
    [score] = adjacent(corpus, across, [AdjacentWeights(0, 0.3, 0.15, 0, 0, 0)])
    assert score.tolist() == pytest.approx([0, 0, 0, 1, 0.3])


def test_the_session_of_a_hit_counts(corpus: Corpus) -> None:
    found = signals(corpus, Question("Which bakery?", "1", ()), None)
    assert found.by_session[3] == found.by_session[4] == pytest.approx(0.6, abs=1e-6)
    assert found.by_session[0] == pytest.approx(0, abs=1e-6)


def test_one_named_speaker_counts_and_two_do_not(corpus: Corpus) -> None:
    one = signals(corpus, Question("What did Tom's friend open?", "1", ()), None)
    assert one.speaker.tolist() == [0, 1, 0, 1, 0]
    two = signals(corpus, Question("What did Tom tell Ines?", "1", ()), None)
    assert two.speaker.tolist() == [0] * 5


def test_a_named_date_counts_whole_and_three_weeks_after_it_half(corpus: Corpus) -> None:
    inside = signals(corpus, Question("What opened in May 2024?", "1", ()), None)
    assert inside.date.tolist() == [0, 0, 0, 1, 1]
    after = signals(corpus, Question("What was sold on 28 February 2024?", "1", ()), None)
    assert after.date.tolist() == [0.5, 0.5, 0.5, 0, 0]


def test_weights_are_chosen_on_the_other_conversations_only() -> None:
    good_at = {"a": [np.array([0.0, 1.0])], "b": [np.array([1.0, 0.0])] * 2, "c": [np.array([0.0, 0.4])]}
    assert choose(good_at, "b") == 1
    assert choose(good_at, "a") == 0
    assert choose({"a": good_at["a"]}, "a") is None


def test_recall_of_a_grid_is_the_mean_at_both_ranks() -> None:
    scores = np.array([np.arange(30, 0, -1.0), np.arange(30.0)])
    evidence = np.zeros(30, dtype=bool)
    evidence[[0, 15]] = True
    # first row: ranks 1 and 16; second: ranks 30 and 15
    assert recalls(scores, evidence).tolist() == [(0.5 + 1) / 2, (0 + 0.5) / 2]


def test_scaling_of_nothing_is_nothing() -> None:
    assert over_best(np.zeros(3)).tolist() == [0, 0, 0]
    assert min_max(np.full(3, 2.0)).tolist() == [0, 0, 0]


def test_a_context_is_filled_by_rank_and_never_over_its_budget(corpus: Corpus) -> None:
    assert fill(np.array([2, 0, 3, 1, 4]), corpus.tokens, 65) == ([2, 3], 60)
    assert fill(np.array([0, 1, 2, 3, 4]), corpus.tokens, 1_000) == ([0, 1, 2, 3, 4], 110)
    assert fill(np.array([0, 1]), corpus.tokens, 5) == ([], 0)
