"""Policies: by tenant and kind of data, from a file that is checked; what is refused, linked, and always the same."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import BadSetting
from memory.events import MAX_TEXT_BYTES
from memory.redaction import Policy
from streams.admission import Admission
from streams.identity import ID_HEADER
from streams.intake import open_intake
from tests.redaction.events import accept, rules, settings_for, taken

MAIL, CARD, OTHER = "jo@example.com", "4111 1111 1111 1111", "5500 0055 5555 5559"


def test_nothing_is_touched_and_nothing_is_loaded_unless_somebody_asks() -> None:
    off = settings_for("off")
    assert Admission.of(off).redactor is None
    assert taken(off, text=f"{MAIL} {CARD}")["text"] == f"{MAIL} {CARD}"


def test_a_mark_says_the_kind_and_leaves_the_rest() -> None:
    text = f"Ask {MAIL} or +49 30 901820, paid by {CARD}, token=abcd1234"
    assert taken(settings_for("mask"), text=text)["text"] == "Ask [mail] or [phone], paid by [card], token=[secret]"


def test_a_file_gives_modes_by_kind_and_by_tenant(tmp_path: Path) -> None:
    path = rules(tmp_path, '[default]\nmail = "off"\n[tenants.acme]\ncard = "off"\n[tenants]\nquiet = "off"\n')
    policy = settings_for("mask", redaction_file=path)
    said = f"{MAIL} {CARD} password=hunter2"
    assert taken(policy, text=said)["text"] == f"{MAIL} {CARD} password=[secret]"
    assert taken(policy, text=said, tenant="other")["text"] == f"{MAIL} [card] password=[secret]"
    assert taken(policy, text=said, tenant="quiet")["text"] == said


def test_a_file_that_only_names_one_tenant_leaves_the_others_alone(tmp_path: Path) -> None:
    policy = settings_for("off", redaction_file=rules(tmp_path, '[tenants.acme]\ncard = "mask"\n'))
    assert taken(policy, text=CARD)["text"] == "[card]"
    assert taken(policy, text=CARD, tenant="other")["text"] == CARD


def test_numbers_without_a_country_code_belong_to_the_regions_of_the_file(tmp_path: Path) -> None:
    policy = settings_for("mask", redaction_file=rules(tmp_path, 'phone_regions = ["GB"]\n'))
    assert taken(policy, text="call 020 8366 1177 or 415-555-2671")["text"] == "call [phone] or 415-555-2671"
    assert taken(settings_for("mask"), text="call (415) 555-2671")["text"] == "call [phone]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[default]\nmails = "mask"\n', "default"),
        ('[tenants.acme]\nmail = "blur"\n', "tenants.acme"),
        ('tenant = "mask"\n', "tenant"),
        ('phone_regions = ["XX"]\n', "no numbering plan for XX"),
        ("[default\n", "not TOML"),
        ('[tenants]\n"a|b" = "mask"\n', "tenants"),
    ],
)
async def test_a_bad_file_stops_the_worker_with_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = rules(tmp_path, text)
    with pytest.raises(BadSetting, match=said):
        async with open_intake(settings_for("off", redaction_file=path)):
            pass
    with pytest.raises(BadSetting, match="cannot be read"):
        Policy.of(settings_for("off", redaction_file=tmp_path / "none.toml"))


def test_hash_needs_a_key_that_cannot_be_guessed(tmp_path: Path) -> None:
    path = rules(tmp_path, '[tenants.acme]\nmail = "hash"\n')
    for key, said in (("", "is not set"), ("short", "shorter than 16 bytes")):
        with pytest.raises(BadSetting, match=said):
            Policy.of(settings_for("hash", redaction_key=key))
        with pytest.raises(BadSetting, match=said):
            Policy.of(settings_for("mask", redaction_key=key, redaction_file=path))
        assert not Policy.of(settings_for("mask", redaction_key=key)).off


def test_equal_values_stay_linkable_inside_a_tenant_and_nowhere_else() -> None:
    policy = settings_for("hash")
    mine = taken(policy, text=f"a {MAIL} b {MAIL.upper()} c {CARD} d {CARD.replace(' ', '-')} e {OTHER}")[
        "text"
    ].split()
    assert mine[1] == mine[3] != mine[5] == mine[7] != mine[9]
    assert taken(policy, text=MAIL)["text"] == mine[1]
    assert taken(policy, text=MAIL, tenant="other")["text"] != mine[1]
    assert taken(settings_for("hash", redaction_key="another key, long enough"), text=MAIL)["text"] != mine[1]


def test_what_is_refused_is_a_dead_letter_that_says_the_kind_and_the_field_and_not_the_value(tmp_path: Path) -> None:
    path = rules(tmp_path, '[default]\ncard = "refuse"\nsecret = "mask"\n')
    handled = accept(
        settings_for("off", redaction_file=path),
        {"text": f"paid by {CARD} with password=hunter2", "attributes": {CARD: "x"}},
        {"text": f"mail {MAIL}"},
    )
    (rejected,) = handled.rejected
    assert len(handled.outgoing) == 1
    assert rejected.error.code == "sensitive_data"
    assert "card in text, attributes" in str(rejected.error)
    shown = str(rejected.error) + repr(rejected.error) + str(rejected.error.__cause__)
    assert "4111" not in shown
    assert "hunter2" not in shown


def test_an_event_that_its_marks_make_too_large_is_refused_at_the_door() -> None:
    text = f"{MAIL} " * (MAX_TEXT_BYTES // 15)
    (rejected,) = accept(settings_for("hash"), {"text": text}).rejected
    assert rejected.error.code == "oversize_event"
    assert MAIL not in str(rejected.error)


@settings(deadline=None, max_examples=40)
@given(
    id_=st.sampled_from([{}, {"sequence": 3}, {"id": "e1"}]),
    mode=st.sampled_from(["mask", "hash"]),
    text=st.sampled_from([f"a {MAIL}", f"{CARD} {OTHER}", "nothing"]),
)
def test_every_delivery_gives_the_same_bytes_and_the_id_does_not_depend_on_the_key(
    id_: dict[str, object], mode: str, text: str
) -> None:
    value = {"text": text, "attributes": {"to": [MAIL]}, **id_}
    first, again = accept(settings_for(mode), value).outgoing, accept(settings_for(mode), value).outgoing
    assert first == again
    rotated = accept(settings_for("hash", redaction_key="another key, long enough"), value).outgoing
    assert dict(rotated[0].headers)[ID_HEADER] == dict(first[0].headers)[ID_HEADER]


def test_ids_and_the_names_of_agents_and_sessions_are_left_alone() -> None:
    given_ = {"id": MAIL, "session": MAIL, "agent": MAIL, "source": MAIL, "caused_by": [MAIL], "trace": "t"}
    out = taken(settings_for("mask"), **given_)
    assert {name: out[name] for name in given_} == given_


def test_two_names_with_one_mark_stay_two_and_one_entity_twice_is_one() -> None:
    out = taken(settings_for("mask"), attributes={MAIL: 1, "x@example.com": 2}, entities=[MAIL, "x@example.com", "gw"])
    assert out["attributes"] == {"[mail]": 1, "[mail] 2": 2}
    assert out["entities"] == ["[mail]", "gw"]
