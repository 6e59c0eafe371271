"""One conversation as the stores hold it: what the baselines search, so that they see what the memory sees."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.bm25 import Bm25
from memory.errors import NotFound
from memory.events import EventNode
from memory.graph import Graph
from memory.names import normal_form
from memory.text import count_many, document_keywords
from memory.text.analysis import JOINER
from memory.vectors import Vectors
from query_api.blocks import block

_PAGE = 1_000


@dataclass(frozen=True)
class Corpus:
    """All events, session after session and each in its chain's order, with their stored vectors.

    `session`: number of the session of each event, from 0; `tokens`: size of each event's block in a context.
    """

    nodes: tuple[EventNode, ...]
    vectors: NDArray[np.float32]
    session: NDArray[np.int64]
    turns: Bm25
    sessions: Bm25
    tokens: NDArray[np.int64]
    speakers: tuple[str, ...]


async def load_corpus(graph: Graph, vectors: Vectors, tenant: str) -> Corpus:
    """Read a tenant's events and vectors; raises `NotFound` when there is none, and as the stores do."""
    reader, found = graph.reader(tenant), vectors.reader(tenant)
    nodes: list[EventNode] = []
    after = ""
    while page := await reader.event_ids(after=after, limit=_PAGE):
        nodes += (await reader.events(page)).values()
        after = page[-1]
    if not nodes:
        raise NotFound(f"the memory of {tenant} is empty")
    begins: dict[str, int] = {}
    for node in nodes:
        begins[node.session] = min(node.occurred_us, begins.get(node.session, node.occurred_us))
    nodes.sort(key=lambda node: (begins[node.session], node.session, node.order))
    stored = await found.vectors([node.id for node in nodes])
    numbers = {name: number for number, name in enumerate(dict.fromkeys(node.session for node in nodes))}
    session = np.array([numbers[node.session] for node in nodes], dtype=np.int64)
    terms = [[term for term in document_keywords(node).split() if term != JOINER] for node in nodes]
    whole: list[list[str]] = [[] for _ in numbers]
    for number, words in zip(session, terms, strict=True):
        whole[number] += words
    return Corpus(
        nodes=tuple(nodes),
        vectors=np.stack([stored[node.id] for node in nodes]),
        session=session,
        turns=Bm25(terms),
        sessions=Bm25(whole),
        tokens=np.array(count_many([block(node) for node in nodes]), dtype=np.int64) + 1,  # and the line break
        speakers=tuple(dict.fromkeys(normal_form(node.speaker) for node in nodes)),
    )
