"""Candidates as arrays: what features are computed over. Relations enter here and only here.

Leaving a relation out of a pool (`without`) blanks what it gives: the ablation of a feature is that of its edges.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from memory.dates import DateSpan
from memory.events import EventNode
from memory.names import normal_form
from memory.relations import EdgeType, Relation
from query_api.policy import Policy
from query_api.ranking.arrays import Floats, Ints, Matrix
from query_api.ranking.documents import Document, Documents
from query_api.ranking.model import Candidate, Evidence
from query_api.ranking.window import talks_about

#: Neighbours in time that are looked at on each side.
REACH = 4
#: How long after the asked time a message may stand that talks about it, and what that is worth.
GRACE_US = 21 * 86_400_000_000
GRACE_SHARE = 0.5
#: Depth of an event that the walk did not visit: beyond the deepest walk.
NOT_VISITED = 9.0
_FARTHEST_PLACE = 20


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates in the order of their time, as arrays of one row each.

    `vectors`: zeros where there is none. `chain`: (n, 2·REACH + 1) rows of the neighbours in the same session, -1 for
    none or not fetched, itself in the middle. `session`: group number; `place`: the producer's number in it.
    `speaker`: number, -1 unknown; `speakers`: their names' words. `date`: it happened in the asked time (1) or soon
    after (.5); `talks`: the part of a time it talks about that is asked. `depth`, `walked`, `rrf`, `via`: the walk's
    depth, S over the best S, anchor score over the best, rarity of the entity it came by. `chain_start`: row where a
    path of causal steps alone starts, -1 for none; `chain_share`: γ and strength of its steps. `links`: rows of (cause,
    effect). `relations`: those that may be used.
    """

    ids: tuple[str, ...]
    documents: tuple[Document, ...]
    vectors: Matrix
    chain: Ints
    session: Ints
    place: Floats
    speaker: Ints
    speakers: tuple[frozenset[str], ...]
    date: Floats
    talks: Floats
    depth: Floats
    walked: Floats
    rrf: Floats
    via: Floats
    chain_start: Ints
    chain_share: Floats
    links: Ints
    relations: frozenset[Relation]
    total: int

    def __len__(self) -> int:
        return len(self.ids)

    def without(self, relation: Relation) -> "Pool":
        """Give the pool as it would be if nothing were known of a relation."""
        rows = len(self)
        left = self.relations - {relation}
        if relation is Relation.TEMPORAL:
            return replace(
                self,
                relations=left,
                chain=_alone(rows),
                session=np.arange(rows),
                place=np.zeros(rows),
                date=np.zeros(rows),
                talks=np.zeros(rows),
            )
        if relation is Relation.ENTITY:
            return replace(self, relations=left, speaker=np.full(rows, -1), via=np.zeros(rows))
        if relation is Relation.CAUSAL:
            return replace(
                self,
                relations=left,
                chain_start=np.full(rows, -1),
                chain_share=np.zeros(rows),
                links=np.zeros((0, 2), dtype=np.int64),
            )
        return replace(self, relations=left)


def make_pool(candidates: Sequence[Candidate], evidence: Evidence, policy: Policy, documents: Documents) -> Pool:
    """Lay out candidates, in the order of time whatever order they come in; relations not steered by are left out."""
    ordered = sorted(candidates, key=lambda candidate: candidate.node.order)
    nodes = [candidate.node for candidate in ordered]
    row = {node.id: index for index, node in enumerate(nodes)}
    speaker, speakers = _speakers(nodes)
    window = evidence.route.window
    start, share = _causal_paths(ordered, evidence, policy.walk.gamma, row)
    pool = Pool(
        ids=tuple(row),
        documents=tuple(documents.of(nodes)),
        vectors=_vectors(nodes, evidence.vectors),
        chain=_chain(nodes, [*evidence.chains, *sorted(evidence.walk.chain)], row),
        session=_groups(node.session for node in nodes),
        place=np.array([_place(node) for node in nodes], dtype=np.float64),
        speaker=speaker,
        speakers=speakers,
        date=np.array([0.0 if window is None else _in_time(node, window) for node in nodes], dtype=np.float64),
        talks=np.array([0.0 if window is None else talks_about(node, window) for node in nodes], dtype=np.float64),
        depth=np.array([NOT_VISITED if one.visit is None else float(one.visit.depth) for one in ordered]),
        walked=_walked(ordered),
        rrf=_anchored(ordered),
        via=np.array([_via(one) for one in ordered], dtype=np.float64),
        chain_start=start,
        chain_share=share,
        links=_links(evidence.walk.causes, row),
        relations=frozenset(Relation),
        total=max(evidence.events_stored, len(nodes)),
    )
    for relation in Relation:
        if relation not in evidence.steering.relation:
            pool = pool.without(relation)
    return pool


