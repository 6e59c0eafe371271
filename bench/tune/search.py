"""Chooses a policy by cross-validation over conversations: random search, replayed through the product itself.

For each conversation left out, the policy that did best on all others is measured on it, beside the one searched from.
Both are ranked by the same trees, fitted on the others' questions; where the policies are compared on a conversation
that the choice may see, the trees saw neither that one nor the one left out. So no number that is reported, and none
that is chosen by, is of questions that anything in it was fitted on. The ranker stays as it is while the policy moves.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bench.datasets import Conversation
from bench.metrics import Spread, ratio, spread
from bench.recalled import OpenStores
from bench.tune.fit import Parameters, fit
from bench.tune.folds import recall
from bench.tune.sets import KeepingRanker, TrainingQuestion, collect
from memory.errors import BadSetting
from query_api.engine import Retriever
from query_api.policy import Policy
from query_api.ranking import NAMES, Documents, Trees

#: A measured ratio above which a policy pays: its interval's lower end must reach it.
PAYS = 1.0


@dataclass(frozen=True, slots=True)
class PolicyFold:
    """One conversation left out. `chosen`: place among the proposals, 0 for the policy searched from.

    `fitted`, `shipped`: recall@10 of its questions with intervals, by the chosen policy and by the one searched from.
    """

    left_out: str
    questions: int
    chosen: int
    fitted: Spread
    shipped: Spread


@dataclass(frozen=True, slots=True)
class Search:
    """The outcome. `chosen`: best over all conversations, not measured on any other; `gain`: held-out recall@10 of the

    folds' choices over that of the policy searched from, None when that found nothing.
    """

    folds: tuple[PolicyFold, ...]
    chosen: Policy
    place: int
    gain: Spread | None

    @property
    def pays(self) -> bool:
        """Whether the held-out gain is above chance."""
        return self.gain is not None and self.gain.low > PAYS


class OutOfFold:
    """Trees for every set of conversations that they must not have seen: one, or two."""

    def __init__(
        self, sets: Mapping[str, Sequence[TrainingQuestion]], encoder: str, parameters: Parameters | None = None
    ) -> None:
        self._trees: dict[frozenset[str], Trees | None] = {}
        for left_out in (*((name,) for name in sets), *combinations(sets, 2)):
            kept = [question for name, questions in sets.items() if name not in left_out for question in questions]
            self._trees[frozenset(left_out)] = _fit(kept, parameters, encoder)

    def recall(self, question: TrainingQuestion, unseen: Sequence[str]) -> float:
        """Give the recall of one question by trees that saw none of the conversations; without any, by `base`."""
        trees = self._trees[frozenset(unseen)]
        if trees is None:
            return recall(question, np.arange(len(question.labels)))
        scores = trees.score(question.matrix[:, trees.columns(NAMES)])
        return recall(question, np.argsort(-scores, kind="stable"))


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Recall@10 of one policy: `held_out[c]` question by question, `inner[c, t]` the mean on t with c left out."""

    held_out: Mapping[str, NDArray[np.float64]]
    inner: Mapping[tuple[str, str], NDArray[np.float64]]


async def try_policies(
    stores: OpenStores,
    tenants: Mapping[str, str],
    conversations: Sequence[Conversation],
    policies: Sequence[Policy],
    judge: OutOfFold,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Outcomes]:
    """Ask everything under every policy; the stores should remember. Raises as `Retriever.read` does."""
    documents = Documents.open()
    outcomes = []
    for place, policy in enumerate(policies, start=1):
        ranker = KeepingRanker(None, documents)
        retriever = Retriever(stores.graph, stores.vectors, stores.encoder, policy, ranker=ranker)
        held_out: dict[str, NDArray[np.float64]] = {}
        inner: dict[tuple[str, str], NDArray[np.float64]] = {}
        for one in conversations:
            asked = await collect(retriever, ranker, tenants[one.id], one.questions)
            others = [other.id for other in conversations if other.id != one.id]
            held_out[one.id] = await asyncio.to_thread(_recalls, judge, asked, (one.id,))
            for other in others:
                inner[other, one.id] = await asyncio.to_thread(_recalls, judge, asked, (one.id, other))
        outcomes.append(Outcomes(held_out, inner))
        progress(place)
    return outcomes


def choose(policies: Sequence[Policy], outcomes: Sequence[Outcomes], names: Sequence[str]) -> Search:
    """Choose for each conversation by the others, and for the file by all; equal ones keep the earlier proposal."""
    folds, ours, theirs = [], {}, {}
    for left_out in names:
        kept = [name for name in names if name != left_out]
        chosen = _best([np.concatenate([one.inner[left_out, name] for name in kept]) for one in outcomes])
        ours[left_out] = outcomes[chosen].held_out[left_out].tolist()
        theirs[left_out] = outcomes[0].held_out[left_out].tolist()
        folds.append(
            PolicyFold(
                left_out,
                len(ours[left_out]),
                chosen,
                spread({left_out: ours[left_out]}),
                spread({left_out: theirs[left_out]}),
            )
        )
    place = _best([np.concatenate([one.held_out[name] for name in names]) for one in outcomes])
    return Search(tuple(folds), policies[place], place, ratio(ours, theirs))


def _best(recalls: Sequence[NDArray[np.float64]]) -> int:
    return int(np.argmax([values.mean() for values in recalls]))


def _recalls(judge: OutOfFold, questions: Sequence[TrainingQuestion], unseen: Sequence[str]) -> NDArray[np.float64]:
    return np.array([judge.recall(question, unseen) for question in questions])


def _fit(questions: Sequence[TrainingQuestion], parameters: Parameters | None, encoder: str) -> Trees | None:
    try:
        return fit(questions, parameters, encoder=encoder)
    except BadSetting:  # too few questions are left to teach anything: the unfitted order judges
        return None
