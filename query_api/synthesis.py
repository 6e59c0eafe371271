"""From ranked events to a context within a token budget (arXiv 2601.03236, section 3.3, stage 4, eq. 7).

The budget is filled by salience with verbatim blocks, then the blocks are put in the order of the intent; a run of
events left out between two that stand becomes one marker. The context never has more tokens than the budget.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from memory.text import count_lines, count_many, count_tokens
from query_api.blocks import block, marker
from query_api.intents import Intent
from query_api.ordering import arrange
from query_api.ranking import Scored

#: Part of the budget kept for markers when not everything fits.
MARKER_SHARE = 0.05
#: Events that markers may speak of: the best so many, and twice as many as are shown. What ranks lower was found and is
#: not missed: a marker for it would tell nothing and take the room of an event.
_WORTH_A_MARKER = 50
#: Part of the budget that one event may take; a longer text is cut and says so.
BLOCK_SHARE = 0.5
#: Tokens of a block that are not its text: times, names, dates, ref.
_FRAME_TOKENS = 80
#: A text is not cut to fewer tokens than this: less would say nothing.
_SHORTEST_CUT = 64
#: Blocks that do not fit in a row, after which filling ends.
_MISSES = 12
#: Blocks counted in one call to the tokenizer.
_CHUNK = 32


@dataclass(frozen=True, slots=True)
class Context:
    """What a model is given. `shown`: ids in reading order; `cut`: ids with a text cut short; `left_out`: the rest."""

    text: str
    tokens: int
    shown: tuple[str, ...]
    cut: tuple[str, ...]
    left_out: int


def synthesize(
    scored: Sequence[Scored],
    intent: Intent,
    *,
    budget_tokens: int,
    causes: Collection[tuple[str, str]] = (),
    names: Sequence[str] = (),
    superseded: Mapping[str, str] | None = None,
) -> Context:
    """Write a context from events given by falling salience.

    `superseded`: id → ref of the newer event. Nothing found gives an empty context of 0 tokens.
    """
    blocks, cut = _fill(scored, budget_tokens, superseded or {})
    worth = max(_WORTH_A_MARKER, 2 * len(blocks))
    told = [item for place, item in enumerate(scored) if place < worth or item.candidate.node.id in blocks]
    order = arrange(told, intent, causes=causes, names=names)
    kept = [item.candidate.node.id for item in scored if item.candidate.node.id in blocks]
    gaps = _affordable(_gaps(order, blocks), budget_tokens - sum(count_many(list(blocks.values()))) - len(blocks))
    lines, markers = _assemble(order, blocks, gaps), sorted(gaps, key=lambda at: (gaps[at][0], -at))
    tokens = count_lines(lines)
    # joined text can count a few tokens more than its parts: markers go first, then the least salient block
    while tokens > budget_tokens and (markers or kept):
        if markers:
            markers = markers[max(1, len(markers) // 4) :]
            gaps = {at: gaps[at] for at in markers}
        else:
            del blocks[kept.pop()]
        lines = _assemble(order, blocks, gaps)
        tokens = count_lines(lines)
    shown = tuple(item.candidate.node.id for item in order if item.candidate.node.id in blocks)
    return Context("\n".join(lines), tokens, shown, tuple(id_ for id_ in shown if id_ in cut), len(scored) - len(shown))


def _fill(
    scored: Sequence[Scored], budget_tokens: int, superseded: Mapping[str, str]
) -> tuple[dict[str, str], set[str]]:
    """Choose blocks by salience: all of them when they fit, else as many as leave room for markers."""
    most = max(_SHORTEST_CUT, int(budget_tokens * BLOCK_SHARE) - _FRAME_TOKENS)
    cut: set[str] = set()
    blocks: dict[str, str] = {}
    sizes: dict[str, int] = {}
    used = misses = 0
    room = budget_tokens
    for begin in range(0, len(scored), _CHUNK):
        chunk = {item.candidate.node.id: _block(item, superseded, most, cut) for item in scored[begin : begin + _CHUNK]}
        counted = count_many(list(chunk.values()))
        for (id_, text), size in zip(chunk.items(), counted, strict=True):
            sizes[id_] = size + 1  # the line break
            if used + sizes[id_] <= room:
                blocks[id_] = text
                used += sizes[id_]
                misses = 0
                continue
            misses += 1
            if room == budget_tokens:  # not everything fits: make room for markers
                room = int(budget_tokens * (1 - MARKER_SHARE))
                while used > room and len(blocks) > 1:
                    used -= sizes[last := next(reversed(blocks))]
                    del blocks[last]
            if misses >= _MISSES:
                return blocks, cut
    return blocks, cut


def _block(item: Scored, superseded: Mapping[str, str], most: int, cut: set[str]) -> str:
    node = item.candidate.node
    newer = superseded.get(node.id, "")
    # a text of fewer characters cannot be too long by much; only the others are worth counting
    if len(node.text) > most and count_tokens(node.text) > most:
        cut.add(node.id)
        return block(node, superseded_by=newer, most_tokens=most)
    return block(node, superseded_by=newer)


def _gaps(order: Sequence[Scored], blocks: Mapping[str, str]) -> dict[int, tuple[int, str]]:
    """Give for each run of left-out events between two kept ones: position of the block after it → (count, marker)."""
    gaps: dict[int, tuple[int, str]] = {}
    run: list[Scored] = []
    begun = False
    for position, item in enumerate(order):
        if item.candidate.node.id not in blocks:
            run.append(item)
            continue
        if begun and run:
            nodes = sorted((dropped.candidate.node for dropped in run), key=lambda node: node.order)
            gaps[position] = (len(run), marker(len(run), nodes[0], nodes[-1]))
        run, begun = [], True
    return gaps


def _affordable(gaps: Mapping[int, tuple[int, str]], room: int) -> dict[int, tuple[int, str]]:
    """Keep the markers for the longest runs, as many as there is room for."""
    places = sorted(gaps, key=lambda at: (-gaps[at][0], at))
    kept: dict[int, tuple[int, str]] = {}
    for place, size in zip(places, count_many([gaps[place][1] for place in places]), strict=True):
        room -= size + 1
        if room < 0:
            break
        kept[place] = gaps[place]
    return kept


def _assemble(order: Sequence[Scored], blocks: Mapping[str, str], gaps: Mapping[int, tuple[int, str]]) -> list[str]:
    lines: list[str] = []
    for position, item in enumerate(order):
        if item.candidate.node.id in blocks:
            if position in gaps:
                lines.append(gaps[position][1])
            lines.append(blocks[item.candidate.node.id])
    return lines
