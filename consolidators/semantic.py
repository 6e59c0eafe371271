"""The semantic relation: for each new event the nearest others above θ (arXiv 2601.03236, section 3.2; no LLM)."""

from collections import Counter
from collections.abc import Mapping, Sequence

from consolidators.batch import Change, Outcome, Work
from consolidators.segmentation import Vector
from memory.graph import Done, Graph, GraphReader, Mark
from memory.relations import EdgeType, Origin, SimilarEdge
from memory.vectors import Hit, VectorReader, Vectors

#: Edges that a new event may make.
NEW_DEGREE = 5
#: Whom an event is joined with must have it among so many nearest: a text that resembles everything is near to nothing.
NEAR = 20
#: Edges that an event may have in all. What is stored at one time never gives more; what comes over time could.
MAX_DEGREE = NEW_DEGREE + NEAR
_VECTORS_A_SEARCH = 128


class Semantic:
    """Joins each new event with its nearest neighbours; `theta` is the encoder's (`consolidators.thresholds`).

    Which pairs are joined is a function of the vectors that are stored at the time, whoever looks and in which order:
    a and b are joined when b is one of a's five nearest and a one of b's twenty, above θ.
    """

    mark = Mark.SEMANTIC

    def __init__(self, graph: Graph, vectors: Vectors, theta: float) -> None:
        self._graph = graph
        self._vectors = vectors
        self._theta = theta

    async def consolidate(self, work: Work) -> Outcome:
        """See `Consolidator.consolidate`. An event that was finished before keeps the neighbours it found then."""
        reader, vectors = self._graph.reader(work.tenant), self._vectors.reader(work.tenant)
        unfinished = await reader.unfinished(work.ids, (self.mark,))
        pending = [ident for ident in work.ids if ident in unfinished]
        own = await vectors.vectors(pending, fresh=True)
        ids = [ident for ident in pending if ident in own]
        near = await self._near(vectors, own, ids)
        wanted = {hit.id for ident in ids for hit in near[ident][:NEW_DEGREE]} - near.keys()
        others = await vectors.vectors(sorted(wanted), fresh=True)
        near |= await self._near(vectors, others, sorted(others))
        pairs: dict[tuple[str, str], float] = {}
        for ident in ids:
            for hit in near[ident][:NEW_DEGREE]:
                if any(back.id == ident for back in near.get(hit.id, ())):
                    pairs.setdefault((min(ident, hit.id), max(ident, hit.id)), min(1.0, hit.score))
        edges = await self._within_degree(reader, pairs)
        added = await self._graph.writer().write_similar(work.tenant, edges, done=Done(self.mark, tuple(pending)))
        return Outcome(_changes(work, added))

    async def _near(self, vectors: VectorReader, of: Mapping[str, Vector], ids: Sequence[str]) -> dict[str, list[Hit]]:
        """Give the `NEAR` nearest others above θ of each event, nearest first."""
        near: dict[str, list[Hit]] = {}
        for start in range(0, len(ids), _VECTORS_A_SEARCH):
            part = ids[start : start + _VECTORS_A_SEARCH]
            found = await vectors.nearest_many([of[ident] for ident in part], NEAR + 1, bare=True, fresh=True)
            for ident, hits in zip(part, found, strict=True):
                near[ident] = [hit for hit in hits if hit.id != ident and hit.score > self._theta][:NEAR]
        return near

    async def _within_degree(self, reader: GraphReader, pairs: dict[tuple[str, str], float]) -> list[SimilarEdge]:
        """Keep the nearest pairs, as long as both ends have room."""
        if not pairs:
            return []
        ends = sorted({end for pair in pairs for end in pair})
        stored = await reader.similar(ends)
        degree = Counter(end for pair in stored for end in pair)
        kept: list[SimilarEdge] = []
        for (low, high), cosine in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
            if (low, high) in stored or max(degree[low], degree[high]) >= MAX_DEGREE:
                continue
            degree.update((low, high))
            kept.append(SimilarEdge(low, high, cosine))
        return kept


def _changes(work: Work, edges: list[SimilarEdge]) -> tuple[Change, ...]:
    session_of = {ident: session for session, ids in work.sessions.items() for ident in ids}
    changes = []
    for edge in edges:
        event = edge.low if edge.low in session_of else edge.high
        shown = {
            "type": EdgeType.SIMILAR,
            "source": edge.low,
            "target": edge.high,
            "origin": Origin.RULE,
            "confidence": round(edge.cosine, 4),
            "cosine": round(edge.cosine, 4),
        }
        changes.append(Change(session_of[event], event, shown))
    return tuple(changes)
