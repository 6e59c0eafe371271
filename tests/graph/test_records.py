"""Events and their flat properties."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.dates import DateSpan, Precision
from memory.graph.records import event_node, event_row, row_bytes
from tests.graph.build import event

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_WORDS = st.lists(_TEXT, max_size=3).map(tuple)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXT, lambda inner: st.lists(inner, max_size=2)
)
_DATES = st.lists(
    st.builds(DateSpan, _TEXT, st.integers(-(2**60), 2**60), st.integers(-(2**60), 2**60), st.sampled_from(Precision)),
    max_size=2,
).map(tuple)


@given(
    text=_TEXT,
    parents=_WORDS,
    entities=_WORDS,
    mentions=_WORDS,
    derived_from=_WORDS,
    trace=_TEXT,
    dates=_DATES,
    attributes=st.dictionaries(_TEXT, _JSON, max_size=3),
)
def test_an_event_comes_back_as_it_was(**values: Any) -> None:
    node = event("tenant", 1, **values)
    row = event_row(node)
    assert event_node(row) == node
    flat = (str, int, float, bool)
    assert all(isinstance(v, flat) or all(isinstance(item, flat) for item in v) for v in row.values())


@given(st.text(max_size=200))
def test_a_row_is_never_estimated_too_small(text: str) -> None:
    node = event("tenant", 1, text=text, attributes={"said": text}, mentions=(text,))
    row = event_row(node)
    sent = sum(
        len(str(key)) + 4 + (len(value.encode(errors="surrogatepass")) if isinstance(value, str) else 9)
        for key, value in row.items()
        if not isinstance(value, list)
    )
    assert row_bytes(row) >= sent + len(text.encode(errors="surrogatepass")) * ("mentions" in row)


@pytest.mark.parametrize("values", [{"session": "a|b"}, {"sequence": -2}, {"at": 2**63}])
def test_what_no_server_may_store_is_refused_before_it_is_sent(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        event_row(event("tenant", 1, **values))
