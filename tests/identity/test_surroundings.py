"""What a change of some spellings can change: deciding about that alone ends as deciding about everything."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from memory.identity import HELD, Known, Pool, Resolution, Standing, Towards, resolve, surroundings
from memory.relations import EntityType

PERSON = EntityType.PERSON.value
_FORMS = """
mel melanie melissa rob robert bob john johnny smith achebe robert.achebe robert.lund john.smith john.q.smith j.smith
mary.smith melanie.brooks mel.brooks m.brooks js mb alexander alex alexandra alexandra.ruiz alex.ruiz ruiz brooks
johnsmith john.lindqvist john.lindquist lindqvist brooks.ltd brooks.inc
"""
_FORM = st.sampled_from(_FORMS.split()).map(lambda form: form.replace(".", " "))
_KNOWN = st.builds(
    Known,
    _FORM,
    st.sampled_from([PERSON, PERSON, PERSON, "", EntityType.PLACE.value]),
    st.sampled_from(list(Standing)),
    st.one_of(st.just(""), st.just(""), st.just(""), st.just(HELD), _FORM),
)
_SETS = st.lists(_KNOWN, min_size=1, max_size=16, unique_by=lambda known: known.form)


def decided_again(before: Sequence[Known], news: Sequence[Known], gone: Sequence[str]) -> tuple[Pool, set[str]]:
    """Walk as a store does: only what is asked for is shown; gives what was seen, and what is to be decided again."""
    stored = Pool(before)
    pool = Pool([*news, *(stored[form] for form in gone)])
    starts = [*(known.form for known in news), *gone]
    spoke = [form for form in starts if form in stored and stored[form].anchored]
    walk = surroundings(pool, starts, gone=gone, spoke=spoke)
    try:
        while True:
            wanted = next(walk)
            for form in sorted(wanted.forms):
                near = {*stored.back(form)} if wanted.towards is Towards.SHORTER else {*stored.fuller(form)}
                if wanted.towards is Towards.FULLER and pool[form].bound in stored:
                    near.add(pool[form].bound)
                for other in sorted(near - pool.keys()):
                    pool.add(stored[other])
    except StopIteration as end:
        return pool, end.value


@given(_SETS, st.data())
def test_deciding_about_what_can_change_ends_as_deciding_about_everything(
    names: list[Known], data: st.DataObject
) -> None:
    """Some spellings of a set are new, some are known otherwise than before, some are gone."""
    kind = data.draw(st.lists(st.sampled_from("kknog"), min_size=len(names), max_size=len(names)))
    before: list[Known] = []
    news: list[Known] = []
    gone: list[str] = []
    for known, what in zip(names, kind, strict=True):
        if what == "n":
            news.append(known)
            continue
        before.append(known)
        if what == "g":
            gone.append(known.form)
        elif what == "o":
            standing, pinned = data.draw(st.sampled_from(list(Standing))), data.draw(st.sampled_from(["", HELD, "mel"]))
            news.append(replace(known, standing=standing, pinned=pinned))
    after = {known.form: known for known in before} | {known.form: known for known in news}
    everything = resolve(known for form, known in after.items() if form not in gone)
    pool, changing = decided_again(before, news, gone)
    seen = resolve(known for form, known in pool.items() if form not in gone)
    stood = resolve(before)
    merged: dict[str, Resolution] = {form: stood[form] for form in stood if form not in gone}
    assert merged | {form: seen[form] for form in changing} == everything


def test_a_new_name_does_not_look_at_those_that_only_share_a_word_with_it() -> None:
    people = [Known(f"{first} {last}", PERSON) for first in ("ana", "ben", "eva") for last in ("ruiz", "lund", "sato")]
    pool, changing = decided_again(people, [Known("ana weiss", PERSON)], [])
    assert changing == {"ana weiss"}
    assert set(pool) == {"ana weiss"}


def test_a_first_name_alone_looks_at_those_who_have_it_and_no_further() -> None:
    people = [Known(f"{first} {last}", PERSON) for first in ("ana", "ben", "eva") for last in ("ruiz", "lund", "sato")]
    pool, changing = decided_again([*people, Known("lund", PERSON)], [Known("ana", PERSON)], [])
    assert changing == {"ana"}
    assert set(pool) == {"ana", "ana ruiz", "ana lund", "ana sato"}
