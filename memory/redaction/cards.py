"""Numbers of payment cards: an issuer's range, that range's length and usual grouping, and the Luhn digit."""

import re
from collections.abc import Iterator

from memory.redaction.finding import DataKind, Finding

#: Between two groups; a list of numbers is separated alike, so only the groupings that cards have are tried.
_GAP = r"[\s.\-_]{1,3}"
#: Starts may overlap: a number before the card must not hide it.
_CANDIDATE = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9]\.)(?="
    rf"(?P<four>[2-6]\d{{3}}(?:{_GAP}\d{{4}}){{3}})(?P<tail>{_GAP}\d{{3}})?(?![0-9A-Za-z])"
    rf"|(?P<other>3\d{{3}}{_GAP}\d{{6}}{_GAP}\d{{4,5}}|[2-6]\d{{13,18}})(?![0-9A-Za-z])"
    r")",
    re.ASCII,
)
#: Issuer ranges and their lengths (ISO/IEC 7812); the 13 digits of old Visa cards are left to article numbers.
_ISSUERS = re.compile(
    r"4(?:\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|3(?:0[0-5]|[689]\d)\d{11}"  # Diners
    r"|(?:6011|64[4-9]\d|65\d\d)\d{12}"  # Discover
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|62\d{14,17}"  # UnionPay
    r"|(?:50\d\d|5[6-8]\d\d|6[37]\d\d)\d{12}",  # Maestro
    re.ASCII,
)
_SEPARATORS = re.compile(r"\D+", re.ASCII)


def find_cards(text: str) -> Iterator[Finding]:
    """Give the card numbers in a folded text."""
    for match in _CANDIDATE.finditer(text):
        base = match["four"] or match["other"]
        for written in (base + match["tail"], base) if match["tail"] else (base,):
            digits = _SEPARATORS.sub("", written)
            if _ISSUERS.fullmatch(digits) and luhn(digits):
                yield Finding(match.start(), match.start() + len(written), DataKind.CARD, digits)
                break


def luhn(digits: str) -> bool:
    """Tell whether the last digit is the check digit (ISO/IEC 7812-1, annex B)."""
    total = sum(map(int, digits[-1::-2]))
    return (total + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10 == 0
