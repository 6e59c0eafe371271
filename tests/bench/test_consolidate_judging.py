"""How causes, entities and dates are held against labels: pure, on memories made up here."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.consolidate_causal import CausalJudge, Found, Reach, Verdict, causal_table, reachable
from bench.consolidate_dates import dates_table, is_right
from bench.consolidate_entities import b_cubed, entities_table, match
from bench.consolidate_intervals import harmonic, interval, share
from bench.consolidate_memory import Consolidated, MadeCause, MadeMention
from bench.consolidate_sets import CausalLabel, DateLabel, DisputableLabel, Document, MentionLabel
from memory.dates import DateSpan, Precision
from memory.events import to_us
from memory.relations import CausalKind, Origin


def pair(cause: str, effect: str, *, causal: bool = True) -> CausalLabel:
    kind = CausalKind.LEADS_TO if causal else None
    return CausalLabel(cause=cause, effect=effect, causal=causal, kind=kind, note="")


def document(
    *,
    closed: bool = True,
    causal: tuple[CausalLabel, ...] = (),
    disputable: tuple[tuple[str, str], ...] = (),
    mentions: tuple[tuple[str, str, str], ...] = (),
    dates: tuple[DateLabel, ...] = (),
) -> Document:
    return Document(
        id="doc",
        domain="anything",
        closed=closed,
        causal=causal,
        disputable=tuple(DisputableLabel(cause=cause, effect=effect, note="") for cause, effect in disputable),
        mentions=tuple(MentionLabel(event=event, surface=surface, entity=thing) for event, surface, thing in mentions),
        dates=dates,
    )


def edge(cause: str, effect: str, origin: Origin = Origin.RULE, rule: str = "cue") -> MadeCause:
    return MadeCause(cause, effect, origin, rule)


def memory(
    *causes: MadeCause, mentions: tuple[MadeMention, ...] = (), dates: dict[str, tuple[DateSpan, ...]] | None = None
) -> Consolidated:
    return Consolidated(("a", "b", "c", "d", "x"), causes, mentions, dates or {})


SESSIONS = {"a": "one", "b": "one", "c": "one", "d": "one", "x": "two"}
CHAIN = (pair("a", "b"), pair("b", "c"), pair("a", "d", causal=False))


def test_an_edge_is_right_wrong_or_follows_from_what_is_right() -> None:
    judge = CausalJudge(document(causal=CHAIN, disputable=(("c", "d"),)))
    assert judge.verdict(("a", "b")) is Verdict.RIGHT
    assert judge.verdict(("a", "c")) is Verdict.NEUTRAL
    assert judge.verdict(("c", "d")) is Verdict.NEUTRAL
    assert judge.verdict(("a", "d")) is Verdict.WRONG
    assert judge.verdict(("b", "a")) is Verdict.WRONG
    assert judge.verdict(("b", "x")) is Verdict.WRONG


def test_outside_a_closed_document_only_a_labelled_non_pair_is_wrong() -> None:
    judge = CausalJudge(document(closed=False, causal=CHAIN))
    assert judge.verdict(("b", "x")) is Verdict.NEUTRAL
    assert judge.verdict(("a", "d")) is Verdict.WRONG


def test_precision_is_over_every_edge_and_recall_over_every_labelled_pair() -> None:
    labels = document(causal=(*CHAIN, pair("b", "d"), pair("d", "x")))
    made = memory(edge("a", "b"), edge("a", "c"), edge("a", "d", rule="bad"), edge("b", "d"))
    table = causal_table([labels], {"doc": made}, SESSIONS, show=True)
    assert table.precision == pytest.approx(2 / 3, abs=1e-4)
    assert table.recall == 0.5
    assert (table.n, table.pairs, table.non_pairs, table.non_pairs_made, table.made) == (5, 4, 1, 1, 4)
    assert table.verdicts == {Verdict.RIGHT: 2, Verdict.NEUTRAL: 1, Verdict.WRONG: 1}
    assert table.recall_by_reach == {
        Reach.ADJACENT: Found(found=1, n=2),
        Reach.APART: Found(found=1, n=1),
        Reach.ACROSS: Found(found=0, n=1),
    }
    assert table.by_rule["bad"][Verdict.WRONG] == 1
    assert table.mistakes is not None
    assert table.mistakes.wrong == [("a", "d", "bad")]
    assert table.mistakes.missed == [("b", "c"), ("d", "x")]


def test_what_a_producer_said_is_not_counted_and_without_edges_there_is_no_precision() -> None:
    made = memory(edge("a", "b", Origin.PRODUCER))
    table = causal_table([document(causal=CHAIN)], {"doc": made}, SESSIONS, show=False)
    assert (table.made, table.precision, table.recall, table.mistakes) == (0, None, 0.0, None)


def test_everything_behind_an_event_is_reached_and_a_cycle_ends() -> None:
    causes = [edge("a", "b"), edge("b", "c"), edge("x", "c"), edge("c", "d")]
    assert reachable(causes, "c") == {"a", "b", "x"}
    assert reachable(causes, "a") == set()
    assert reachable([edge("a", "b"), edge("b", "a")], "a") == {"b"}


#: The example of Bagga & Baldwin 1998: true clusters of 5, 2 and 5 mentions.
TRUTH = dict(enumerate("AAAAABBCCCCC"))


def test_b_cubed_gives_the_values_of_its_authors_example() -> None:
    second_and_third = b_cubed(TRUTH, dict(enumerate("111112222222")))
    assert second_and_third.precision / second_and_third.found == pytest.approx(0.762, abs=1e-3)
    assert second_and_third.recall / second_and_third.mentions == 1.0
    first_and_third = b_cubed(TRUTH, dict(enumerate("111112211111")))
    assert first_and_third.precision / first_and_third.found == pytest.approx(0.583, abs=1e-3)
    assert first_and_third.recall / first_and_third.mentions == 1.0


def test_a_missed_mention_counts_against_recall_and_not_against_precision() -> None:
    scored = b_cubed({0: "A", 1: "A", 2: "B"}, {0: "k"})
    assert (scored.precision, scored.found) == (1.0, 1)
    assert (scored.recall, scored.mentions) == (0.5, 3)


@given(st.lists(st.sampled_from("ABC"), min_size=1, max_size=12), st.permutations("123"))
def test_names_of_clusters_do_not_matter(things: list[str], names: list[str]) -> None:
    gold = dict(enumerate(things))
    renamed = dict(zip("ABC", names, strict=True))
    scored = b_cubed(gold, {mention: renamed[thing] for mention, thing in gold.items()})
    assert scored.precision == pytest.approx(len(things))
    assert scored.recall == pytest.approx(len(things))


def made_mention(entity: str, *names: str, event: str = "a") -> MadeMention:
    return MadeMention(event, entity, names)


def test_a_mention_is_found_by_its_spelling_then_by_a_name_of_its_entity_then_within_another() -> None:
    labels = [MentionLabel(event="a", surface=surface, entity="?") for surface in ("Ann", "K. Lee's", "Bay", "Oak")]
    made = [
        made_mention("ann lee", "Ann Lee", "Ann"),
        made_mention("ann", "ANN"),
        made_mention("lee", "Kim", "K. Lee"),
        made_mention("bantry bay", "Bantry Bay"),
        made_mention("oakley", "Oakley"),
    ]
    found = {number: one.entity for number, one in match(labels, made).items()}
    assert found == {0: "ann", 1: "lee", 2: "bantry bay"}


def test_entities_are_told_apart_when_merged_split_or_missed() -> None:
    labels = document(
        mentions=(
            ("a", "Ann", "ann"),
            ("b", "Ann", "ann"),
            ("b", "Bo", "bo"),
            ("c", "Annie", "ann"),
            ("d", "Cy", "cy"),
        )
    )
    made = (
        made_mention("ann", "Ann", event="a"),
        made_mention("ann", "Ann", event="b"),
        made_mention("ann", "Bo", event="b"),
        made_mention("annie", "Annie", event="c"),
        made_mention("dog", "Dog", event="d"),
    )
    table = entities_table([labels], {"doc": memory(mentions=made)}, show=True)
    assert (table.n, table.found, table.unlabelled, table.entities) == (5, 4, 1, 3)
    assert table.mistakes is not None
    assert table.mistakes.missed == [("d", "Cy")]
    assert table.mistakes.merged == [("doc", "ann", ["ann", "bo"])]
    assert table.mistakes.split == [("doc", "ann", ["ann", "annie"])]
    assert table.b3_precision == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4, abs=1e-4)
    assert table.b3_recall == pytest.approx((2 / 3 + 2 / 3 + 1 + 1 / 3 + 0) / 5, abs=1e-4)


MAY_4, MAY_5 = datetime(2026, 5, 4, tzinfo=UTC), datetime(2026, 5, 5, tzinfo=UTC)
MONDAY = DateLabel(event="a", phrase="on Monday", start=MAY_4, end=MAY_5, precision=Precision.DAY)


def span(phrase: str, start: datetime, end: datetime, precision: Precision = Precision.DAY) -> DateSpan:
    return DateSpan(phrase, to_us(start), to_us(end), precision)


def test_a_date_is_right_when_phrase_interval_and_precision_are() -> None:
    assert is_right(MONDAY, span("Monday", MAY_4, MAY_5))
    assert is_right(MONDAY, span("on Monday evening", MAY_4.replace(hour=18), MAY_5, Precision.HOUR))
    assert not is_right(MONDAY, span("Tuesday", MAY_4, MAY_5))
    assert not is_right(MONDAY, span("Monday", MAY_4, MAY_5.replace(day=6)))
    assert not is_right(MONDAY, span("Monday", MAY_5, MAY_5.replace(day=6)))
    week = MONDAY.model_copy(update={"precision": Precision.WEEK, "end": MAY_4.replace(day=11)})
    assert not is_right(week, span("Monday", MAY_4, MAY_5))


def test_dates_are_counted_and_what_was_made_of_a_wrong_one_is_told() -> None:
    labels = document(dates=(MONDAY, MONDAY.model_copy(update={"event": "b"})))
    made = memory(dates={"a": (span("Monday", MAY_4, MAY_5),), "b": (span("Monday", MAY_5, MAY_5.replace(day=6)),)})
    table = dates_table([labels], {"doc": made}, show=True)
    assert (table.accuracy, table.n) == (0.5, 2)
    assert table.mistakes == [("b", "on Monday", ["Monday (day)"])]


def test_intervals_hold_the_value_and_have_none_where_nothing_was_counted() -> None:
    found = interval([(9, 10), (5, 10), (10, 10)], share)
    assert found is not None
    assert found.low < found.mean == 0.8 < found.high
    alone = interval([(3, 4)], share)
    assert alone is not None
    assert alone.low == alone.mean == alone.high == 0.75
    assert interval([(0, 0), (0, 0)], share) is None
    both = interval([(1, 2, 1, 1)], harmonic)
    assert both is not None
    assert both.mean == pytest.approx(2 / 3, abs=1e-4)
