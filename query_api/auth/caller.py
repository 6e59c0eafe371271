"""Whom a credential stands for."""

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What a credential allows. None contains another."""

    READ = "read"
    WRITE = "write"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: `tenant` is the only tenant this request can reach, `credential` names what was shown, never secret.

    `credential` is also what requests are counted by.
    """

    tenant: str
    scopes: frozenset[Scope]
    credential: str


class CredentialRefused(Exception):
    """Raised for a credential that proves nothing. `code`: the problem's; the message never repeats the credential."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