def _alone(rows: int) -> Ints:
    chain = np.full((rows, 2 * REACH + 1), -1, dtype=np.int64)
    chain[:, REACH] = np.arange(rows)
    return chain


def _chain(nodes: Sequence[EventNode], runs: Iterable[Sequence[str]], row: Mapping[str, int]) -> Ints:
    """Follow the links of runs of ids up to `REACH` steps both ways, inside a session."""
    links = {pair for run in runs for pair in pairwise(run)}
    following = np.full(len(nodes) + 1, -1, dtype=np.int64)  # the last one: what -1 leads to
    before = following.copy()
    for earlier, later in sorted(links):
        one, two = row.get(earlier), row.get(later)
        if one is not None and two is not None and nodes[one].session == nodes[two].session:
            following[one], before[two] = two, one
    chain = _alone(len(nodes))
    for step in range(1, REACH + 1):
        chain[:, REACH + step] = following[chain[:, REACH + step - 1]]
        chain[:, REACH - step] = before[chain[:, REACH - step + 1]]
    return chain


def _vectors(nodes: Sequence[EventNode], vectors: Mapping[str, Matrix]) -> Matrix:
    known = [vectors.get(node.id) for node in nodes]
    dim = next((len(vector) for vector in known if vector is not None), 1)
    table = np.zeros((len(nodes), dim), dtype=np.float32)
    for index, vector in enumerate(known):
        if vector is not None:
            table[index] = vector
    return table


def _groups(names: Iterable[str]) -> Ints:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _speakers(nodes: Sequence[EventNode]) -> tuple[Ints, tuple[frozenset[str], ...]]:
    names = sorted({node.speaker for node in nodes if node.speaker})
    number = {name: index for index, name in enumerate(names)}
    found = np.array([number.get(node.speaker, -1) for node in nodes], dtype=np.int64)
    return found, tuple(frozenset(normal_form(name).split()) for name in names)


def _place(node: EventNode) -> float:
    return float(min(node.sequence, _FARTHEST_PLACE)) if node.sequence >= 0 else float(_FARTHEST_PLACE)


def _in_time(node: EventNode, window: DateSpan) -> float:
    if window.start_us <= node.occurred_us < window.end_us:
        return 1.0
    return GRACE_SHARE if window.end_us <= node.occurred_us < window.end_us + GRACE_US else 0.0


def _walked(candidates: Sequence[Candidate]) -> Floats:
    found = np.array([one.best.s if one.visit is not None and one.best is not None else 0.0 for one in candidates])
    top = found.max() if found.size else 0.0
    return found / top if top > 0 else found


def _anchored(candidates: Sequence[Candidate]) -> Floats:
    found = np.array([0.0 if one.anchor is None else one.anchor.rrf for one in candidates])
    top = found.max() if found.size else 0.0
    return found / top if top > 0 else found


def _via(candidate: Candidate) -> float:
    arrival = candidate.visit.arrival if candidate.visit is not None else None
    return arrival.hop.strength if arrival is not None and arrival.hop.via else 0.0


def _causal_paths(
    candidates: Sequence[Candidate], evidence: Evidence, gamma: float, row: Mapping[str, int]
) -> tuple[Ints, Floats]:
    """Give where each path of causal steps alone starts, and what its steps let through: γ, strength, direction."""
    weight = evidence.steering.relation.get(Relation.CAUSAL, 0.0)
    start = np.full(len(candidates), -1, dtype=np.int64)
    share = np.zeros(len(candidates))
    for index, candidate in enumerate(candidates):
        path = evidence.walk.path(candidate.node.id) if candidate.visit is not None else []
        if path and weight > 0 and all(arrival.hop.edge is EdgeType.CAUSES for arrival in path):
            start[index] = row.get(path[0].hop.source, -1)
            share[index] = np.prod([gamma * arrival.phi / weight for arrival in path])
    return start, share


def _links(causes: Iterable[tuple[str, str]], row: Mapping[str, int]) -> Ints:
    pairs = sorted((row[cause], row[effect]) for cause, effect in causes if cause in row and effect in row)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
