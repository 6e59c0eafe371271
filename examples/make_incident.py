"""Write `incident.jsonl`, its questions and its plan from `source/incident-day-*.txt` and `incident_plan.py`.

    python examples/make_incident.py [FOLDER]

A line of the source is one event: `UTC time | agent | session | kind | text | {details}`. Details: `l` a label, `c`
and `p` the labels of its causes and its parent, `tool`, `call`, `args`, `status` of a tool step, `who` speaks, `e`
entities, `seq`, `tr` trace, `a` more attributes; `late` minutes on the way, `dup` minutes until it is sent once more.
The order of the written lines is the order of arrival. The same input gives the same bytes.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

from incident_plan import CHAINS, QUESTIONS, SPELLINGS, SUPERSESSIONS

HERE = Path(__file__).parent
TENANT = "larkspur"
SOURCE = "larkspur/agents"
DAYS = {
    "source/incident-day-1.txt": datetime(2026, 3, 3, tzinfo=UTC),
    "source/incident-day-2.txt": datetime(2026, 3, 4, tzinfo=UTC),
}
SESSIONS = {
    "desk": "triage-desk-0303",
    "desk2": "triage-desk-0304",
    "dep3": "deploys-0303",
    "dep4": "deploys-0304",
    "watch3": "watch-0303",
    "watch4": "watch-0304",
    "ledger": "ledger-0303",
    "ledger2": "ledger-0304",
    "room": "inc-881-room",
    "refunds": "inc-881-refunds",
    "night": "night-watch",
    "mail": "mail-desk",
    "review": "review-inc-881",
}
#: These two run in an office seven hours behind UTC and write local times.
LOCAL = timezone(timedelta(hours=-7))
ZONES = {"deploy": LOCAL, "comms": LOCAL}
#: Usual time from an event to its arrival in the log.
DELAY_S = {"monitor": 1, "db": 2, "triage": 4, "fix": 5, "deploy": 9, "comms": 40}


@dataclass(frozen=True)
class Step:
    """One event of the source. `arrived_at` is when it reached the log."""

    at: datetime
    agent: str
    session: str
    kind: str
    text: str
    details: dict[str, Any]

    @property
    def arrived_at(self) -> datetime:
        """Event time, the agent's usual delay, and the planned lateness."""
        return self.at + timedelta(seconds=DELAY_S[self.agent], minutes=self.details.get("late", 0))


def read_steps() -> list[Step]:
    """Read the source, in order of event time; that order numbers the ids."""
    steps = [step for name, day in DAYS.items() for step in _steps((HERE / name).read_text("utf-8"), day)]
    return sorted(steps, key=lambda step: step.at)


def _steps(source: str, day: datetime) -> Iterator[Step]:
    for line in source.splitlines():
        if line and not line.startswith("#"):
            at, agent, session, kind, text, *details = line.split(" | ")
            hours, minutes, seconds = map(int, at.split(":"))
            moment = day + timedelta(hours=hours, minutes=minutes, seconds=seconds)
            yield Step(moment, agent, session, kind, text, json.loads(details[0]) if details else {})


def ids_of(steps: Iterable[Step]) -> dict[str, str]:
    """Give the id of each label."""
    numbered = [(step.details.get("l"), f"inc-{number:03}") for number, step in enumerate(steps, start=1)]
    labels = [label for label, _ in numbered if label]
    assert len(labels) == len(set(labels)), "a label is used twice"
    return {label: ident for label, ident in numbered if label}


def event_of(step: Step, ident: str, ids: dict[str, str]) -> dict[str, Any]:
    """Give the event as its producer sends it."""
    details = step.details
    attributes = {
        "tool": details.get("tool"),
        "tool_call_id": details.get("call"),
        "arguments": details.get("args"),
        "status": details.get("status"),
        **details.get("a", {}),
    }
    event = {
        "id": ident,
        "source": SOURCE,
        "tenant": TENANT,
        "agent": f"{step.agent}-agent",
        "session": SESSIONS[step.session],
        "kind": step.kind,
        "text": step.text,
        "speaker": details.get("who"),
        "occurred_at": step.at.astimezone(ZONES.get(step.agent, UTC)).isoformat(),
        "sequence": details.get("seq"),
        "parent": ids[details["p"]] if "p" in details else None,
        "caused_by": [ids[label] for label in details.get("c", ())] or None,
        "entities": details.get("e"),
        "attributes": {name: value for name, value in attributes.items() if value is not None} or None,
        "trace": details.get("tr"),
    }
    return {name: value for name, value in event.items() if value is not None}


def lines_of(steps: list[Step], ids: dict[str, str]) -> list[str]:
    """Give the lines of the event file in order of arrival, the repeated ones included."""
    arrivals: list[tuple[datetime, int, str]] = []
    for number, step in enumerate(steps, start=1):
        line = _json(event_of(step, f"inc-{number:03}", ids))
        arrivals.append((step.arrived_at, number, line))
        if "dup" in step.details:
            arrivals.append((step.arrived_at + timedelta(minutes=step.details["dup"]), number, line))
    return [line for _, _, line in sorted(arrivals)]


def plan_of(steps: list[Step], ids: dict[str, str]) -> dict[str, Any]:
    """Give what was planned, with ids, for tests and measurements."""
    named = [(f"inc-{number:03}", step) for number, step in enumerate(steps, start=1)]
    chains = []
    for chain in CHAINS:
        events = [ids[label] for label in chain.labels]
        edges = [list(pair) for pair in pairwise(events)]
        chains.append({"name": chain.name, "found_by": chain.found_by, "events": events, "edges": edges})
    return {
        "chains": chains,
        "spellings": SPELLINGS,
        "supersessions": [
            {"subject": subject, "attribute": attribute, "older": ids[older], "newer": ids[newer]}
            for subject, attribute, older, newer in SUPERSESSIONS
        ],
        "late": [ident for ident, step in named if "late" in step.details],
        "duplicates": [ident for ident, step in named if "dup" in step.details],
    }


def documents() -> dict[str, str]:
    """Give every file this script writes: name -> content."""
    steps = read_steps()
    ids = ids_of(steps)
    questions = [
        _json(
            {
                "question": q.question,
                "intent": q.intent,
                "expected": [ids[label] for label in q.expected],
                "note": q.note,
            }
        )
        for q in QUESTIONS
    ]
    return {
        "incident.jsonl": "\n".join(lines_of(steps, ids)) + "\n",
        "incident.questions.jsonl": "\n".join(questions) + "\n",
        "incident.chains.json": json.dumps(plan_of(steps, ids), ensure_ascii=False, indent=2) + "\n",
    }


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for name, content in documents().items():
        (folder / name).write_text(content, "utf-8")
