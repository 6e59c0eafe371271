"""What a text is like, whatever is asked: nine cheap signs of it, read once an event."""

import re
from enum import IntEnum


class Signal(IntEnum):
    """Columns of the signals of an event.

    LENGTH: words that carry meaning, at most 40. FIRST_PERSON, SECOND_PERSON: how often the speaker names themselves,
    or the listener. RELATIVE_DATE: a phrase like "last week". CUE: words of cause or purpose. QUESTION: a question
    mark; ENDS_QUESTION: at the end. PHOTO: a picture with a caption. NUMBER: a number, in digits or words.
    """

    LENGTH = 0
    FIRST_PERSON = 1
    SECOND_PERSON = 2
    RELATIVE_DATE = 3
    CUE = 4
    QUESTION = 5
    ENDS_QUESTION = 6
    PHOTO = 7
    NUMBER = 8


_LONGEST = 40
_PHOTO = re.compile(r"\[photo: ?([^\]]*)\]")
_FIRST = re.compile(r"\b(?:i|i'm|i've|my|me|we|our|i'd)\b")
_SECOND = re.compile(r"\b(?:you|your|you're|yours|you've)\b")
_NUMBER = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|once|twice|couple|few)\b")
_CUE = re.compile(
    r"\b(?:because|since|so that|due to|thanks to|inspired|motivated|made me|reason|helps? me|therefore|that's why"
    r"|why i|wanted to|in order to|after (?:i|my|losing)|caused)\b"
)
_RELATIVE = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|recently"
    r"|last (?:night|week|month|year|weekend|summer|winter|spring|fall)"
    r"|last (?:fri\w*|sat\w*|sun\w*|mon\w*|tue\w*|wed\w*|thu\w*)"
    r"|next (?:week|month|year|weekend)|this (?:week|month|year|weekend|morning|past)"
    r"|(?:a |two |three |few |couple )?(?:days?|weeks?|months?|years?|weekends?) ago"
    r"|just (?:got|started|finished|had|went)|\d{1,2} (?:years?|months?|weeks?|days?)|since \d{4}|in \d{4}"
    r"|for (?:\w+ )?(?:years|months|weeks|days))\b"
)


def signals(text: str, meaning_words: int) -> tuple[float, ...]:
    """Read the signals of a text, in the order of `Signal`; `meaning_words`: its words without stop words."""
    low = text.lower().replace("’", "'")
    said = _PHOTO.sub("", low)
    return (
        float(min(meaning_words, _LONGEST)),
        float(len(_FIRST.findall(said))),
        float(len(_SECOND.findall(said))),
        float(_RELATIVE.search(said) is not None),
        float(_CUE.search(said) is not None),
        float("?" in said),
        float(said.rstrip().endswith("?")),
        float(_PHOTO.search(low) is not None),
        float(_NUMBER.search(said) is not None),
    )
