"""Writes the measured parts of docs/retrieval.md from bench/results: `python docs/make_retrieval.py`.

The files are what `magma bench locomo --json` prints, one an embedder. A test holds page and files together.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.locomo import CATEGORIES
from bench.refit import OVERALL, Refitted
from bench.report import Report
from bench.systems import ABLATIONS, System
from bench.tables import Interval

PAGE = Path(__file__).with_name("retrieval.md")
RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results"

_RANKS = (5, 10, 20, 50)


def reports(folder: Path = RESULTS) -> list[Report]:
    """Read the stored measurements of LoCoMo, the static embedder's first."""
    found = [Report.model_validate_json(file.read_bytes()) for file in sorted(folder.glob("locomo-*.json"))]
    return sorted(found, key=lambda report: (not report.embedding.startswith("wordllama"), report.embedding))


def page(text: str, measured: Sequence[Report]) -> str:
    """Give the page with its measured parts written anew; raises `ValueError` when it has no place for one."""
    for name, lines in (("results", _results(measured)), ("relations", _relations(measured))):
        place = re.compile(rf"(<!-- {name}[^>]*-->\n).*?(\n<!-- /{name} -->)", re.S)
        # in a function's answer nothing is an escape
        text, count = place.subn(partial(_between, "\n".join(lines)), text)
        if count != 1:
            raise ValueError(f"the page has {count} places for {name}")
    return text


def _between(part: str, place: re.Match[str]) -> str:
    return place[1] + part + place[2]


def _results(measured: Sequence[Report]) -> Iterator[str]:
    for report in measured:
        where = report.environment
        conversations = len(report.systems[System.MAGMA].by_conversation)
        skipped = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in report.skipped.items()) or "none"
        yield f"### {report.embedding}\n"
        yield (
            f"{conversations} conversations, {report.questions:,} questions with evidence to {report.events:,} turns "
            f"(skipped: {skipped}). Ranking weights: {report.fit}. Commit {where.commit or 'unknown'}, Python "
            f"{where.python}, {where.cpus} cores. Brackets are 95 % intervals by conversation. Recall by category is "
            "at 10.\n"
        )
        yield from _systems(report)
        yield from _ratios(report)
        yield from _contexts(report)
        if report.repeatable is not None:
            said = "gave equal bytes" if report.repeatable else "gave DIFFERENT results"
            yield f"Asking every warm-up question twice {said}.\n"


def _systems(report: Report) -> Iterator[str]:
    names = sorted(report.systems[System.MAGMA].by_category)
    yield from _header(
        "system", *(f"recall@{k}" for k in _RANKS), "@10 within", "nDCG@10", *(CATEGORIES[name] for name in names)
    )
    for system, one in report.systems.items():
        if system in ABLATIONS:
            continue
        ten = one.overall[10]
        yield _row(
            f"`{system}`",
            *(f"{one.overall[k].recall.mean:.3f}" for k in _RANKS),
            f"{ten.recall.low:.3f}–{ten.recall.high:.3f}",
            f"{ten.ndcg:.3f}",
            *(f"{one.by_category[name][10].recall.mean:.3f}" for name in names),
        )
    yield ""


def _ratios(report: Report) -> Iterator[str]:
    if not report.ratios:
        return
    yield from _header("Magma's mean over", *(f"`{system}`" for system in report.ratios))
    for name in next(iter(report.ratios.values())):
        shown = re.sub(r"category (\d)", lambda match: CATEGORIES[match[1]], name)
        yield _row(shown, *(_times(found.get(name)) for found in report.ratios.values()))
    yield ""


def _contexts(report: Report) -> Iterator[str]:
    shown = {system: one.context for system, one in report.systems.items() if one.context}
    budgets = sorted(next(iter(shown.values()), {}))
    yield from _header("share of the evidence inside a context of", *(f"{budget:,} tokens" for budget in budgets))
    for system, context in shown.items():
        yield _row(f"`{system}`", *(f"{context[budget].mean:.3f}" for budget in budgets))
    yield ""


def _relations(measured: Sequence[Report]) -> Iterator[str]:
    some = False
    for report in measured:
        if report.visited:
            some = True
            yield f"### {report.embedding}\n"
            yield from _missing(report)
            yield from _worth(report)
    if not some:
        yield "The stored measurements hold no ablations."


def _missing(report: Report) -> Iterator[str]:
    names = sorted(report.systems[System.MAGMA].by_category)
    yield "Merely taken away (the ranking was fitted with it). Recall@10, and how the visited set differs:\n"
    yield from _header(
        "variant", "recall@10", *(CATEGORIES[name] for name in names), "questions that visit others", "events − / +"
    )
    for system in (System.MAGMA, *report.visited):
        one, visited = report.systems[system], report.visited.get(system)
        changed = ("", "") if visited is None else (
            f"{visited.questions:.0%}", f"{visited.missing:.1f} / {visited.added:.1f}"
        )  # fmt: skip
        yield _row(
            f"`{system}`",
            f"{one.overall[10].recall.mean:.3f}",
            *(f"{one.by_category[name][10].recall.mean:.3f}" for name in names),
            *changed,
        )
    yield ""


def _worth(report: Report) -> Iterator[str]:
    if not report.refitted:
        return
    names = sorted(report.systems[System.MAGMA].by_category)
    yield (
        "The fair value: the whole's recall@10 over the variant's, the ranking of both fitted anew on what each has. "
        "Above 1 the variant lacks something of worth; bold where the interval by conversation leaves 1 out. Fitting "
        "again moves recall by about one per cent by itself: values nearer to 1 than that say nothing, bold or not.\n"
    )
    yield from _header("variant", "recall@10", "overall", *(CATEGORIES[name] for name in names))
    for system, fair in report.refitted.items():
        yield _row(f"`{system}`", f"{fair.recall.mean:.3f}", *(_value(fair, name) for name in (OVERALL, *names)))
    yield ""


def _value(fair: Refitted, name: str) -> str:
    found = fair.worth.get(name)
    told = _times(found)
    return f"**{told}**" if found is not None and (found.low > 1 or found.high < 1) else told


def _times(found: Interval | None) -> str:
    return "" if found is None else f"×{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _header(*cells: str) -> Iterator[str]:
    yield _row(*cells)
    yield _row(*("---" for _ in cells))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8"), reports()), encoding="utf-8")
