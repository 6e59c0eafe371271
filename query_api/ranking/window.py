"""Whether, and how much of, an event lies in the time that a question names."""

from memory.dates import DateSpan
from memory.events import EventNode
from query_api.router import Route


def in_window(node: EventNode, route: Route) -> bool:
    """Say whether the event happened in the question's window or talks about a time in it; False without a window."""
    return route.window is not None and overlap(node, route.window) > 0


def overlap(node: EventNode, window: DateSpan) -> float:
    """Say how much of an event lies in a window, in [0, 1].

    1 when it happened in the window, else the largest part of a time that it talks about.
    """
    if window.start_us <= node.occurred_us < window.end_us:
        return 1.0
    return talks_about(node, window)


def talks_about(node: EventNode, window: DateSpan) -> float:
    """Give the largest part of a time that the event talks about which lies in the window, in [0, 1]."""
    parts = (
        max(0, min(span.end_us, window.end_us) - max(span.start_us, window.start_us))
        / max(1, span.end_us - span.start_us)
        for span in node.dates
    )
    return max(parts, default=0.0)
