"""What a small local model is worth beside the rules: `python -m bench.local_model MODEL`, minutes of one core.

Windows are the beginnings of the planned chains of `examples/incident.jsonl`; the links of the plan are the truth, the
names are listed here. Each window is one real call, as a consolidation worker makes it. The server's CPU time is
bounded: when it is used up, what was measured so far is printed.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from deploy.local.llm import serving
from deploy.local.models import MODELS, fetched, model_named
from memory.errors import MagmaError, Poison, Retryable
from memory.events import AgentEvent, EventNode, derive_id
from memory.llm import Ask, Extractor, Findings, Window, open_extractor
from memory.names import normal_form
from memory.settings import LlmProvider, load_settings
from streams.prepare import event_node

EXAMPLES = Path(__file__).parent.parent / "examples"
#: The first events of a chain that make a window, and the number of windows: those whose names are listed here.
EVENTS = 3
WINDOWS = 3
#: Below this confidence a name is a guess that counts for nothing.
SURE = 0.6
#: Proper names in those events, by the producer's id; the rest have none.
NAMES = {
    "inc-056": {"values file 5512"},
    "inc-141": {"0147_add_settled_at.sql"},
    "inc-147": {"0147_add_settled_at.sql"},
    "inc-184": {"tessera intermediate r3"},
    "inc-187": {"tessera"},
}


@dataclass
class Score:
    """What came of the windows. `seconds`: wall time of the calls."""

    windows: int = 0
    usable: int = 0
    links: int = 0
    found: int = 0
    right: int = 0
    names: int = 0
    named: int = 0
    named_right: int = 0
    tokens: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def row(self, who: str) -> str:
        """Give the line of the table."""
        return (
            f"| {who} | {self.usable} of {self.windows} | {self.right} of {self.found} | {self.right} of {self.links} "
            f"| {self.named_right} of {self.named} | {self.named_right} of {self.names} "
            f"| {self.tokens} | {self.seconds:.0f} |"
        )


HEAD = (
    "| reader | usable answers | links right of those found | links found of the plan's | names right of those found "
    "| names found | completion tokens | seconds |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
)


def windows() -> Iterator[tuple[Window, set[tuple[str, str]]]]:
    """Give each window and the links between its events, by stored ids."""
    lines = (EXAMPLES / "incident.jsonl").read_text(encoding="utf-8").splitlines()
    events = {event.id: event for event in map(AgentEvent.model_validate_json, lines)}
    for chain in json.loads((EXAMPLES / "incident.chains.json").read_text(encoding="utf-8"))["chains"]:
        nodes = {ident: _node(events[ident]) for ident in chain["events"][:EVENTS]}
        links = {(nodes[a].id, nodes[b].id) for a, b in chain["edges"] if a in nodes and b in nodes}
        ordered = tuple(sorted(nodes.values(), key=lambda node: node.order))
        yield Window("bench", chain["name"], ordered, frozenset(node.id for node in ordered)), links


def _node(event: AgentEvent) -> EventNode:
    ident = derive_id(event.tenant, event.source, event.id or "")
    return event_node(event, ident, arrival=0, ingested_us=0)


async def measure(extractor: Extractor, most: int, cpu: "Cpu | None" = None) -> Score:
    """Read the first windows, one after the other, until the time is used up or no answer comes."""
    score = Score()
    for window, links in islice(windows(), most):
        if cpu is not None and cpu.used_up():
            break
        begun = time.monotonic()
        score.windows += 1
        score.links += len(links)
        names = {event.id: {normal_form(name) for name in NAMES.get(event.ref, ())} for event in window.events}
        score.names += sum(map(len, names.values()))
        try:
            found = await extractor.extract(window, frozenset(Ask))
        except (Poison, Retryable) as error:
            score.problems.append(error.message)
            if isinstance(error, Retryable):
                break
        else:
            score.usable += 1
            _count(score, found, links, names)
        score.seconds += time.monotonic() - begun
        sys.stderr.write(f"{window.session}: {score.row('so far')}\n")
    return score


def _count(score: Score, found: Findings, links: set[tuple[str, str]], names: dict[str, set[str]]) -> None:
    pairs = {(cause.cause, cause.effect) for cause in found.causes if cause.confidence >= 0.7}
    score.found += len(pairs)
    score.right += len(pairs & links)
    named = {(each.event, normal_form(each.surface)) for each in found.entities if each.confidence >= SURE}
    score.named += len(named)
    # "0147_add_settled_at" is as good as the name of the file
    score.named_right += sum(1 for event, key in named if key and any(name.startswith(key) for name in names[event]))
    score.tokens += found.completion_tokens


class Cpu:
    """CPU time of all processes below this one, bounded."""

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self.used_s = 0.0

    def used_up(self) -> bool:
        """Tell whether the bound is reached; a call in flight may pass it."""
        ticks = os.sysconf("SC_CLK_TCK")
        mine = str(os.getpid())
        self.used_s = 0.0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[1] == mine:
                self.used_s += (int(fields[11]) + int(fields[12])) / ticks
        return self.used_s >= self._most_s


async def _run(url: str, model: str, most_s: float) -> int:
    settings = load_settings(
        llm_provider=LlmProvider.OPENAI, openai_base_url=url, llm_model=model, llm_timeout_s=600, llm_concurrency=1
    )
    cpu = Cpu(most_s)
    async with open_extractor(settings) as extractor:
        of_model = await measure(extractor, WINDOWS, cpu)
    cpu.used_up()
    async with open_extractor(load_settings(llm_provider=LlmProvider.RULES)) as rules:
        of_rules = await measure(rules, of_model.windows)
    rows = [HEAD, of_model.row(model), of_rules.row("rules")]
    sys.stdout.write("\n".join([*rows, "", f"CPU of the server: {cpu.used_s:.0f} s", *of_model.problems]) + "\n")
    return 0 if of_model.usable else 1


def main() -> int:
    """Fetch, serve, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.local_model", description=__doc__)
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--cpu-seconds", type=float, default=600.0)
    given = parser.parse_args()
    try:
        path = fetched(model_named(given.model))
        with tempfile.TemporaryDirectory() as room, serving(path, Path(room) / "server.log") as url:
            return asyncio.run(_run(url, given.model, given.cpu_seconds))
    except MagmaError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
