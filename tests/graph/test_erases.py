"""Nothing of an erased tenant is left because a label was forgotten."""

from memory.graph.erases import SWEPT, Sweep, SweepEnd


def test_every_label_that_may_hang_on_no_event_is_swept() -> None:
    names = {label.name for label in SWEPT}
    assert {one.name for one in Sweep} == {one.name for one in SweepEnd} == names
    for label in SWEPT:
        for statement in (Sweep[label.name], SweepEnd[label.name]):
            assert f":{label.value})" in statement.value
