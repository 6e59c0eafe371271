"""Hostile names: they come back as they went in, and open no door to another tenant. Against the real server."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import MalformedEvent
from memory.settings import Settings
from memory.vectors import VectorReader, Vectors
from memory.vectors.expression import Where, expression, literal
from tests.vectors.build import DIM, MODEL, row, vector

#: What closes a literal, joins conditions or means something to a template, besides any text at all.
_HOSTILE = st.sampled_from(
    [
        '"', "'", "\\", '\\"', "\\\\", '" or tenant != "', '"] or id in ["', "{tenant}", "%", "_", "\n", "\r\n", "\t",
        "\\n", "\\u0041", "' or ''=='", " and ", "true", "null", "\u2028", "\x85", "é", "e\u0301", "😀", "שלום",
        "$meta",
    ]
)  # fmt: skip
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12)
NAMES = st.lists(st.one_of(_HOSTILE, _TEXT), min_size=1, max_size=4).map("".join).filter(lambda name: len(name) <= 256)


@pytest.mark.stack
def test_a_tenant_finds_its_own_by_any_name_and_never_anothers(settings: Settings) -> None:
    with asyncio.Runner() as runner:
        opening = Vectors.open(settings, model=MODEL, dim=DIM)
        vectors = runner.run(opening.__aenter__())
        try:
            _check_isolation(runner, vectors)
        finally:
            runner.run(opening.__aexit__(None, None, None))


def _check_isolation(runner: asyncio.Runner, vectors: Vectors) -> None:
    names_seen: list[str] = []

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(tenant=NAMES, name=NAMES)
    def check(tenant: str, name: str) -> None:
        other = tenant + "\\"
        ours, theirs = f"{len(names_seen)}", f"{len(names_seen)}-other"
        names_seen.append(name)
        runner.run(_write_and_find(vectors, (tenant, ours), (other, theirs), name))

    check()
    assert names_seen


async def _write_and_find(vectors: Vectors, ours: tuple[str, str], theirs: tuple[str, str], name: str) -> None:
    common = {"session": name, "agent": name, "entities": (name,), "keywords": "deploy"}
    await vectors.upsert([row(tenant, ident, **common) for tenant, ident in (ours, theirs)])
    for (tenant, ident), (_, foreign) in ((ours, theirs), (theirs, ours)):
        reader = vectors.reader(tenant)
        found = await _everything(reader, name)
        assert all(ident in ids for ids in found)
        assert not any(foreign in ids for ids in found)
        assert set(await reader.vectors([ident, foreign])) == {ident}
        await vectors.writer(tenant).delete([foreign])
    for tenant, ident in (ours, theirs):
        await vectors.writer(tenant).delete_session(name)
        assert ident not in await vectors.reader(tenant).vectors([ident])


async def _everything(reader: VectorReader, name: str) -> list[set[str]]:
    searches = [
        await reader.nearest(vector(1), 1_000),
        await reader.nearest(vector(1), 1_000, session=name),
        await reader.nearest(vector(1), 1_000, agent=name, entities=[name, '"', "]"]),
        await reader.keywords("deploy", 1_000, session=name, entities=[name]),
    ]
    return [{hit.id for hit in hits} for hits in searches]


@given(NAMES)
def test_a_literal_has_no_unescaped_end(name: str) -> None:
    body = literal(name)[1:-1]
    position = 0
    while position < len(body):
        assert body[position] not in '"\n\r\t'
        if body[position] == "\\":
            assert body[position + 1] in '\\"nrt'
            position += 1
        position += 1
    assert position == len(body)


@given(NAMES, NAMES)
def test_the_tenant_is_the_first_condition_of_every_filter(tenant: str, name: str) -> None:
    written = expression(tenant, Where(session=name, agent=name, start_us=1, end_us=2, entities=(name,), ids=(name,)))
    assert written.startswith(f"tenant == {literal(tenant)} and ")
    assert expression(tenant, Where()) == f"tenant == {literal(tenant)}"


def test_a_lone_surrogate_is_refused_before_the_wire() -> None:
    with pytest.raises(MalformedEvent, match="surrogate"):
        literal("a\ud800")
