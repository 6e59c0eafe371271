"""Merge proposals for one tenant: candidates chosen cheaply, judged by a model, kept for an operator to decide."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from memory.embedding import Encoder
from memory.graph import EntityNode, Graph, NameChange, Why
from memory.identity.candidates import Candidate, Named, candidates
from memory.llm.merging import PAIRS_A_CALL, Judgement, MergeJudge, Side
from memory.names import name_form
from memory.relations import Origin

#: Entities that candidates are chosen among: those that come first in the order of their keys.
MAX_ENTITIES = 2_000
#: Texts shown of each side.
EXAMPLES = 2
#: A model that is less sure than this proposes nothing.
PROPOSE_FROM = 0.5
#: Spellings of an entity that are compared with another's.
MAX_FORMS = 4
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Proposed:
    """What a run did: entities looked at, pairs judged, and what is proposed of them."""

    entities: int
    judged: int
    proposals: tuple[NameChange, ...]


async def propose_merges(graph: Graph, encoder: Encoder, judge: MergeJudge, tenant: str, *, most: int) -> Proposed:
    """Judge at most `most` pairs that nobody has judged or decided yet. Each call's judgements are kept at once.

    Raises as `ModelClient.ask` does: what was judged before is kept, and the next run goes on behind it.
    """
    nodes = await _entities(graph, tenant)
    editor = graph.editor(tenant)
    settled = {frozenset((one.form, one.after)) for one in await editor.judged()}
    decided = {decision.form for decision in await editor.decisions()}
    named = [_named(node) for node in nodes]
    vectors = await encoder.encode([node.name for node in nodes]) if nodes else None
    found = await asyncio.to_thread(candidates, named, vectors)
    open_pairs = [one for one in found if frozenset((one.name, one.into)) not in settled and one.name not in decided][
        :most
    ]
    by_key = {node.key: node for node in nodes}
    proposals: list[NameChange] = []
    for start in range(0, len(open_pairs), PAIRS_A_CALL):
        part = open_pairs[start : start + PAIRS_A_CALL]
        sides = [
            (await _side(graph, tenant, by_key[one.name]), await _side(graph, tenant, by_key[one.into])) for one in part
        ]
        said = await judge.judge(tenant, sides)
        proposals += await _keep(graph, tenant, judge, part, said)
    return Proposed(len(nodes), len(open_pairs), tuple(proposals))


async def _keep(
    graph: Graph, tenant: str, judge: MergeJudge, pairs: Sequence[Candidate], said: Sequence[Judgement]
) -> list[NameChange]:
    kept = []
    for pair, judgement in zip(pairs, said, strict=True):
        same = judgement.same and judgement.confidence >= PROPOSE_FROM
        why = Why(
            Origin.LLM,
            time.time_ns() // 1_000,
            author=judge.model,
            reason=judgement.ground.value,
            confidence=judgement.confidence,
            prompt_version=judge.prompt_version,
        )
        changes = await graph.editor(tenant).propose(pair.name, pair.into, why, same=same)
        kept += [change for change in changes if change.proposed]
    return kept


async def _entities(graph: Graph, tenant: str) -> list[EntityNode]:
    nodes: list[EntityNode] = []
    while len(nodes) < MAX_ENTITIES:
        page = await graph.reader(tenant).entity_names(limit=_PAGE, after=nodes[-1].key if nodes else "")
        nodes += page
        if len(page) < _PAGE:
            break
    return nodes[:MAX_ENTITIES]


async def _side(graph: Graph, tenant: str, node: EntityNode) -> Side:
    reader = graph.reader(tenant)
    events = await reader.events(await reader.examples_of(node.key, limit=EXAMPLES))
    texts = tuple(event.text for _, event in sorted(events.items()) if not event.derived_from)
    return Side(node.name, node.type, node.aliases, node.events, texts)


def _named(node: EntityNode) -> Named:
    forms = dict.fromkeys((node.key, *(name_form(alias) for alias in node.aliases)))
    return Named(node.key, node.type, tuple(form for form in forms if form)[:MAX_FORMS], node.events)
