"""B³ of the entities of a memory (Bagga & Baldwin, "Algorithms for Scoring Coreference Chains", 1998)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from bench.consolidate_intervals import harmonic, interval, share
from bench.consolidate_memory import Consolidated, MadeMention
from bench.consolidate_sets import Document, MentionLabel
from bench.tables import Interval
from memory.names import normal_form


class EntityMistakes(BaseModel):
    """Labelled mentions that were not found, entities that stand for several things, and things that have several."""

    missed: list[tuple[str, str]]
    merged: list[tuple[str, str, list[str]]]
    split: list[tuple[str, str, list[str]]]


class EntitiesTable(BaseModel):
    """`n`: labelled mentions; `found`: those that have an edge; `unlabelled`: mentions made that no label names.

    `intervals`: of `b3_f1`, `b3_precision`, `b3_recall`, `found` (its share). `mistakes` only on `dev`.
    """

    b3_f1: float
    b3_precision: float
    b3_recall: float
    n: int
    found: int
    unlabelled: int
    entities: int
    intervals: dict[str, Interval]
    mistakes: EntityMistakes | None


@dataclass(frozen=True, slots=True)
class BCubed:
    """Sums over the mentions of one document; a missed mention adds nothing to them but counts in `mentions`."""

    precision: float
    found: int
    recall: float
    mentions: int


def b_cubed(gold: Mapping[int, str], system: Mapping[int, str]) -> BCubed:
    """Compare two clusterings of mentions by number; a mention that `system` lacks was missed.

    For a found mention: precision is the share of its system cluster that belongs to its gold cluster, recall the
    share of its gold cluster that the system put beside it.
    """
    precision = recall = 0.0
    for mention, cluster in system.items():
        together = [other for other, theirs in system.items() if theirs == cluster]
        same = sum(gold[other] == gold[mention] for other in together)
        precision += same / len(together)
        recall += same / sum(theirs == gold[mention] for theirs in gold.values())
    return BCubed(precision, len(system), recall, len(gold))


def match(labels: Sequence[MentionLabel], made: Sequence[MadeMention]) -> dict[int, MadeMention]:
    """Give for each labelled mention of an event, by its number, the mention that was made of it, where there is one.

    Equal to the event's spelling, else to another name of the entity, else the longest spelling that contains the
    labelled one or lies in it, in whole words; all in normal form.
    """
    found = {}
    for number, label in enumerate(labels):
        wanted = normal_form(label.surface)
        ranked = sorted(((_likeness(wanted, one), one.entity, one) for one in made), key=lambda item: item[:2])
        if ranked and ranked[-1][0] > (0, 0):
            found[number] = ranked[-1][2]
    return found


def _likeness(wanted: str, made: MadeMention) -> tuple[int, int]:
    names = [normal_form(name) for name in made.names]
    if names[0] == wanted:
        return (3, 0)
    if wanted in names[1:]:
        return (2, 0)
    ours, theirs = f" {wanted} ", f" {names[0]} "
    if ours in theirs or theirs in ours:
        return (1, min(len(ours), len(theirs)))
    return (0, 0)


def entities_table(documents: Sequence[Document], memories: Mapping[str, Consolidated], *, show: bool) -> EntitiesTable:
    """Compare the entities of every document; `show`: list the mistakes."""
    sums: list[BCubed] = []
    mistakes = EntityMistakes(missed=[], merged=[], split=[])
    unlabelled = entities = 0
    for document in documents:
        made = memories[document.id].mentions
        gold = {number: label.entity for number, label in enumerate(document.mentions)}
        system: dict[int, str] = {}
        used: set[MadeMention] = set()
        for event in {label.event for label in document.mentions}:
            numbers = [number for number, label in enumerate(document.mentions) if label.event == event]
            here = [one for one in made if one.event == event]
            matched = match([document.mentions[number] for number in numbers], here)
            system |= {numbers[place]: one.entity for place, one in matched.items()}
            used |= set(matched.values())
        sums.append(b_cubed(gold, system))
        unlabelled += len(set(made) - used)
        entities += len({one.entity for one in made})
        _note(mistakes, document, gold, system)
    rows = [(one.precision, one.found, one.recall, one.mentions) for one in sums]
    spreads = {
        "b3_f1": interval(rows, harmonic),
        "b3_precision": interval([row[:2] for row in rows], share),
        "b3_recall": interval([row[2:] for row in rows], share),
        "found": interval([(row[1], row[3]) for row in rows], share),
    }
    values = {name: spread.mean if spread else 0.0 for name, spread in spreads.items()}
    return EntitiesTable(
        b3_f1=values["b3_f1"],
        b3_precision=values["b3_precision"],
        b3_recall=values["b3_recall"],
        n=sum(one.mentions for one in sums),
        found=sum(one.found for one in sums),
        unlabelled=unlabelled,
        entities=entities,
        intervals={name: spread for name, spread in spreads.items() if spread is not None},
        mistakes=mistakes if show else None,
    )


def _note(mistakes: EntityMistakes, document: Document, gold: Mapping[int, str], system: Mapping[int, str]) -> None:
    mistakes.missed += [
        (label.event, label.surface) for number, label in enumerate(document.mentions) if number not in system
    ]
    for key in sorted(set(system.values())):
        things = sorted({gold[number] for number, entity in system.items() if entity == key})
        if len(things) > 1:
            mistakes.merged.append((document.id, key, things))
    for thing in sorted(set(gold.values())):
        keys = sorted({entity for number, entity in system.items() if gold[number] == thing})
        if len(keys) > 1:
            mistakes.split.append((document.id, thing, keys))
