"""How many labelled phrases of time a memory resolved rightly."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from bench.consolidate_intervals import interval, share
from bench.consolidate_memory import Consolidated
from bench.consolidate_sets import DateLabel, Document
from bench.tables import Interval
from memory.dates import DateSpan, Precision
from memory.events import to_us


class DatesTable(BaseModel):
    """`mistakes`, only on `dev`: event, phrase, and what the event's phrases were resolved to."""

    accuracy: float
    n: int
    intervals: dict[str, Interval]
    mistakes: list[tuple[str, str, list[str]]] | None


def is_right(label: DateLabel, span: DateSpan) -> bool:
    """Say whether a resolved phrase is the labelled one and means the same; part of a labelled day is that day."""
    ours, theirs = label.phrase.casefold(), span.phrase.casefold()
    if ours not in theirs and theirs not in ours:
        return False
    start_us, end_us = to_us(label.start), to_us(label.end)
    if (span.start_us, span.end_us, span.precision) == (start_us, end_us, label.precision):
        return True
    return label.precision is Precision.DAY and start_us <= span.start_us < span.end_us <= end_us


def dates_table(documents: Sequence[Document], memories: Mapping[str, Consolidated], *, show: bool) -> DatesTable:
    """Judge the dates of every document; `show`: list the mistakes."""
    rows: list[tuple[int, int]] = []
    mistakes: list[tuple[str, str, list[str]]] = []
    for document in documents:
        right = 0
        for label in document.dates:
            spans = memories[document.id].dates.get(label.event, ())
            if any(is_right(label, span) for span in spans):
                right += 1
            else:
                mistakes.append((label.event, label.phrase, [f"{span.phrase} ({span.precision})" for span in spans]))
        rows.append((right, len(document.dates)))
    spread = interval(rows, share)
    return DatesTable(
        accuracy=spread.mean if spread else 0.0,
        n=sum(n for _, n in rows),
        intervals={"accuracy": spread} if spread else {},
        mistakes=mistakes if show else None,
    )
