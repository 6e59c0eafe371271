"""A model's readings shared by all who ask: each event is read once for each model and prompt version.

Stages are consumer groups of their own: they ask about the same events at about the same time, in windows that need
not be cut alike. So readings are kept by event (in the graph, `memory.graph.extractions`), by the content that the
model is shown of it. Whoever comes first claims the events, asks for everything and keeps it; whoever comes meanwhile
waits, and whoever comes later pays nothing, after a restart or in another process too.

What a call shows around its events is the same whoever asks (`memory.llm.context`).
"""

import asyncio
import logging
import random
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import TypeAdapter

from memory.errors import StoreConflict, UnusableModelOutput
from memory.events import EventNode
from memory.graph import Extractions, Graph
from memory.llm import accounting
from memory.llm.context import Context
from memory.llm.model import Ask, Findings, Window
from memory.llm.openai_provider import OpenAIExtractor, joined, only, stage_of
from memory.llm.rendering import content_key
from memory.settings import Settings

#: How long an event that a model could not read is left alone, in seconds.
UNUSABLE_S = 600
#: How long another worker's call for the same events is waited for before the caller comes again, in seconds.
_PATIENCE_S = 20.0
#: Longest pause between two looks at what another worker reads, in seconds.
_LOOK_S = 0.4
#: Out of so many windows that are kept, one also clears away what is over age.
_CLEAR_ONE_IN = 64

_FINDINGS = TypeAdapter(Findings)
_log = logging.getLogger(__name__)


class SharedExtractor:
    """An extractor whose answers are kept for all. Belongs to the event loop that it is used on."""

    def __init__(self, inner: OpenAIExtractor, graph: Graph, context: Context, settings: Settings) -> None:
        self._inner = inner
        self._graph = graph
        self._context = context
        self._kept_us = settings.llm_kept_days * 86_400_000_000
        # a call, its repair and its enlargement, each as slow as it may be
        self._lease_us = int(3 * settings.llm_timeout_s * 1e6) + 30_000_000
        self.origin = inner.origin
        self.model = inner.model
        self.prompt_version = inner.prompt_version
        self.batch_events = inner.batch_events

    async def extract(self, window: Window, asks: frozenset[Ask]) -> Findings:
        """See `Extractor.extract`; raises `StoreConflict` while another worker reads these events for too long.

        Causes may join events that the model was shown and the window does not hold.
        """
        new = [event for event in window.events if event.id in window.new]
        if not new or not asks:
            return Findings()
        keys = await asyncio.to_thread(self._keys, new)
        kept, own = await self._all(window, new, keys, stage_of(asks))
        accounting.reused(window.tenant, stage_of(asks), len(new) - own)
        return only(joined([kept[keys[event.id]] for event in new]), asks)

    async def close(self) -> None:
        """Close the connections."""
        await self._inner.close()

    def _keys(self, events: Iterable[EventNode]) -> dict[str, str]:
        return {event.id: content_key(event, self.model, self.prompt_version) for event in events}

    async def _all(
        self, window: Window, new: Sequence[EventNode], keys: Mapping[str, str], stage: str
    ) -> tuple[dict[str, Findings], int]:
        """Give the reading of each new event by key, asking for those that nobody has read; and how many that were."""
        of, holder = self._graph.extractions(window.tenant), uuid.uuid4().hex
        readings: dict[str, Findings] = {}
        own = 0
        until_s = time.monotonic() + _PATIENCE_S
        while missing := [event for event in new if keys[event.id] not in readings]:
            now_us = time.time_ns() // 1_000
            claimed = await of.claim(
                [keys[event.id] for event in missing],
                holder=holder,
                now_us=now_us,
                until_us=now_us + self._lease_us,
            )
            mine = [event for event in missing if keys[event.id] in claimed.mine]
            if claimed.unusable:
                await of.release([keys[event.id] for event in mine], holder=holder)
                raise UnusableModelOutput(
                    f"{next(iter(claimed.unusable.values()))} (asked less than {UNUSABLE_S} s ago)",
                    hint="the events of this window stay without its edges until they are consolidated again",
                )
            readings |= {key: _FINDINGS.validate_json(found) for key, found in claimed.kept.items()}
            if mine:
                own += len(mine)
                readings |= await self._ask(of, window, mine, keys, holder, stage)
            elif len(claimed.kept) < len(missing):
                if time.monotonic() > until_s:
                    raise StoreConflict("another worker still waits for the model's reading of the same events")
                await asyncio.sleep(random.uniform(_LOOK_S / 4, _LOOK_S))
        return readings, own

    async def _ask(
        self,
        of: Extractions,
        window: Window,
        mine: Sequence[EventNode],
        keys: Mapping[str, str],
        holder: str,
        stage: str,
    ) -> dict[str, Findings]:
        """Ask the model about claimed events and keep what it says; a claim is given back when it says nothing."""
        claims = [keys[event.id] for event in mine]
        try:
            shown = await self._shown(window, mine)
            found = await self._inner.read(shown, stage)
        except UnusableModelOutput as error:
            until_us = time.time_ns() // 1_000 + UNUSABLE_S * 1_000_000
            await of.release(claims, holder=holder, why=error.message[:500], until_us=until_us)
            raise
        except BaseException:  # also a cancellation: a claim that is not given back holds others up until it ends
            await of.release(claims, holder=holder)
            raise
        now_us = time.time_ns() // 1_000
        parts = {keys[event.id]: part for event, part in by_event(found, mine)}
        kept = {key: _FINDINGS.dump_json(part) for key, part in parts.items()}
        if not await of.keep(kept, [event.id for event in shown.events], now_us=now_us):
            _log.info("an event of session %s was forgotten while a model read it: nothing is kept", window.session)
        if random.random() * _CLEAR_ONE_IN < 1:
            await of.forget(before_us=now_us - self._kept_us)
        return parts

    async def _shown(self, window: Window, mine: Sequence[EventNode]) -> Window:
        """Give the window of a call: the claimed events as new ones, and their context."""
        events = (*mine, *await self._context.around(window.tenant, mine))
        new = frozenset(event.id for event in mine)
        return replace(window, events=tuple(sorted(events, key=lambda event: event.order)), new=new)


def by_event(found: Findings, events: Sequence[EventNode]) -> Iterable[tuple[EventNode, Findings]]:
    """Give findings by the event that they belong to: a cause to its later end, as far as that is among the events."""
    place = {event.id: at for at, event in enumerate(events)}
    for event in events:
        yield (
            event,
            Findings(
                tuple(each for each in found.entities if each.event == event.id),
                tuple(
                    cause
                    for cause in found.causes
                    if max((cause.cause, cause.effect), key=lambda ident: place.get(ident, -1)) == event.id
                ),
                tuple(each for each in found.summaries if each.event == event.id),
            ),
        )
