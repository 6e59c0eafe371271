"""The labelled sets that come with the project hold together, and reading them refuses what does not."""

import shutil
from pathlib import Path

import orjson
import pytest

from bench.consolidate_sets import DATA, LabelledSet, Split, closure, read_set
from memory.errors import UnreadableInput
from memory.names import normal_form

_LEAST = {Split.DEV: (100, 120), Split.HELD: (150, 200)}


@pytest.fixture(scope="module", params=list(Split))
def split(request: pytest.FixtureRequest) -> Split:
    return Split(request.param)


@pytest.fixture(scope="module")
def labelled(split: Split) -> LabelledSet:
    return read_set(DATA, split)


def test_each_half_is_large_enough_to_measure_on(split: Split, labelled: LabelledSet) -> None:
    pairs, mentions = _LEAST[split]
    assert sum(len(document.causal) for document in labelled.documents) >= pairs
    assert sum(len(document.mentions) for document in labelled.documents) >= mentions
    assert sum(len(document.dates) for document in labelled.documents) >= 15


def test_ids_are_unique_and_every_event_belongs_to_a_document(split: Split, labelled: LabelledSet) -> None:
    lines = (DATA / f"{split}.events.jsonl").read_bytes().splitlines()
    events = [event for some in labelled.events.values() for event in some]
    assert len(events) == len(lines)
    assert len({event.id for event in events}) == len(events)
    assert all(not event.parent and not event.caused_by for event in events)


def test_causes_stand_before_their_effects_and_make_no_cycle(labelled: LabelledSet) -> None:
    for document in labelled.documents:
        order = {event.id: (event.occurred_at, event.sequence) for event in labelled.events[document.id]}
        for cause, effect in document.causes:
            assert order[cause] < order[effect], (cause, effect)
        assert not any(cause == effect for cause, effect in closure(document.causes))


def test_no_pair_is_labelled_twice_or_against_another_label(labelled: LabelledSet) -> None:
    for document in labelled.documents:
        assert len(document.pairs) == len(set(document.pairs)), document.id
        assert not document.non_causes & closure(document.causes), document.id
        assert all((label.kind is None) == (not label.causal) for label in document.causal)
        assert document.closed


def test_one_surface_of_an_event_means_one_thing(labelled: LabelledSet) -> None:
    for document in labelled.documents:
        places = [(mention.event, mention.surface) for mention in document.mentions]
        assert len(places) == len(set(places)), document.id
        assert all(normal_form(mention.surface) for mention in document.mentions)


def test_dates_are_intervals_in_the_offset_of_their_event(labelled: LabelledSet) -> None:
    for document in labelled.documents:
        offsets = {event.id: event.occurred_at.utcoffset() for event in labelled.events[document.id]}
        for date in document.dates:
            assert date.start < date.end
            assert date.start.utcoffset() == offsets[date.event]


def test_the_halves_share_no_document_domain_or_text() -> None:
    dev, held = read_set(DATA, Split.DEV), read_set(DATA, Split.HELD)
    for word in ("id", "domain"):
        assert not {getattr(one, word) for one in dev.documents} & {getattr(one, word) for one in held.documents}
    texts = [{event.text for some in half.events.values() for event in some} for half in (dev, held)]
    assert not texts[0] & texts[1]
    entities = [{mention.entity for one in half.documents for mention in one.mentions} for half in (dev, held)]
    assert not entities[0] & entities[1]


def test_the_readme_counts_what_the_files_hold(split: Split, labelled: LabelledSet) -> None:
    documents = labelled.documents
    counts = (
        len(documents),
        sum(len(events) for events in labelled.events.values()),
        sum(len(document.causes) for document in documents),
        sum(len(document.non_causes) for document in documents),
        sum(len(document.mentions) for document in documents),
        sum(len(document.dates) for document in documents),
    )
    row = f"| `{split}` | {' | '.join(map(str, counts))} |"
    assert row in (DATA / "README.md").read_text()


def test_closure_goes_from_cause_to_cause_and_ends_in_a_cycle() -> None:
    assert closure(frozenset({("a", "b"), ("b", "c")})) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert ("a", "a") in closure(frozenset({("a", "b"), ("b", "a")}))


@pytest.mark.parametrize(
    ("field", "label", "told"),
    [
        ("mentions", {"event": "paygate-night-01", "surface": "Cork", "entity": "cork"}, "does not say 'Cork'"),
        ("mentions", {"event": "paygate-night-99", "surface": "Cork", "entity": "cork"}, "no event paygate-night-99"),
        ("disputable", {"cause": "nowhere", "effect": "paygate-night-01", "note": ""}, "no event nowhere"),
        ("causal", {"cause": "paygate-night-01"}, "Field required"),
    ],
)
def test_labels_that_name_what_is_not_there_are_refused(
    tmp_path: Path, field: str, label: dict[str, str], told: str
) -> None:
    for name in ("dev.events.jsonl", "dev.labels.json"):
        shutil.copy(DATA / name, tmp_path)
    path = tmp_path / "dev.labels.json"
    documents = orjson.loads(path.read_bytes())
    documents[0][field].append(label)
    path.write_bytes(orjson.dumps(documents))
    with pytest.raises(UnreadableInput, match=told):
        read_set(tmp_path, Split.DEV)


def test_a_folder_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"dev\.labels\.json"):
        read_set(tmp_path, Split.DEV)
