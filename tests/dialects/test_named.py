"""An erasure finds the dead letters of whom it forgets, whatever language they are in."""

from collections.abc import Mapping

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.records import Record
from memory.settings import load_settings
from streams.dialects.named import named_in
from tests.dialects.agent_run import record, refund

SETTINGS = load_settings()
CLOUD = {"specversion": "1.0", "id": "e1", "source": "svc", "type": "x", "tenant": "acme", "agent": "a"}


def named(one: Record) -> Mapping[str, object]:
    (found,) = named_in(one, SETTINGS, one.topic)
    return found


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        ({**CLOUD, "subject": "s1"}, ()),
        ({**CLOUD, "data": {"session": "s1"}}, (("content-type", b"application/cloudevents+json"),)),
        ([{**CLOUD, "session": "s1"}], (("content-type", b"application/cloudevents-batch+json"),)),
        ({"session": "s1"}, tuple((f"ce_{name}", value.encode()) for name, value in CLOUD.items())),
        ({"tenant": "acme", "session": "s1", "agent": "a", "source": "svc", "id": "e1"}, ()),
    ],
)
def test_events_name_whose_they_are_in_every_mode(value: object, headers: tuple[tuple[str, bytes], ...]) -> None:
    found = named(record(orjson.dumps(value), *headers, topic="agent.events"))
    assert {name: found[name] for name in ("tenant", "session", "agent", "source", "id")} == {
        "tenant": "acme",
        "session": "s1",
        "agent": "a",
        "source": "svc",
        "id": "e1",
    }


def test_every_span_names_whose_it_is() -> None:
    found = named_in(record(refund("acme").proto()), SETTINGS, "agent.otlp")
    assert {one["tenant"] for one in found} == {"acme"}
    assert "case-4711" in {one["session"] for one in found}


@given(
    st.binary(max_size=80),
    st.sampled_from(["agent.otlp", "agent.events"]),
    st.sampled_from([(), (("ce_id", b"\xff"),)]),
)
def test_what_cannot_be_read_names_nobody(value: bytes, topic: str, headers: tuple[tuple[str, bytes], ...]) -> None:
    assert isinstance(named_in(record(value, *headers, topic=topic), SETTINGS, topic), list)
