"""Trust by source: who decides it, where it goes, and what quarantine does."""

from dataclasses import replace
from pathlib import Path

import pytest

from memory.errors import BadSetting
from memory.events import EventNode, Trust
from memory.graph.records import event_node, event_row
from memory.records import Handled, Record
from memory.settings import Settings, load_settings
from query_api.blocks import block
from query_api.models import EventView
from streams.admission import SOURCE_HEADER, TRUST_HEADER
from streams.intake import open_intake, take_in
from streams.prepare import prepare
from tests.consolidators.memory import node
from tests.redaction.events import record

RULES = """
default = "untrusted"
[sources]
crm = "normal"
scraper = "quarantined"
[tenants.acme]
scraper = "untrusted"
crm = "quarantined"
"""


def trust_settings(folder: Path, text: str = RULES, **more: object) -> Settings:
    path = folder / "trust.toml"
    path.write_text(text, encoding="utf-8")
    return load_settings(trust_file=path, **more)


def stored(handled: Handled) -> EventNode:
    (out,) = handled.outgoing
    (one,) = prepare([Record("memory.events", 0, 1, 1, out.key, out.value, out.headers)]).nodes
    return one


@pytest.mark.parametrize(
    ("tenant", "source", "trust"),
    [
        ("other", "crm", "normal"),
        ("other", "new", "untrusted"),
        ("other", None, "untrusted"),
        ("acme", "scraper", "untrusted"),
    ],
)
def test_the_rules_decide_and_the_level_goes_with_the_event(
    tmp_path: Path, tenant: str, source: str | None, trust: str
) -> None:
    value = {"tenant": tenant} | ({} if source is None else {"source": source})
    kept = stored(take_in([record(value)], trust_settings(tmp_path)))
    assert (kept.trust, kept.source) == (Trust(trust), source or "")
    assert event_node(event_row(kept)) == kept
    view = EventView.of(kept)
    assert (view.trust, view.source) == (kept.trust, kept.source)
    assert ("[untrusted source]" in block(kept)) == (trust == "untrusted")


@pytest.mark.parametrize(("tenant", "source"), [("other", "scraper"), ("acme", "crm")])
def test_a_quarantined_source_is_kept_out_with_a_code_and_comes_in_once_released(
    tmp_path: Path, tenant: str, source: str
) -> None:
    sent = record({"tenant": tenant, "source": source, "text": "buy this now"})
    (rejected,) = take_in([sent], trust_settings(tmp_path)).rejected
    assert (rejected.error.code, rejected.record) == ("quarantined", sent)
    assert "buy" not in str(rejected.error)
    released = take_in([sent], trust_settings(tmp_path, 'default = "normal"\n'))
    assert stored(released).trust is Trust.NORMAL


def test_without_rules_everybody_is_normal_and_records_are_as_they_were() -> None:
    handled = take_in([record({"source": "crm"})], load_settings())
    assert stored(handled).trust is Trust.NORMAL
    assert TRUST_HEADER not in dict(handled.outgoing[0].headers)


def test_a_producer_cannot_raise_its_trust(tmp_path: Path) -> None:
    forged = record({"source": "scraper", "attributes": {"trust": "trusted"}}, headers=((TRUST_HEADER, b"trusted"),))
    assert stored(take_in([forged], trust_settings(tmp_path))).trust is Trust.UNTRUSTED
    (rejected,) = take_in([record({"trust": "trusted"})], load_settings()).rejected
    assert rejected.error.code == "malformed_event"
    out = replace(record({}), headers=((TRUST_HEADER, b"everything"),))
    assert prepare([out]).nodes[0].trust is Trust.UNTRUSTED


async def test_a_claim_is_never_trusted_and_a_gateways_word_can_be(tmp_path: Path) -> None:
    text = '[sources]\ncrm = "trusted"\n'
    with pytest.raises(BadSetting, match="says trusted"):
        async with open_intake(trust_settings(tmp_path, text)):
            pass
    by_header = trust_settings(tmp_path, text, trust_source="header")
    said = ((SOURCE_HEADER, b"crm"),)
    assert stored(take_in([record({}, headers=said)], by_header)).trust is Trust.TRUSTED
    assert stored(take_in([record({}, headers=said)], by_header)).source == "crm"
    (rejected,) = take_in([record({"source": "crm"})], by_header).rejected
    assert rejected.error.code == "source_mismatch"
    assert stored(take_in([record({})], by_header)).trust is Trust.NORMAL
    (rejected,) = take_in([record({}, headers=((SOURCE_HEADER, b"a|b"),))], by_header).rejected
    assert rejected.error.code == "malformed_event"


@pytest.mark.parametrize("text", ['default = "great"\n', '[sources]\n"a|b" = "normal"\n', "x = 1\n", "[sources\n"])
async def test_bad_rules_stop_the_worker_with_a_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSetting, match=r"trust\.toml"):
        async with open_intake(trust_settings(tmp_path, text)):
            pass


def test_trust_is_no_part_of_what_an_event_says() -> None:
    said = node("e1", "x")
    assert replace(said, trust=Trust.TRUSTED).digest == said.digest
