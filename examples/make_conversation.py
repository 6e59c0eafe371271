"""Write `conversation.jsonl`, its questions and its plan from `source/conversation.txt` and `conversation_plan.py`.

    python examples/make_conversation.py [FOLDER]

The same input gives the same bytes. A message comes `PAUSE_S` seconds after the one before.
"""

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from conversation_plan import QUESTIONS, SUPERSESSIONS

HERE = Path(__file__).parent
TENANT = "ilse-and-mateo"
SOURCE = "chat"
PAUSE_S = 35


@dataclass(frozen=True)
class Message:
    """One message. `number` counts from 1 in its session."""

    session: int
    number: int
    at: datetime
    speaker: str
    text: str
    label: str

    @property
    def ident(self) -> str:
        """Give its producer id, such as c3-07."""
        return f"c{self.session}-{self.number:02}"


def read_messages() -> list[Message]:
    """Read the source."""
    messages: list[Message] = []
    session, number, start = 0, 0, datetime.min.replace(tzinfo=UTC)
    for line in (HERE / "source/conversation.txt").read_text("utf-8").splitlines():
        if line.startswith("## "):
            head, moment = line.removeprefix("## ").split(" | ")
            session, number, start = int(head), 0, datetime.fromisoformat(moment)
        elif line and not line.startswith("#"):
            said, _, label = line.partition(" | ")
            speaker, _, text = said.partition(": ")
            at = start + timedelta(seconds=PAUSE_S * number)
            number += 1
            messages.append(Message(session, number, at, speaker, text, label))
    return messages


def event_of(message: Message) -> dict[str, Any]:
    """Give the event as a chat program would send it."""
    return {
        "id": message.ident,
        "source": SOURCE,
        "tenant": TENANT,
        "agent": message.speaker,
        "session": f"chat-{message.session}",
        "kind": "message",
        "text": message.text,
        "speaker": message.speaker,
        "occurred_at": message.at.isoformat(),
        "sequence": message.number,
    }


def documents() -> dict[str, str]:
    """Give every file this script writes: name -> content."""
    messages = read_messages()
    labelled = [message for message in messages if message.label]
    ids = {message.label: message.ident for message in labelled}
    assert len(ids) == len(labelled), "a label is used twice"
    questions = [
        {"question": q.question, "intent": q.intent, "expected": [ids[label] for label in q.expected], "note": q.note}
        for q in QUESTIONS
    ]
    changes = [
        {"subject": who, "attribute": what, "older": ids[older], "newer": ids[newer]}
        for who, what, older, newer in SUPERSESSIONS
    ]
    return {
        "conversation.jsonl": "".join(_json(event_of(message)) + "\n" for message in messages),
        "conversation.questions.jsonl": "".join(_json(question) + "\n" for question in questions),
        "conversation.changes.json": json.dumps({"supersessions": changes}, ensure_ascii=False, indent=2) + "\n",
    }


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for name, content in documents().items():
        (folder / name).write_text(content, "utf-8")
