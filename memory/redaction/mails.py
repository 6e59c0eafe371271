"""Mail addresses, also percent-encoded as in links. Found from the `@` on both ways: linear in the text."""

import re
from collections.abc import Iterator

from memory.redaction.finding import DataKind, Finding

_AT = re.compile(r"@|%40")
_DOMAIN = re.compile(r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}(?:xn--[a-z0-9-]{1,59}|[^\W\d_]{2,63})(?![\w])", re.I)
_LOCAL_SIGNS = frozenset(".%+'-_!#$*~^{|}`")
_LOCAL_CHARS = 256


def find_mails(text: str) -> Iterator[Finding]:
    """Give the addresses in a folded text; `git@host:path` is a place of code and nobody's address."""
    for at in _AT.finditer(text):
        domain = _DOMAIN.match(text, at.end())
        if domain is None:
            continue
        start = _local_start(text, at.start())
        local = text[start : at.start()]
        if not local or (local == "git" and text[domain.end() : domain.end() + 1] in (":", "/")):
            continue
        yield Finding(start, domain.end(), DataKind.MAIL, f"{local}@{domain[0]}".casefold())


def _local_start(text: str, at: int) -> int:
    if at and text[at - 1] == '"':  # "john doe"@example.com
        opening = text.rfind('"', max(0, at - _LOCAL_CHARS), at - 1)
        return at if opening < 0 or "\n" in text[opening:at] else opening
    start, least = at, max(0, at - _LOCAL_CHARS)
    while start > least and (text[start - 1].isalnum() or text[start - 1] in _LOCAL_SIGNS):
        start -= 1
    return start
