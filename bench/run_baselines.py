"""Asks the baselines every question of a data set."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.baselines import (
    ADJACENT_FIXED,
    ADJACENT_GRID,
    FUSION_FIXED,
    FUSION_GRID,
    Signals,
    adjacent,
    choose,
    fused,
    order,
    recalls,
    signals,
)
from bench.bm25 import Scores
from bench.corpus import Corpus
from bench.datasets import Conversation, Question
from bench.rankings import CONTEXTS, RANKS, Ranked
from bench.systems import System
from memory.embedding import Encoder
from memory.errors import MalformedEvent


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its signals, and what computing them took."""

    question: Question
    found: Signals
    ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Heard:
    """A conversation's corpus and its questions, ready to be scored by any weights."""

    conversation: str
    corpus: Corpus
    asked: tuple[Asked, ...]

    def evidence(self, question: Question) -> NDArray[np.bool_]:
        """Mark the events that hold the answer."""
        return np.array([node.ref in question.evidence for node in self.corpus.nodes])


@dataclass(frozen=True, slots=True)
class Grids:
    """Recall of every weight of both grids, for each question of each conversation."""

    fusion: dict[str, list[Scores]]
    adjacent: dict[str, list[Scores]]


async def hear(conversation: Conversation, corpus: Corpus, encoder: Encoder) -> Heard:
    """Compute the signals of all questions to a conversation; raises as the encoder does."""
    asked = []
    for question in conversation.questions:
        began, cpu = time.perf_counter(), time.process_time()
        try:
            vector = (await encoder.encode([question.text]))[0]
        except MalformedEvent:  # nothing in it to embed: its words alone are searched
            vector = None
        found = await asyncio.to_thread(signals, corpus, question, vector)
        asked.append(Asked(question, found, (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3))
    return Heard(conversation.id, corpus, tuple(asked))


def measure_grids(heard: Sequence[Heard]) -> Grids:
    """Give what every weight would have found; only weights for other conversations are chosen by it."""
    grids = Grids({}, {})
    for one in heard:
        for asked in one.asked:
            evidence = one.evidence(asked.question)
            if not evidence.any():
                continue
            rows = np.stack([fused(asked.found, words) for words in FUSION_GRID])
            grids.fusion.setdefault(one.conversation, []).append(recalls(rows, evidence))
            rows = adjacent(one.corpus, asked.found, ADJACENT_GRID)
            grids.adjacent.setdefault(one.conversation, []).append(recalls(rows, evidence))
    return grids


def rank_all(system: System, heard: Sequence[Heard], grids: Grids, budget_tokens: int) -> list[Ranked]:
    """Rank all events for every question with one baseline."""
    ranked = []
    for one in heard:
        score = _scorer(system, one, grids)
        for asked in one.asked:
            began, cpu = time.perf_counter(), time.process_time()
            places = order(score(asked.found))
            spent = (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3
            ranked.append(_ranked(one, asked, places, budget_tokens, spent))
    return ranked


def _scorer(system: System, one: Heard, grids: Grids) -> Callable[[Signals], Scores]:
    match system:
        case System.BM25:
            return lambda found: found.words
        case System.VECTOR:
            return lambda found: found.cosines
        case System.FUSION:
            place = choose(grids.fusion, one.conversation)
            words = FUSION_FIXED if place is None else FUSION_GRID[place]
            return lambda found: fused(found, words)
        case System.ADJACENT:
            place = choose(grids.adjacent, one.conversation)
            weights = [ADJACENT_FIXED if place is None else ADJACENT_GRID[place]]
            return lambda found: adjacent(one.corpus, found, weights)[0]
        case _:
            raise ValueError(f"{system} is not a baseline")


def _ranked(
    one: Heard, asked: Asked, places: NDArray[np.int64], budget_tokens: int, spent: tuple[float, float]
) -> Ranked:
    nodes, tokens = one.corpus.nodes, one.corpus.tokens
    first = [nodes[place] for place in places[: max(RANKS)]]
    return Ranked(
        conversation=one.conversation,
        question=asked.question,
        turns=tuple(node.ref for node in first),
        sessions=tuple(dict.fromkeys(nodes[place].session for place in places)),
        shown={budget: frozenset(nodes[place].ref for place in fill(places, tokens, budget)[0]) for budget in CONTEXTS},
        tokens=fill(places, tokens, budget_tokens)[1],
        ms=asked.ms + spent[0],
        cpu_ms=asked.cpu_ms + spent[1],
    )


def fill(places: NDArray[np.int64], tokens: NDArray[np.int64], budget: int) -> tuple[list[int], int]:
    """Fill a context by rank, leaving out what does not fit; give the places shown and the tokens used."""
    shown: list[int] = []
    used = 0
    for place in places:
        size = int(tokens[place])
        if used + size <= budget:
            shown.append(int(place))
            used += size
        elif budget - used < int(tokens.min()):
            break
    return shown, used
