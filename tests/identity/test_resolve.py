"""From a set of spellings to entities: never a guess, and a function of the set alone."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.identity import Known, Pool, Standing, resolve
from memory.relations import EntityType

PERSON = EntityType.PERSON.value
SAID = Standing.SURE
SPEAKS = Standing.ANCHORED
DOUBTFUL = Standing.DOUBTFUL


def person(form: str, standing: Standing = SAID, pinned: str = "") -> Known:
    return Known(form, PERSON, standing, pinned)


def keys(*names: Known) -> dict[str, str]:
    return {form: found.key for form, found in resolve(names).items()}


def test_a_short_name_joins_the_one_person_that_it_can_mean() -> None:
    assert keys(person("mel"), person("melanie", SPEAKS)) == {"mel": "melanie", "melanie": "melanie"}
    assert keys(person("robert"), person("rob"), person("robert achebe"))["rob"] == "robert achebe"


def test_a_second_person_who_fits_sets_the_short_name_apart_again() -> None:
    assert keys(person("mel"), person("melanie"), person("melissa"))["mel"] == "mel"
    assert keys(person("bob"), person("robert achebe"), person("robert lund"))["bob"] == "bob"


def test_two_who_speak_are_two_however_they_are_called() -> None:
    found = keys(person("mel", SPEAKS), person("melanie", SPEAKS), person("melanie brooks", SPEAKS))
    assert found == {"mel": "mel", "melanie": "melanie", "melanie brooks": "melanie brooks"}


def test_a_full_name_joins_the_one_speaker_who_is_called_so() -> None:
    found = keys(person("eleni", SPEAKS), person("eleni kontou"), person("e kontou"), person("kontou"))
    assert set(found.values()) == {"eleni"}


def test_a_speaker_who_may_be_two_people_is_neither() -> None:
    found = keys(person("robert", SPEAKS), person("robert achebe"), person("robert lund"))
    assert len(set(found.values())) == 3


def test_two_speakers_never_share_a_full_name() -> None:
    found = keys(person("rob", SPEAKS), person("robert", SPEAKS), person("robert achebe"))
    assert found == {"rob": "rob", "robert": "robert", "robert achebe": "robert"}  # called so exactly
    found = keys(person("rob", SPEAKS), person("bob", SPEAKS), person("robert achebe"))
    assert len(set(found.values())) == 3


def test_one_letter_makes_two_services_and_one_person() -> None:
    services = Known("payments service", EntityType.SERVICE.value), Known("payment service", EntityType.SERVICE.value)
    assert len(set(keys(*services).values())) == 2
    assert len(set(keys(person("tomas lindqvist"), person("tomas lindquist")).values())) == 1


def test_an_opener_of_a_sentence_is_a_name_when_it_is_somebodys_first_name_and_nothing_otherwise() -> None:
    opener = Known("imani", "", DOUBTFUL)
    assert keys(opener, person("imani brandt", SPEAKS))["imani"] == "imani brandt"
    assert keys(opener)["imani"] == ""
    assert keys(Known("mel", "", DOUBTFUL), person("melanie", SPEAKS))["mel"] == ""


def test_what_is_no_person_is_called_by_its_last_word_and_by_no_first_name() -> None:
    vale, place = Known("vale", EntityType.OTHER.value), Known("ashen vale", EntityType.PLACE.value)
    assert keys(vale, place)["vale"] == "ashen vale"
    york, new_york = Known("york", EntityType.PLACE.value), Known("new york", EntityType.PLACE.value)
    assert keys(york, new_york)["york"] == "york"
    assert keys(Known("deploy", ""), Known("deploy agent", EntityType.AGENT.value, SPEAKS))["deploy"] == "deploy"
    assert keys(Known("jordan", EntityType.PLACE.value), person("jordan ames"))["jordan"] == "jordan"


def test_a_pinned_spelling_goes_where_its_target_goes_and_one_kept_apart_stays() -> None:
    found = keys(person("caro"), person("caroline", SPEAKS, pinned="caroline ames"), person("caroline ames"))
    assert set(found.values()) == {"caroline ames"}
    assert keys(person("mel", pinned="mel"), person("melanie"))["mel"] == "mel"


_FORMS = """
mel melanie melissa rob robert bob john johnny smith achebe robert.achebe robert.lund john.smith john.q.smith j.smith
mary.smith melanie.brooks js alexander alex alexandra alexandra.ruiz
"""
_KNOWN = st.builds(
    Known,
    st.sampled_from(_FORMS.split()).map(lambda form: form.replace(".", " ")),
    st.sampled_from([PERSON, PERSON, "", EntityType.PLACE.value]),
    st.sampled_from(list(Standing)),
    st.just(""),
)
_SETS = st.lists(_KNOWN, max_size=9, unique_by=lambda known: known.form)


@given(_SETS, st.randoms(use_true_random=False))
def test_the_order_of_the_set_does_not_count(names: list[Known], random: object) -> None:
    shuffled = list(names)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert resolve(names) == resolve(shuffled)


@given(_SETS)
def test_what_does_not_touch_a_spelling_does_not_change_it(names: list[Known]) -> None:
    pool = Pool(names)
    everything = resolve(names)
    for start in pool:
        members, frontier = {start}, [start]
        while frontier:
            near = set(pool.touching(frontier.pop())) - members
            members |= near
            frontier += sorted(near)
        alone = resolve([pool[form] for form in sorted(members)])
        assert {form: everything[form] for form in members} == alone


@given(_SETS)
def test_a_key_stands_for_itself_and_speakers_stay_apart(names: list[Known]) -> None:
    found = resolve(names)
    for known in names:
        key = found[known.form].key
        if key:
            assert found[key].key == key
        elif known.sure:
            pytest.fail("a sure name stands for something")
        if known.anchored:
            assert key == known.form


def test_every_order_of_a_small_set_ends_the_same() -> None:
    names = [person("mel"), person("melanie", SPEAKS), person("melanie brooks"), Known("brooks", "", DOUBTFUL)]
    assert len({tuple(sorted(keys(*order).items())) for order in permutations(names)}) == 1
