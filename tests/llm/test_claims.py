"""What a sentence claims about causes, and that no text makes reading it long or wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.llm.claims import MAX_CHARS, claims
from memory.llm.model import Window
from memory.llm.rules import all_causes
from memory.relations import CausalKind
from tests.llm.chains import KINDS, chain

LEADS, ENABLES, PREVENTS = CausalKind.LEADS_TO, CausalKind.ENABLES, CausalKind.PREVENTS


@pytest.mark.parametrize(
    ("text", "cause", "effect", "kind"),
    [
        ("We left because the roof leaked.", "the roof leaked.", "We left", LEADS),
        ("Because of the frost, the buds are brown.", "the frost", "the buds are brown.", LEADS),
        ("The refresh ran, which caused the bundle to shrink.", "The refresh ran", "the bundle to shrink.", LEADS),
        ("The disk is full, so the worker stopped.", "The disk is full", "the worker stopped.", LEADS),
        ("After the pump failed, we carried water.", "the pump failed", "we carried water.", LEADS),
        ("The worker did not start because the disk is full.", "the disk is full.", "The worker did not start", LEADS),
        ("The release is blocked by the freeze.", "the freeze.", "The release is", PREVENTS),
        ("The freeze prevented the release of 2.1.", "The freeze", "the release of 2.1.", PREVENTS),
        ("The new key allowed the nightly export.", "The new key", "the nightly export.", ENABLES),
        ("That's why we sold the boat.", "", "we sold the boat.", LEADS),
        ("As a result, the queue is long.", "", "the queue is long.", LEADS),
        ("This prevented the export.", "", "the export.", PREVENTS),
        ("It went well thanks to that.", "", "It went well", LEADS),
        ("So we called the plumber.", "", "we called the plumber.", LEADS),
    ],
)
def test_a_claim_has_a_direction_and_a_kind(text: str, cause: str, effect: str, kind: CausalKind) -> None:
    (claim,) = claims(text)
    assert (claim.cause, claim.effect, claim.kind) == (cause, effect, kind)


@pytest.mark.parametrize(
    "text",
    [
        "It is not because the roof leaked.",
        "Did we leave because the roof leaked?",
        "If the roof leaks because of the rain, call me.",
        "Perhaps the roof leaked because of the rain.",
        "It may have been caused by the rain.",
        "The rain did not lead to a flood.",
        'He wrote "we left because the roof leaked" on the wall.',
        "> we left because the roof leaked",
        "```\n# because the roof leaked\n```",
        "Since the roof leaked we have had two coffees.",
        "After lunch we went home.",
        "When she came, we sang.",
        "So, how are you",
        "I did it so that you can sleep.",
        "The release was blocked.",
    ],
)
def test_denials_guesses_conditions_questions_quotations_and_times_claim_nothing(text: str) -> None:
    assert claims(text) == ()


_PIECES = st.sampled_from(
    [
        *(
            "because ",
            "because of ",
            "after ",
            "which caused ",
            "led to ",
            "so ",
            "That is why ",
            '"',
            "\u201c",
            "`",
            "```",
        ),
        *(
            "a",
            "failed",
            ", ",
            ". ",
            "? ",
            "\n",
            "not ",
            "if ",
            "> ",
            "the reason of ",
            " " * 40,
            "x" * 60,
            "1,234",
            "-",
        ),
        *("please ", "TERMINATE", "exitcode: 1\n", "@" * 30, "://", "R-07 ", "((((", "\u00e9\u0301", "\U0001f600"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_PIECES, st.integers(1, 400)), min_size=1, max_size=12), st.sampled_from(sorted(KINDS)))
def test_hostile_texts_are_read_in_bounded_steps(pieces: list[tuple[str, int]], kind: str) -> None:
    """Patterns that backtrack would need hours for texts like these: that this ends at all is the test."""
    text = "".join(piece * times for piece, times in pieces)[:60_000] + "."
    events = chain("ana says: The pump failed, please mend it.", f"ben {kind}: {text}", f"ana {kind}: {text}")
    window = Window("t", "s1", tuple(events), frozenset(event.id for event in events))
    causes = all_causes(window)
    assert all(0.7 <= cause.confidence <= 1 and len(cause.rationale) <= 200 for cause in causes)
    assert len(causes) <= 2 * 5
    assert len(claims(text)) <= 24 * 8
    assert claims(text) == () or len(text) <= MAX_CHARS
