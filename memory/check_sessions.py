"""Proves the order of each agent's sessions against the events: a part of `memory.check`.

A session has its place for an agent once the agent's events there were taken into episodes, at the earliest of them; of
events that wait for that, an earlier one may have moved it already and may not. The links between what has a place
follow from the places alone. Memory grows with the pairs of an agent and a session, as the check's does with the ids of
events.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, pairwise

from memory.graph.chain import Link
from memory.graph.stints import Stint, stint_uid
from memory.graph.survey import Survey, SurveyedEvent, SurveyedStint


@dataclass(slots=True)
class _Firsts:
    """Times of an agent's first events in a session, in UTC microseconds: of all, and of those in episodes."""

    agent: str
    session: str
    first_us: int
    cut_us: int | None = None

    def place_us(self, stored: SurveyedStint | None) -> int | None:
        """Give the time that the session's place must have; none when it needs no place yet and has none."""
        if stored is None:
            return None if self.cut_us is None else self.first_us
        latest_us = stored.first_us if self.cut_us is None else self.cut_us
        return stored.first_us if self.first_us <= stored.first_us <= latest_us else self.first_us


class SessionOrder:
    """What the order must be, learnt from the events."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant
        self._firsts: dict[str, _Firsts] = {}

    def see(self, event: SurveyedEvent) -> None:
        """Take in an event, whatever its chain says."""
        key = stint_uid(self._tenant, event.agent, event.session)
        firsts = self._firsts.setdefault(key, _Firsts(event.agent, event.session, event.occurred_us))
        firsts.first_us = min(firsts.first_us, event.occurred_us)
        if event.cut:
            firsts.cut_us = event.occurred_us if firsts.cut_us is None else min(firsts.cut_us, event.occurred_us)

    async def differences(self, survey: Survey) -> list[tuple[str, ...]]:
        """Give what is stored otherwise, as (agent, session), or (agent,) when the end of its chain is not the one."""
        stored = {stint.uid: stint async for page in survey.stints() for stint in page}
        wanted: dict[str, Stint] = {}
        for key, firsts in self._firsts.items():
            at_us = firsts.place_us(stored.get(key))
            if at_us is not None:
                wanted[key] = Stint(self._tenant, firsts.agent, firsts.session, at_us)
        following, ends = _chains(wanted.values())
        found: list[tuple[str, ...]] = []
        for key in sorted(stored.keys() | wanted.keys()):
            stint, right = stored.get(key), wanted.get(key)
            if stint is None or right is None or stint != SurveyedStint.of(right, following[key]):
                # the key names both, whatever the node says
                _, agent, session = key.split("|", 2) if key.count("|") > 1 else ("", "", "")
                found.append((agent, session))
        async for agents in survey.agents():
            found += [(agent,) for agent, end in agents if ends.pop(agent, None) != end]
        return found + [(agent,) for agent in ends]


def _chains(wanted: Iterable[Stint]) -> tuple[dict[str, tuple[tuple[str, int], ...]], dict[str, Link]]:
    """Give what each stint must be linked to, by uid, and where each agent's chain must end."""
    following: dict[str, tuple[tuple[str, int], ...]] = {}
    ends: dict[str, Link] = {}
    ordered = sorted(wanted, key=lambda stint: (stint.agent, stint.place))
    for agent, group in groupby(ordered, key=lambda stint: stint.agent):
        chain = list(group)
        ends[agent] = chain[-1].link
        following |= {a.uid: ((b.uid, b.first_us - a.first_us),) for a, b in pairwise(chain)}
        following[chain[-1].uid] = ()
    return following, ends
