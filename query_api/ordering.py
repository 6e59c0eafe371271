"""In which order a context tells what was found, by intent (arXiv 2601.03236, section 3.3, stage 4).

WHEN: by time. WHY: topologically on causal edges, causes first, time breaking ties. ENTITY: grouped by entity, inside a
group by time. GENERAL: grouped by session, inside a group by time. Groups stand by their most salient event.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from memory.events import EventNode
from memory.names import normal_form
from query_api.intents import Intent
from query_api.ranking import Scored


def arrange(
    scored: Sequence[Scored], intent: Intent, *, causes: Collection[tuple[str, str]], names: Sequence[str]
) -> list[Scored]:
    """Order events (given by falling salience) for reading.

    `causes`: (cause, effect) pairs of ids; `names`: normal forms the question names, in order.
    """
    if intent is Intent.WHEN:
        return _by_time(scored)
    if intent is Intent.WHY:
        return _causes_first(scored, causes)
    if intent is Intent.ENTITY:
        return _grouped(scored, _entity_of(scored, names))
    return _grouped(scored, lambda node: node.session)


def _by_time(scored: Sequence[Scored]) -> list[Scored]:
    return sorted(scored, key=lambda item: item.candidate.node.order)


def _causes_first(scored: Sequence[Scored], causes: Collection[tuple[str, str]]) -> list[Scored]:
    """Kahn's algorithm, the earliest ready event first. What a cycle holds back (none is ever written) goes by time."""
    items = {item.candidate.node.id: item for item in scored}
    effects: dict[str, list[str]] = {id_: [] for id_ in items}
    waiting = dict.fromkeys(items, 0)
    for cause, effect in set(causes):
        if cause in items and effect in items and cause != effect:
            effects[cause].append(effect)
            waiting[effect] += 1
    ready = [(item.candidate.node.order, id_) for id_, item in items.items() if waiting[id_] == 0]
    heapq.heapify(ready)
    done: dict[str, Scored] = {}
    while ready:
        _, id_ = heapq.heappop(ready)
        done[id_] = items[id_]
        for effect in effects[id_]:
            waiting[effect] -= 1
            if waiting[effect] == 0:
                heapq.heappush(ready, (items[effect].candidate.node.order, effect))
    return [*done.values(), *_by_time([item for id_, item in items.items() if id_ not in done])]


def _grouped(scored: Sequence[Scored], group_of: Callable[[EventNode], str]) -> list[Scored]:
    groups: dict[str, list[Scored]] = {}
    for item in scored:
        groups.setdefault(group_of(item.candidate.node), []).append(item)
    return [item for group in groups.values() for item in _by_time(group)]


def _entity_of(scored: Sequence[Scored], names: Sequence[str]) -> Callable[[EventNode], str]:
    """Give the function from an event to its group: a name of the question, else the entity most events share."""
    shared = Counter(key for item in scored for key in _entities(item.candidate.node))

    def group_of(node: EventNode) -> str:
        own = _entities(node)
        for name in names:
            if name in own:
                return name
        return min(own, key=lambda key: (-shared[key], key), default="")

    return group_of


def _entities(node: EventNode) -> set[str]:
    return {*node.mentions, normal_form(node.speaker)} - {""}
