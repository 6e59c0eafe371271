"""Every topic of the pipeline, read by whoever reads it: what is no record of its kind is told so, and breaks nothing.

A stage takes a value apart before it asks a store. So what is decoded here is all that can reach one, and what a
decoder raises is what `streams.delivery` makes a dead letter of; anything else would end the worker.
"""

import json
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.erasure import Erasure, Scope, decode_erasure
from memory.errors import Poison
from memory.records import Outgoing, Record, decode_ingested, event_key
from memory.settings import Settings
from streams.admin import ensure_topics
from streams.dlq import letters
from streams.letters import ErrorHeader, one_line, split_headers
from streams.prepare import prepare
from streams.publisher import Publisher
from streams.topics import Topic
from tests.erasure.test_erasing import a_letter
from tests.security.hostile import BODIES, half, nasty, tries, values
from tests.security.test_hostile_events import EVENT, raw_json

Decoded = TypeVar("Decoded")
STORED = "5f9a3c1e-8f3b-5d64-9a43-0c6d1f2b7e10"
INGESTED: dict[str, Any] = {"tenant": "ours", "session": "s", "ids": [STORED], "stages": ["entities"]}
ORDER: dict[str, Any] = json.loads(Erasure.of(Scope(tenant="ours", session="s"), 1).encode())
#: Bytes that are JSON of some kind, or none, and records with hostile fields in the place of good ones.
junk = st.one_of(st.none(), st.binary(max_size=200), st.sampled_from(BODIES), values.map(raw_json))


def changed(whole: dict[str, Any]) -> st.SearchStrategy[bytes]:
    """Give a value of a topic with some of its fields changed."""
    fields = st.one_of(st.sampled_from(list(whole)), half)
    return st.dictionaries(fields, st.one_of(half, values), max_size=4).map(lambda new: raw_json({**whole, **new}))


def taken(decode: Callable[[bytes | None], Decoded], value: bytes | None) -> Decoded | None:
    """Decode; None for what is poison, which tells so on one line."""
    try:
        return decode(value)
    except Poison as error:
        told = error.message
    assert one_line(told) == told
    return None


@tries(200)
@given(st.one_of(junk, changed(INGESTED)))
def test_what_is_no_value_of_memory_ingested_is_poison(value: bytes | None) -> None:
    work = taken(decode_ingested, value)
    if work is not None:
        assert "|" not in work.tenant + work.session
        assert decode_ingested(work.encode()) == work


@tries(200)
@given(
    st.one_of(
        junk,
        changed(ORDER),
        changed(ORDER["scope"]).map(lambda scope: raw_json({**ORDER, "scope": json.loads(scope)})),
    )
)
def test_what_is_no_order_is_poison_and_an_order_names_one_thing_of_one_tenant(value: bytes | None) -> None:
    order = taken(decode_erasure, value)
    if order is not None:
        scope = order.scope
        assert sum(part is not None for part in (scope.session, scope.agent, scope.event)) <= 1
        assert "|" not in scope.tenant
        assert decode_erasure(order.encode()) == order


@tries(300)
@given(
    value=st.one_of(junk, changed(EVENT)),
    key=st.one_of(st.none(), st.binary(max_size=60), st.just(event_key("theirs", "s", STORED))),
    headers=st.lists(
        st.tuples(
            st.sampled_from(["magma-id", "magma-accepted-us", "magma-trust", "traceparent", "x"]),
            st.binary(max_size=40),
        ),
        max_size=4,
    ),
)
def test_ingest_stores_what_the_value_says_or_letters_it(
    value: bytes | None, key: bytes | None, headers: list[tuple[str, bytes]]
) -> None:
    record = Record("memory.events", 0, 1, 1_700_000_000_000, key, value, tuple(headers))
    done = prepare([record])
    assert len(done.nodes) + len(done.rejected) <= 1  # a tombstone is neither
    assert value is None or done.nodes or done.rejected
    for node in done.nodes:
        assert value is not None
        assert node.tenant == json.loads(value)["tenant"]
        assert node.uid.startswith(f"{node.tenant}|")
    for refused in done.rejected:
        assert one_line(refused.error.message)


@tries(200)
@given(
    st.lists(st.tuples(st.one_of(st.sampled_from([name.value for name in ErrorHeader]), nasty), st.binary(max_size=40)))
)
def test_headers_that_are_no_letter_are_none(headers: list[tuple[str, bytes]]) -> None:
    parted = split_headers(tuple(headers))
    if parted is not None:
        assert set(parted[1]) == set(ErrorHeader)


@pytest.mark.stack
async def test_a_topic_of_letters_full_of_junk_is_listed(settings: Settings) -> None:
    await ensure_topics(settings)
    name = Topic.AGENT_EVENTS.dead_letters_in(settings)
    good = a_letter(f"letter {uuid4()}".encode(), 7)
    broken = [
        Outgoing(good.key, good.value, tuple((header, b"\xff\x00\r\n" + value) for header, value in good.headers)),
        Outgoing(b"\xff", None, (("magma-letter", b"\xff/../0"),)),
        Outgoing(None, b"", good.headers[:-1]),
    ]
    async with Publisher.open(settings) as publisher:
        await publisher.publish_to(name, [(0, one) for one in (*broken, good)])
    found = await letters(settings, [Topic.AGENT_EVENTS])
    assert good.value in {letter.record.value for letter in found}
    for letter in found:
        assert letter.at.tzinfo is not None
        assert letter.place
