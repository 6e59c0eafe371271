"""Learning spellings again from the stored mentions: after an erasure, and where a proof found one misplaced."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.driver import Bolt, Transaction
from memory.graph.entity_moves import move
from memory.graph.entity_statements import EntityStatement
from memory.graph.model import NameChange
from memory.graph.name_reads import read_names
from memory.graph.name_writes import MAX_NEWS, Why, hold_tenant, settle
from memory.graph.naming import Name
from memory.graph.queries import Query
from memory.identity import Known, Standing
from memory.relations import EntityType, Origin

_REASON = "learned again from the stored mentions"


async def relearn_names(bolt: Bolt, tenant: str, places: Mapping[str, Collection[str]]) -> list[NameChange]:
    """Learn names again as `GraphWriter.relearn_names` says."""
    changes: list[NameChange] = []
    forms = sorted(places)
    for start in range(0, len(forms), MAX_NEWS):
        part = forms[start : start + MAX_NEWS]

        async def work(transaction: Transaction, part: Sequence[str] = part) -> list[NameChange]:
            return await relearn_in(transaction, tenant, {form: places[form] for form in part})

        changes += await bolt.transact(work, what="learning names again")
    return changes


async def relearn_in(transaction: Transaction, tenant: str, places: Mapping[str, Collection[str]]) -> list[NameChange]:
    """Learn names again within a transaction."""
    serial = await hold_tenant(transaction, tenant)
    stored = await read_names(transaction, tenant, list(places), hold=True)
    here = {form: stored.get(form) or Name(Known(form), key=form) for form in places}
    edges = await _edges(
        transaction, tenant, [(form, key) for form in places for key in {*places[form], here[form].key}]
    )
    aside = await _aside(transaction, tenant, list(places))
    # bring together what lies at two places, then decide where it belongs
    for form, name in sorted(here.items()):
        lost = {key for held, key, *_ in edges if held == form and key != name.key}
        for key in [*sorted(lost), *([""] if form in aside and name.key else [])]:
            await move(transaction, tenant, replace(name, key=key), name)
    news = {}
    for form, name in here.items():
        said = [facts for held, _, *facts in edges if held == form]
        if said or form in aside or name.known.pinned:
            news[form] = _known(name, said)
    rows = [here[form].row(tenant) for form in sorted(news.keys() - stored.keys())]
    if rows:
        await transaction.run(EntityStatement.NAMES_PUT, rows=rows)
    gone = {form: name for form, name in stored.items() if form not in news}
    if gone:
        await transaction.run(EntityStatement.NAMES_DROP, uids=[uid(tenant, form) for form in sorted(gone)])
    return await settle(transaction, tenant, news, Why(Origin.RULE, 0, reason=_REASON), serial, gone=gone)


async def _edges(transaction: Transaction, tenant: str, wanted: Iterable[tuple[str, str]]) -> list[Sequence[Any]]:
    """Give [form, entity's key, type, weight, spoken, doubtful] of the mentions of forms in entities."""
    rows = [{"form": form, "key": key, "entity": uid(tenant, key)} for form, key in sorted(set(wanted)) if key]
    found: list[Sequence[Any]] = []
    for part in chunks(rows):
        found += await transaction.collected(EntityStatement.EDGES_OF_FORMS, rows=part)
    return found


async def _aside(transaction: Transaction, tenant: str, forms: Sequence[str]) -> set[str]:
    return set(await transaction.collected(Query.NAMES_ASIDE, uids=[uid(tenant, form) for form in sorted(forms)]))


def _known(name: Name, said: Iterable[Sequence[Any]]) -> Name:
    """Say what the stored mentions of a spelling say of it: type, weight, whether anything shows that it is a name."""
    kind, weight, standing = "", 0.0, Standing.DOUBTFUL
    for said_kind, said_weight, spoken, doubtful in said:
        if not doubtful:
            standing = max(standing, Standing.ANCHORED if spoken else Standing.SURE)
            if (said_weight or 0.0) > weight:
                kind, weight = said_kind or EntityType.OTHER.value, said_weight
    return replace(name, known=Known(name.form, kind, standing, name.known.pinned), weight=weight)
