"""Phone numbers by the numbering plans of `phonenumbers`; what the plans are asked about is chosen by cheap patterns.

A number with a country code counts anywhere. One without counts in the regions of the policy, when it is written in
groups as people write phone numbers, or stands behind a word like "call": an order number of ten digits stays.
"""

import re
from collections.abc import Iterator, Sequence

import phonenumbers

from memory.redaction.finding import DataKind, Finding

_ABROAD = re.compile(
    r"(?<![\w+])(?:\+\s?|(?<!\d[ \-.])00[ \-]?(?=[1-9]))\(?[1-9](?:[ \-.()/\u00a0]{0,3}\d){6,14}(?![\w])(?!\.\d)",
    re.ASCII,
)
_GROUPED = re.compile(
    r"(?<![\w.:/+#=-])(?:\(\d{1,5}\)|\d{2,5})(?:[ \-./]{1,2}\(?\d{2,8}\)?){1,4}(?![\w:])(?![.\-/]\d)", re.ASCII
)
_CUED = re.compile(
    r"\b(?:tele?(?:phone|fon)?|phone|mobile|cell|handy|call|calls|called|dial|fax|sms|whats ?app|reach \w{1,12})"
    r"(?:[ ._-]?(?:nr|no|number|num|me|us|him|her|them|at|on|is|was|back))*[\s:=#.\"']{1,4}"
    r"(?P<number>\(?\d[\d \-./()]{5,20}\d)(?![\w])",
    re.ASCII | re.IGNORECASE,
)
#: Dates, times, versions and addresses of machines are in groups too.
_NO_PHONE = re.compile(r"\d{4}[-/.]\d{2}[-/.]\d{2}|\d{2}[-/.]\d{2}[-/.]\d{4}|\d{1,3}(?:\.\d{1,3}){3}$", re.ASCII)
_MOST_DIGITS, _FEWEST_DIGITS = 15, 7


def find_phones(text: str, regions: Sequence[str]) -> Iterator[Finding]:
    """Give the phone numbers in a folded text. `regions`: ISO 3166 codes for numbers without a country code."""
    for match in _ABROAD.finditer(text):
        written = match[0] if match[0].startswith("+") else "+" + match[0][2:].lstrip(" -")
        if found := _abroad(match.start(), match.end(), written):
            yield found
    if not regions:
        return
    for match in _CUED.finditer(text):
        if found := _at_home(match.start("number"), match["number"], regions, grouped=False):
            yield found
    for match in _GROUPED.finditer(text):
        if not _NO_PHONE.match(match[0]) and (found := _at_home(match.start(), match[0], regions, grouped=True)):
            yield found


def find_phone_value(text: str, regions: Sequence[str]) -> Finding | None:
    """Take a whole text for a phone number: a value that is called so."""
    digits = sum(char.isdigit() for char in text)
    if not _FEWEST_DIGITS <= digits <= _MOST_DIGITS or len(text) > 40 or not regions:
        return None
    return _at_home(0, text, regions, grouped=False)


def _abroad(start: int, end: int, written: str) -> Finding | None:
    try:
        number = phonenumbers.parse(written, None)
    except phonenumbers.NumberParseException:
        return None
    # possible, not valid: new ranges are given out all the time, and little else begins with a plus and so many digits
    if not phonenumbers.is_possible_number(number):
        return None
    return Finding(start, end, DataKind.PHONE, _e164(number))


def _at_home(start: int, written: str, regions: Sequence[str], *, grouped: bool) -> Finding | None:
    if not _FEWEST_DIGITS <= sum(char.isdigit() for char in written) <= _MOST_DIGITS:
        return None
    leniency = phonenumbers.Leniency.STRICT_GROUPING if grouped else phonenumbers.Leniency.VALID
    for region in regions:
        # the matcher knows how groups are written in each plan, and dates and times that look alike
        for match in phonenumbers.PhoneNumberMatcher(written, region, leniency, 2):
            return Finding(start + match.start, start + match.end, DataKind.PHONE, _e164(match.number))
    return None


def _e164(number: phonenumbers.PhoneNumber) -> str:
    return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))


_PHONE_NAME = re.compile(
    r"(?:^|[_.\- ]|(?<=[a-z]))(?:phone|mobile|msisdn|fax|telephone|tel)(?:_?(?:nr|no|number))?$", re.I
)


def names_a_phone(name: str) -> bool:
    """Tell whether an attribute's name says that its value is a phone number."""
    return len(name) <= 128 and _PHONE_NAME.search(name) is not None
