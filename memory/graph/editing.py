"""What an operator or a model decides about names: merging, keeping apart, undoing either, and the history of it.

A decision is kept on the spelling's `Name` node and outlives every later event: it comes before the rules, and the
spelling's mentions, those to come too, follow it. Names live in the graph alone; a replay into empty stores brings back
what events say and not what an operator decided: `decisions` gives that, to be kept and decided again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memory.errors import BadSetting, NotFound
from memory.events import uid
from memory.graph.chain import session_range
from memory.graph.driver import Bolt, Transaction
from memory.graph.entity_statements import EntityStatement
from memory.graph.model import NameChange
from memory.graph.name_reads import read_names
from memory.graph.name_writes import Why, history_row, hold_tenant, settle
from memory.graph.naming import Name
from memory.identity import HELD, pinned_to
from memory.names import name_form
from memory.relations import Origin

#: Changes given of a history.
MAX_HISTORY = 1_000


@dataclass(frozen=True, slots=True)
class Decision:
    """A spelling that was bound to another (`into`), or is kept apart (`into` is the spelling itself)."""

    form: str
    into: str


class EntityEditor:
    """Decisions about one tenant's names. All raise what `GraphWriter` raises, and `NotFound` for unknown names."""

    def __init__(self, bolt: Bolt, tenant: str) -> None:
        self._bolt = bolt
        self.tenant = tenant
        self._low, self._high = session_range(tenant)

    async def merge(self, name: str, into: str, why: Why) -> list[NameChange]:
        """Let `name`, with everything that stands for its entity, be the entity of `into`; gives what has moved.

        Raises `BadSetting` when both are one entity already.
        """

        async def work(transaction: Transaction) -> list[NameChange]:
            serial = await hold_tenant(transaction, self.tenant)
            source, target = await self._keys(transaction, (name, into))
            if source == target:
                raise BadSetting(f"{name!r} and {into!r} are one entity already: {source}")
            names = await read_names(transaction, self.tenant, [source, target], hold=True)
            return await self._bind(transaction, names[source], target, names, why, serial)

        return await self._bolt.transact(work, what="merge of entities")

    async def split(self, name: str, why: Why) -> list[NameChange]:
        """Take a spelling out of its entity: undo what bound it, and keep it apart when the rules would join it again.

        Raises `BadSetting` when it already stands for itself.
        """

        async def work(transaction: Transaction) -> list[NameChange]:
            serial = await hold_tenant(transaction, self.tenant)
            form = name_form(name)
            names = await read_names(transaction, self.tenant, [form], hold=True)
            if form not in names or not names[form].key:
                raise NotFound(f"no entity of tenant {self.tenant} is spelled {name!r}")
            if names[form].key == form:
                raise BadSetting(f"{name!r} stands for itself already")
            changes: list[NameChange] = []
            bound = names[form].known.bound
            if bound:
                changes = await self._free(transaction, names[form], bound, why, serial)
                names = await read_names(transaction, self.tenant, [form], hold=True)
            if names[form].key != form:
                apart = replace(names[form], known=replace(names[form].known, pinned=form))
                changes += await settle(transaction, self.tenant, {form: apart}, why, serial)
            return changes

        return await self._bolt.transact(work, what="split of an entity")

    async def propose(self, name: str, into: str, why: Why, *, same: bool = True) -> list[NameChange]:
        """Keep a model's word that two entities are one, or that they are not (`same`); nothing moves.

        `accept` and `reject` decide. Never against what was decided before about `name`; a pair is judged once.
        """

        async def work(transaction: Transaction) -> list[NameChange]:
            serial = await hold_tenant(transaction, self.tenant)
            source, target = await self._keys(transaction, (name, into))
            names = await read_names(transaction, self.tenant, [source, target], hold=True)
            if source == target or names[source].known.pinned or await self._judged(transaction, source, target):
                return []
            judged = NameChange(
                form=source,
                before=source,
                after=target,
                rule="proposed" if same else "judged-apart",
                origin=why.origin,
                confidence=why.confidence or 0.0,
                at_us=why.at_us,
                author=why.author,
                reason=why.reason,
                proposed=same,
                prompt_version=why.prompt_version,
            )
            await self._put_judged(transaction, judged, serial)
            return [judged]

        return await self._bolt.transact(work, what="proposal about entities")

    async def judged(self) -> list[NameChange]:
        """Give what a model said of pairs (proposals, and pairs kept apart), the surest first; at most 1,000."""
        bounds = {"low": uid(self.tenant, "proposal|"), "high": uid(self.tenant, "proposal}")}

        async def work(transaction: Transaction) -> list[Mapping[str, object]]:
            return await transaction.collected(EntityStatement.CHANGES_OF, **bounds, form="", limit=MAX_HISTORY)

        found = [_change(row) for row in await self._bolt.transact(work, what="proposals about entities")]
        return sorted(found, key=lambda one: (-one.confidence, one.form, one.after))

    async def accept(self, name: str, into: str, why: Why) -> list[NameChange]:
        """Carry a proposal out, as `merge` does; raises `NotFound` when there is none that is open for these names."""

        async def work(transaction: Transaction) -> list[NameChange]:
            serial = await hold_tenant(transaction, self.tenant)
            proposal = await self._open(transaction, name, into)
            source, target = await self._keys(transaction, (proposal.form, proposal.after))
            names = await read_names(transaction, self.tenant, [source, target], hold=True)
            decided = replace(proposal, rule="accepted", proposed=False)
            await self._put_judged(transaction, decided, serial)
            if source == target:  # something else has joined them meanwhile
                return []
            return await self._bind(transaction, names[source], target, names, why, serial)

        return await self._bolt.transact(work, what="merge of entities")

    async def reject(self, name: str, into: str, why: Why) -> list[NameChange]:
        """Close a proposal without a merge: it is not made again. Raises `NotFound` as `accept` does."""

        async def work(transaction: Transaction) -> list[NameChange]:
            serial = await hold_tenant(transaction, self.tenant)
            proposal = await self._open(transaction, name, into)
            decided = replace(
                proposal,
                rule="rejected",
                proposed=False,
                origin=why.origin,
                author=why.author,
                at_us=why.at_us,
                reason=why.reason or proposal.reason,
            )
            await self._put_judged(transaction, decided, serial)
            return [decided]

        return await self._bolt.transact(work, what="rejection of a proposal")

    async def history(self, name: str = "", *, limit: int = MAX_HISTORY) -> list[NameChange]:
        """Give what changed of a spelling or an entity, or of all, the newest first."""
        bounds = {"low": self._low, "high": self._high, "form": name_form(name), "limit": limit}

        async def work(transaction: Transaction) -> list[Mapping[str, object]]:
            return await transaction.collected(EntityStatement.CHANGES_OF, **bounds)

        rows = await self._bolt.transact(work, what="history of entities")
        return [_change(row) for row in sorted(rows, key=lambda row: str(row["uid"]), reverse=True)]

    async def decisions(self) -> list[Decision]:
        """Give every decision that holds, to be kept and made again over another store, sorted."""

        async def work(transaction: Transaction) -> list[Sequence[str]]:
            return await transaction.collected(EntityStatement.NAMES_PINNED, low=self._low, high=self._high)

        rows = await self._bolt.transact(work, what="decisions about entities")
        return [Decision(form, pinned) for form, pinned in sorted(map(tuple, rows)) if pinned != HELD]

    async def decide(self, decision: Decision, why: Why) -> list[NameChange]:
        """Make a kept decision again; nothing changes when it holds already. Raises `NotFound` for unknown names."""

        async def work(transaction: Transaction) -> list[NameChange]:
            serial = await hold_tenant(transaction, self.tenant)
            names = await read_names(transaction, self.tenant, [decision.form, decision.into], hold=True)
            for form in (decision.form, decision.into):
                if form not in names:
                    raise NotFound(f"tenant {self.tenant} knows no name {form!r}")
            name = names[decision.form]
            if name.known.pinned == decision.into:
                return []
            if decision.into == decision.form:
                apart = replace(name, known=replace(name.known, pinned=name.form))
                return await settle(transaction, self.tenant, {name.form: apart}, why, serial)
            return await self._bind(transaction, name, decision.into, names, why, serial)

        return await self._bolt.transact(work, what="decision about entities")

    async def _open(self, transaction: Transaction, name: str, into: str) -> NameChange:
        found = await self._judged(transaction, name_form(name), name_form(into))
        if found is None or not found.proposed:
            raise NotFound(f"no open proposal says that {name!r} is {into!r}", hint="see `magma entities proposals`")
        return found

    async def _judged(self, transaction: Transaction, source: str, target: str) -> NameChange | None:
        """Give what was judged of a pair, either way round."""
        for one, other in ((source, target), (target, source)):
            rows = await transaction.collected(EntityStatement.CHANGE_AT, uid=self._proposal_uid(one, other))
            if rows:
                return _change(rows[0])
        return None

    async def _put_judged(self, transaction: Transaction, judged: NameChange, serial: int) -> None:
        row = history_row(self.tenant, judged, serial)
        row["uid"] = self._proposal_uid(judged.form, judged.after)
        await transaction.run(EntityStatement.CHANGES_PUT, rows=[row])

    def _proposal_uid(self, source: str, target: str) -> str:
        return uid(self.tenant, f"proposal|{source}|{target}")

    async def _keys(self, transaction: Transaction, spellings: Sequence[str]) -> list[str]:
        forms = [name_form(spelling) for spelling in spellings]
        names = await read_names(transaction, self.tenant, forms)
        for form, spelling in zip(forms, spellings, strict=True):
            if form not in names or not names[form].key:
                raise NotFound(
                    f"no entity of tenant {self.tenant} is spelled {spelling!r}", hint="see `magma entities list`"
                )
        return [names[form].key for form in forms]

    async def _bind(
        self,
        transaction: Transaction,
        name: Name,
        target: str,
        names: Mapping[str, Name],
        why: Why,
        serial: int,
    ) -> list[NameChange]:
        """Bind a spelling; its target stands for itself from now on, so that no rule leads back."""
        news = {name.form: replace(name, known=replace(name.known, pinned=target))}
        if not names[target].known.pinned:
            news[target] = replace(names[target], known=replace(names[target].known, pinned=HELD))
        return await settle(transaction, self.tenant, news, why, serial)

    async def _free(self, transaction: Transaction, name: Name, target: str, why: Why, serial: int) -> list[NameChange]:
        """Undo a binding; a target that nothing else is bound to is free again too."""
        news = {name.form: replace(name, known=replace(name.known, pinned=""))}
        blocks = await transaction.collected(EntityStatement.BLOCKS_READ, uids=[uid(self.tenant, pinned_to(target))])
        others = {form for _, forms in blocks for form in forms} - {name.form}
        names = await read_names(transaction, self.tenant, [*sorted(others), target], hold=True)
        still = [form for form in others if form in names and names[form].known.bound == target]
        if not still and target in names and names[target].known.pinned == HELD:
            news[target] = replace(names[target], known=replace(names[target].known, pinned=""))
        return await settle(transaction, self.tenant, news, why, serial)


def _change(row: Mapping[str, object]) -> NameChange:
    return NameChange(
        form=str(row["form"]),
        before=str(row["before"]),
        after=str(row["after"]),
        rule=str(row["rule"]),
        origin=Origin(str(row["origin"])),
        confidence=float(str(row["confidence"])),
        at_us=int(str(row["at_us"])),
        moved=int(str(row["moved"])),
        author=str(row["author"]),
        reason=str(row["reason"]),
        proposed=bool(row["proposed"]),
        prompt_version=str(row.get("prompt_version") or ""),
    )
