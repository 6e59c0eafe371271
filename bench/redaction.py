"""What redaction costs: microseconds of CPU an event, all kinds on. Run `python -m bench.redaction`."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from memory.events import AgentEvent, decode_event
from memory.redaction import DataKind, Policy, Redactor
from memory.settings_privacy import RedactionMode

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
_TELEMETRY = (
    "2026-11-30 19:01:08.123456 worker-7 took 1234567890 ns for order 4512345678, "
    "trace 4bf92f3577b34da6a3ce929d0e0e4736 10.0.0.1:8080 v1.2.3\n"
)
_PLANTED = (
    "mail jo@example.com card 4111 1111 1111 1111 call +1 415 555 2671 key ghp_0123456789abcdefghijABCDEFGHIJ012345"
)
_ROUNDS = 7


def batches() -> dict[str, list[AgentEvent]]:
    """Give what is measured, by name."""
    files = {
        name: [decode_event(line) for line in (EXAMPLES / name).read_bytes().splitlines()]
        for name in ("conversation.jsonl", "incident.jsonl")
    }
    first = files["incident.jsonl"][0]
    texts = {"one line of telemetry": _TELEMETRY, "all four kinds": _PLANTED, "64 KB of telemetry": _TELEMETRY * 450}
    return files | {name: [first.model_copy(update={"text": text})] for name, text in texts.items()}


def cost_us(redactor: Redactor, events: Sequence[AgentEvent]) -> float:
    """Give the CPU of one event, in microseconds: the best of some rounds, for other work only adds."""
    best_s = float("inf")
    for _ in range(_ROUNDS):
        begun_s = time.process_time()
        for event in events:
            redactor.redact(event)
        best_s = min(best_s, time.process_time() - begun_s)
    return best_s / len(events) * 1e6


def main() -> None:
    """Print a line for each batch."""
    redactor = Redactor(Policy(dict.fromkeys(DataKind, RedactionMode.MASK)))
    for name, events in batches().items():
        sys.stdout.write(f"{name:24} {cost_us(redactor, events):10.1f} us an event\n")


if __name__ == "__main__":
    main()
