"""The loop guard: what the memory answered comes back only as what it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import Poison
from memory.events import AgentEvent, derive_id
from memory.records import Handled
from memory.settings import load_settings
from memory.trust import holds_block
from query_api.blocks import block
from streams.admission import RECALLED_HEADER
from streams.intake import take_in
from streams.prepare import event_node, prepare
from tests.consolidators.memory import node
from tests.redaction.events import record

QUOTED = f"The memory says:\n{block(node('D1:3', 'I went there yesterday.'))}\nSo it was yesterday."


def accept(value: dict[str, object], *headers: tuple[str, bytes]) -> Handled:
    return take_in([record(value, headers=headers)], load_settings())


def refused(value: dict[str, object], *headers: tuple[str, bytes]) -> Poison:
    (rejected,) = accept(value, *headers).rejected
    assert rejected.error.code == "recalled_text"
    return rejected.error


@given(
    text=st.text("abc <>[]:\n", min_size=1, max_size=40).filter(str.strip),
    speaker=st.sampled_from(["Ana", "build bot"]),
    before=st.text("abc <\n", max_size=10),
)
def test_every_block_that_a_context_shows_is_known_again(text: str, speaker: str, before: str) -> None:
    shown = block(node("e1", text, speaker=speaker), superseded_by="e2")
    assert holds_block(f"{before}{shown} and so on")


@pytest.mark.parametrize(
    "text",
    ["<t:2 is a tag", "see <ref:D1:3>", "<t:2026-03-03T08:00Z> only a time", "if a < t: print('<ref:x>')", "<b>t</b>"],
)
def test_other_text_with_angle_brackets_is_news(text: str) -> None:
    assert not accept({"text": text}).rejected


def test_a_context_sent_as_news_is_refused_and_with_its_origins_it_is_kept() -> None:
    error = refused({"text": QUOTED})
    assert "yesterday" not in str(error)
    (out,) = accept({"text": QUOTED, "derived_from": ["D1:3"]}).outgoing
    assert b'"derived_from":["D1:3"]' in (out.value or b"")


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        ({"attributes": {"magma_recalled": True}}, ()),
        ({"attributes": {"magma_recalled": {"question": "?"}}}, ()),
        ({"source": "magma"}, ()),
        ({}, ((RECALLED_HEADER, b"1"),)),
    ],
)
def test_a_record_that_says_it_is_recalled_must_say_from_what(
    value: dict[str, object], headers: tuple[tuple[str, bytes], ...]
) -> None:
    refused(value, *headers)
    assert not accept({**value, "derived_from": ["e1"]}, *headers).rejected


def test_a_mark_that_says_no_is_none() -> None:
    assert not accept({"attributes": {"magma_recalled": False}}, (RECALLED_HEADER, b"0")).rejected


def test_an_origin_is_named_by_its_producers_id_or_as_an_answer_shows_it() -> None:
    shown = derive_id("acme", "chat", "e1")
    event = AgentEvent.model_validate(
        {"tenant": "acme", "agent": "a", "session": "s", "kind": "message", "text": "x", "source": "assistant"}
        | {"occurred_at": "2026-05-08T15:56:00Z", "derived_from": ["e1", shown, "0b8f5a4e-53f8-4c7d-9a50-1d8f0a6f3c11"]}
    )
    stored = event_node(event, "i", arrival=0, ingested_us=0)
    assert stored.derived_from == (
        derive_id("acme", "assistant", "e1"),
        shown,
        derive_id("acme", "assistant", "0b8f5a4e-53f8-4c7d-9a50-1d8f0a6f3c11"),
    )


def test_a_context_marks_what_is_recalled_and_whose_word_counts_less() -> None:
    (out,) = accept({"text": QUOTED, "derived_from": ["D1:3"], "id": "a1"}).outgoing
    stored = prepare([record({"text": "x"}).__class__("memory.events", 0, 1, 1, out.key, out.value, out.headers)])
    assert "[recalled: repeats earlier events] <ref:a1>" in block(stored.nodes[0])
