"""LoCoMo documents: the conversation and nothing but the conversation."""

import io
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.readers import ReadItem
from cli.readers.locomo import parse_session_time, read_locomo
from memory.errors import UnreadableInput
from memory.events import EventKind, decode_event


def turn(dia_id: str, speaker: str, text: str, **more: object) -> dict[str, object]:
    return {"dia_id": dia_id, "speaker": speaker, "text": text, **more}


def sample(name: str = "talk-1", /, **conversation: Any) -> dict[str, Any]:
    default = {
        "speaker_a": "Ines",
        "speaker_b": "Tom",
        "session_10_date_time": "12:05 am on 1 March, 2024",
        "session_10": [turn("D10:1", "Tom", "Back from the fair.")],
        "session_2_date_time": "9:30 pm on 14 February, 2024",
        "session_2": [
            turn("D2:1", "Ines", "Look what I baked!", blip_caption="a loaf of rye bread", img_url=["u"], query="rye"),
            turn("D2:2", "Tom", "Impressive."),
        ],
        "session_11_date_time": "1:00 pm on 2 March, 2024",
    }
    return {
        "sample_id": name,
        "qa": [{"question": "What?", "answer": "SECRET", "evidence": ["D2:1"], "category": 1}],
        "event_summary": {"events_session_2": "SECRET"},
        "observation": {"session_2_observation": "SECRET"},
        "session_summary": {"session_2_summary": "SECRET"},
        "conversation": conversation or default,
    }


def read(document: object, tenant: str | None = None) -> list[ReadItem]:
    return list(read_locomo(io.BytesIO(orjson.dumps(document)), tenant))


def test_each_turn_is_an_event_of_its_session_in_order_of_the_sessions_numbers() -> None:
    events = [item.event for item in read([sample()]) if item.event]
    assert [(e.session, e.sequence, e.id) for e in events] == [
        ("session_2", 1, "D2:1"),
        ("session_2", 2, "D2:2"),
        ("session_10", 1, "D10:1"),
    ]
    first = events[0]
    assert (first.tenant, first.agent, first.speaker, first.kind) == ("talk-1", "Ines", "Ines", EventKind.MESSAGE)
    assert first.occurred_at == events[1].occurred_at == datetime(2024, 2, 14, 21, 30, tzinfo=UTC)
    assert events[2].occurred_at == datetime(2024, 3, 1, 0, 5, tzinfo=UTC)


def test_a_caption_is_part_of_the_text_and_marked() -> None:
    assert read([sample()])[0].event.text == "Look what I baked! [photo: a loaf of rye bread]"  # type: ignore[union-attr]
    alone = sample(
        session_1_date_time="1:00 pm on 2 March, 2024", session_1=[turn("D1:1", "Tom", "", blip_caption="x")]
    )
    assert read(alone)[0].event.text == "[photo: x]"  # type: ignore[union-attr]


def test_questions_and_annotations_are_never_read() -> None:
    with_labels = read([sample()])
    bare = {"sample_id": "talk-1", "conversation": sample()["conversation"]}
    assert [item.raw for item in with_labels] == [item.raw for item in read([bare])]
    assert not any(b"SECRET" in item.raw for item in with_labels)


def test_what_is_produced_is_what_was_validated() -> None:
    assert all(decode_event(item.raw) == item.event for item in read([sample()]))


def test_a_tenant_replaces_the_samples_id() -> None:
    assert {item.event and item.event.tenant for item in read([sample()], tenant="blue")} == {"blue"}
    assert read([sample()], tenant="blue")[0].event.id == "D2:1"  # type: ignore[union-attr]


def test_many_samples_under_one_tenant_keep_their_sessions_apart() -> None:
    events = [item.event for item in read([sample("a"), sample("b")], tenant="blue") if item.event]
    assert len({(e.tenant, e.id) for e in events}) == len(events) == 6
    assert {e.session for e in events} == {"a/session_2", "a/session_10", "b/session_2", "b/session_10"}


def test_one_sample_need_not_stand_in_a_list() -> None:
    assert [item.raw for item in read(sample())] == [item.raw for item in read([sample()])]


@pytest.mark.parametrize(
    ("conversation", "says"),
    [
        ({"session_1": [turn("D1:1", "Tom", "hello")]}, "occurred_at: Field required"),
        ({"session_1_date_time": "yesterday", "session_1": [turn("D1:1", "Tom", "hello")]}, "occurred_at"),
        ({"session_1_date_time": "1:00 pm on 31 June, 2024", "session_1": [turn("D1:1", "Tom", "hi")]}, "occurred_at"),
        ({"session_1_date_time": "1:00 pm on 2 March, 2024", "session_1": [turn("D1:1", "Tom", " ")]}, "text is empty"),
        ({"session_1_date_time": "1:00 pm on 2 March, 2024", "session_1": [{"text": "who?"}]}, "agent: Field required"),
        ({"session_1_date_time": "1:00 pm on 2 March, 2024", "session_1": ["who?"]}, "agent: Field required"),
    ],
)
def test_a_turn_that_lacks_something_is_produced_with_its_reason_and_nothing_is_invented(
    conversation: dict[str, object], says: str
) -> None:
    (item,) = read(sample(**conversation))
    assert item.event is None
    assert item.producible
    assert says in item.problem


@pytest.mark.parametrize("document", [[], {}, [1], {"tenant": "x"}, [{"conversation": []}], "words"])
def test_a_document_that_is_not_locomo_is_refused_with_a_sentence(document: object) -> None:
    with pytest.raises(UnreadableInput, match="not LoCoMo"):
        read(document)


def test_broken_json_is_refused_with_its_place() -> None:
    with pytest.raises(UnreadableInput, match="line 2"):
        list(read_locomo(io.BytesIO(b"[{},\n!]")))


def test_a_sample_without_id_needs_a_tenant() -> None:
    nameless = {"conversation": sample()["conversation"]}
    with pytest.raises(UnreadableInput, match="--tenant"):
        read(nameless)
    assert read(nameless, tenant="blue")[0].event.tenant == "blue"  # type: ignore[union-attr]


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1)))  # noqa: DTZ001
def test_every_minute_written_as_a_session_time_is_read_back(moment: datetime) -> None:
    minute = moment.replace(second=0, microsecond=0, tzinfo=UTC)
    half = "am" if minute.hour < 12 else "pm"
    written = f"{(minute.hour - 1) % 12 + 1}:{minute.minute:02d} {half} on {minute.day} {minute:%B}, {minute.year}"
    assert parse_session_time(written) == minute


@pytest.mark.parametrize("text", ["13:00 pm on 1 May, 2023", "0:10 am on 1 May, 2023", "1:00 pm on 1 Mey, 2023", ""])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a session time"):
        parse_session_time(text)
