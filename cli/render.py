"""An answer as a person reads it: the context, and the path to each event as a tree."""

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from cli.output import as_it_is
from query_api.models import CauseView, QueryResult, ResultEvent


def render_answer(result: QueryResult, *, explain: bool, most_events: int = 20) -> RenderableType:
    """Draw a result: intent, window, context; with `explain` a tree of the path to each of the first events."""
    intents = ", ".join(f"{name} {share:.2f}" for name, share in result.intent.items() if share >= 0.05)
    head = Text(f"intent {intents}", style="dim")
    if result.window is not None:
        head.append(f"   window {result.window.start} … {result.window.end}")
    if result.degraded:
        head.append(f"   degraded: {', '.join(map(str, result.degraded))}", style="yellow")
    answer = getattr(result, "answer", None)
    parts: list[RenderableType] = [head]
    if answer:
        parts.append(as_it_is(answer, "bold"))
    if explain:
        parts.append(_tree(result, most_events))
    else:
        parts.append(as_it_is(result.context))
    return Group(*parts)


def _tree(result: QueryResult, most_events: int) -> Tree:
    """Draw under each event how it was found: the lists that name it, or the hops from an anchor to it."""
    tree = Tree(Text(f"{len(result.events)} events, {result.tokens} tokens"), guide_style="dim")
    anchors = {anchor.id: anchor for anchor in result.anchors}
    refs = {event.id: event.ref for event in result.events}
    for event in result.events[:most_events]:
        branch = tree.add(_line(event))
        for step in event.path:
            start, end = refs.get(step.from_, step.from_), refs.get(step.to, step.to)
            edge = f"{step.edge} via {step.via}" if step.via else str(step.edge)
            arrow = f" ─{edge}→ " if step.forward else f" ←{edge}─ "
            hop = Text.assemble(as_it_is(start, "green"), as_it_is(arrow, "cyan"), as_it_is(end, "green"))
            hop.append(f"  {step.score:.3f} {step.origin or 'by construction'}", style="dim")
            branch.add(hop if step.cause is None else hop.append(f", {_reason(step.cause)}", style="dim"))
        anchor = anchors.get(event.id)
        if anchor is not None and not event.path:
            places = ", ".join(f"{name} #{share.rank}" for name, share in anchor.lists.items())
            branch.add(Text(f"anchor: {places}", style="dim"))
    return tree


def _reason(cause: CauseView) -> str:
    """Say what kind of cause it is, how sure, by which rule or model and prompt, and why."""
    by = " ".join(part for part in (cause.rule or cause.model, cause.prompt_version) if part)
    told = f"{cause.kind} {cause.confidence:.2f}"
    return told + (f" by {by}" if by else "") + (f": {cause.rationale}" if cause.rationale else "")


def _line(event: ResultEvent) -> Text:
    text = " ".join(event.text.split())
    shown = text if len(text) <= 140 else text[:139] + "…"
    line = Text(f"{event.salience:.3f} ", style="bold").append(f"{event.occurred_at} ", style="dim")
    line.append(as_it_is(f"{event.speaker or event.agent}: {shown}")).append(as_it_is(f"  <ref:{event.ref}>", "green"))
    if event.dates:
        line.append(f"  [event date: {', '.join(map(str, event.dates))}]", style="magenta")
    return line
