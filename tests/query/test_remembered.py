"""What is remembered is bounded by number and weight, and what is erased is let go of."""

from hypothesis import given
from hypothesis import strategies as st

from query_api.remembered import Bounded


def test_the_least_recently_used_gives_way() -> None:
    held: Bounded[str] = Bounded(2, 100, len)
    held.put(("t", "a"), "a")
    held.put(("t", "b"), "b")
    assert held.get(("t", "a")) == "a"
    held.put(("t", "c"), "c")
    assert held.get(("t", "b")) is None
    assert held.get(("t", "a")) == "a"


def test_a_tenant_is_dropped_and_others_stay() -> None:
    held: Bounded[str] = Bounded(10, 100, len)
    held.put(("t", "a"), "a")
    held.put(("u", "a"), "b")
    held.drop_tenant("t")
    assert held.get(("t", "a")) is None
    assert held.get(("u", "a")) == "b"


@given(st.lists(st.tuples(st.integers(0, 8), st.text(max_size=20)), max_size=60))
def test_it_never_holds_more_than_its_bounds(puts: list[tuple[int, str]]) -> None:
    held: Bounded[str] = Bounded(5, 40, len)
    for number, text in puts:
        held.put(("t", str(number)), text)
        kept = [value for key in range(9) if (value := held.get(("t", str(key)))) is not None]
        assert len(kept) == len(held) <= 5
        assert sum(map(len, kept)) <= 40
        assert held.get(("t", str(number))) == text
