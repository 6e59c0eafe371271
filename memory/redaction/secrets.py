"""Keys, tokens and passwords: the vendors' formats that `detect-secrets` knows, and what it has no pattern for.

Each pattern names a literal that any match contains: most texts contain none and cost no regular expression.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

from memory.redaction.finding import DataKind, Finding

#: What a token is made of: a pattern that fixes a length must not leave the rest of a longer token behind.
_TOKEN_REST = re.compile(r"[A-Za-z0-9_+/=~-]*")
#: What stands where a secret would, and is none: our own marks, variables, calls that fetch it, nothing.
_PLACEHOLDER = re.compile(
    r"\[(?:secret|card|mail|phone)\b|<|\$|\{\{|\*{3}|(?:os|env|process|settings|config|self|secrets)\.|getenv"
    r"|(?:null|none|true|false|undefined|required|missing|invalid)\b",
    re.ASCII | re.IGNORECASE,
)

#: Plugins of detect-secrets and a literal of each. Left out: those that match ordinary words or plain hex digests,
#: and those of which the patterns below take more (its JWT leaves the signature behind, its private key the body).
_PLUGINS = (
    ("aws", "AWSKeyDetector", ("AKIA", "ASIA", "A3T", "ABIA", "ACCA")),
    ("azure_storage_key", "AzureStorageKeyDetector", ("AccountKey=",)),
    ("discord", "DiscordBotTokenDetector", (".",)),
    ("github_token", "GitHubTokenDetector", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    (
        "gitlab_token",
        "GitLabTokenDetector",
        (
            "glpat-",
            "gldt-",
            "glft-",
            "glsoat-",
            "glrt-",
            "GR1348941",
            "glcbt-",
            "glimt-",
            "glptt-",
            "glagent-",
            "gloas-",
        ),
    ),
    ("mailchimp", "MailchimpDetector", ("-us",)),
    ("npm", "NpmDetector", ("_authToken",)),
    ("openai", "OpenAIDetector", ("T3BlbkFJ",)),
    ("pypi_token", "PypiTokenDetector", ("pypi-",)),
    ("sendgrid", "SendGridDetector", ("SG.",)),
    ("slack", "SlackDetector", ("xox", "hooks.slack.com")),
    ("square_oauth", "SquareOAuthDetector", ("sq0csp-",)),
    ("stripe", "StripeDetector", ("k_live_",)),
    ("telegram_token", "TelegramBotTokenDetector", (":",)),
    ("twilio", "TwilioKeyDetector", ("AC", "SK")),
)

_WORD = (
    r"(?:pass(?:word|wd|phrase)|passwort|pwd(?!=[~/])|secret|api[_-]?key|apikey|access[_-]?key(?:[_-]?id)?|account[_-]?key"
    r"|secret[_-]?key|private[_-]?key|client[_-]?secret|(?:access|auth|refresh|bearer|api|id|session|csrf)[_-]?token"
    r"|(?<![A-Za-z_-])token)"
)
_NAMES = ("pass", "pwd", "secret", "key", "token")
_OWN: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----(?:.*?-----END [A-Z0-9 ]{0,60}-----|.*)",
        ("PRIVATE KEY",),
    ),
    (r"PuTTY-User-Key-File-\d.*", ("PuTTY-User-Key-File",)),
    (r"(?<![A-Za-z0-9])eyJ[\w=-]{5,}\.[\w=-]{2,}(?:\.[\w=-]+)*", ("eyJ",)),
    (r"(?<![A-Za-z0-9])github_pat_\w{20,}", ("github_pat_",)),
    (r"(?<![A-Za-z0-9])(?:xox[a-z](?:\.[a-z]+)?|xapp)-[\w-]{10,}", ("xox", "xapp-")),
    (r"(?<![A-Za-z0-9])(?:[sr]k_(?:live|test)|whsec)_[\w+/=]{16,}", ("k_live_", "k_test_", "whsec_")),
    (r"(?<![A-Za-z0-9])sk-(?=[\w-]*\d)[\w-]{20,}", ("sk-",)),
    (r"(?<![A-Za-z0-9])AIza[\w-]{35,}", ("AIza",)),
    (r"(?<![A-Za-z0-9])ya29\.[\w-]{20,}", ("ya29.",)),
    (r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}", ("hf_",)),
    (r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36,}", ("npm_",)),
    (r"(?<![A-Za-z0-9])do[opr]_v1_[a-f0-9]{64,}", ("_v1_",)),
    (r"(?<![A-Za-z0-9])hv[sbr]\.[\w-]{24,}", ("hvs.", "hvb.", "hvr.")),
    (r"(?<![A-Za-z0-9])mgm_[\w-]{24,}", ("mgm_",)),
    (r"[?&;]sig=(?P<value>[\w%+/=-]{20,})", ("sig=",)),
    (r"://[^\s:/?#\"']{0,256}:(?P<value>[^\s/\"'<>]{1,256})@", ("://",)),
)
#: Matched against any case; the literals are lower case.
_OWN_ANY_CASE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:(?:bearer|basic|token|digest|apikey)\s+|(?=\S{0,256}\d))"
        r"(?P<value>[^\s\"',;]{4,})",
        ("authorization",),
    ),
    (r"\bbearer\s+(?P<value>(?=[\w.~+/=-]{0,256}\d)[\w.~+/=-]{8,}|[A-Za-z]{24,})", ("bearer",)),
    # name=value, and "name": "value": whatever the value is
    (
        _WORD + r"\\?[\"']?(?:\s{0,3}=>?\s{0,3}|\s{0,3}:=\s{0,3}|(?<=[\"'])\s{0,3}:\s{0,3})\\?(?P<quote>[\"'])?"
        r"(?P<value>(?(quote)(?:(?!(?P=quote)).){1,4096}|[^\s\"'&,;)\]}]{4,4096}))",
        _NAMES,
    ),
    # name: value in prose and YAML: only a value that is no plain word
    (
        _WORD + r"(?:\s{1,3}is\s{0,3}:?|\s{0,3}:)\s{1,3}"
        r"(?P<value>(?=\S{0,256}?(?:\d|[a-z](?-i:[A-Z])|\w[!@#$%^&*]\w))[^\s\"',;)\]}]{6,4096})",
        _NAMES,
    ),
)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """`value`: name of the group that is the secret, empty for the whole match. `whole_token`: take its rest too."""

    regex: re.Pattern[str]
    value: str = ""
    whole_token: bool = False


#: A literal, and a pattern none of whose matches lacks all of its literals.
_Hints = tuple[tuple[str, _Pattern], ...]


@lru_cache(maxsize=1)
def _patterns() -> tuple[_Hints, _Hints]:
    """Compile all patterns, those whose literals stand as they are and those in any case.

    The library's plugins are imported when the first text is searched.
    """
    exact = [(_own(regex, re.DOTALL), literals) for regex, literals in _OWN]
    for module, plugin, literals in _PLUGINS:
        for regex in getattr(import_module(f"detect_secrets.plugins.{module}"), plugin)().denylist:
            if not regex.pattern.startswith("aws."):  # a name and its value: the patterns above
                flags = regex.flags & ~re.UNICODE | re.ASCII
                bounded = re.compile(rf"(?<![A-Za-z0-9])(?:{regex.pattern})", flags)
                exact.append((_Pattern(bounded, whole_token=True), literals))
    any_case = [(_own(regex, re.IGNORECASE), literals) for regex, literals in _OWN_ANY_CASE]
    return _hints(exact), _hints(any_case)


def _own(regex: str, flags: re.RegexFlag) -> _Pattern:
    compiled = re.compile(regex, flags | re.ASCII)
    return _Pattern(compiled, "value" if "value" in compiled.groupindex else "")


def _hints(patterns: list[tuple[_Pattern, tuple[str, ...]]]) -> _Hints:
    return tuple((literal, pattern) for pattern, literals in patterns for literal in literals)


def find_secrets(text: str) -> Iterator[Finding]:
    """Give the secrets in a folded text; spans may overlap."""
    exact, any_case = _patterns()
    hinted = [pattern for literal, pattern in exact if literal in text]
    lower = text.lower()
    hinted += [pattern for literal, pattern in any_case if literal in lower]
    for pattern in dict.fromkeys(hinted):
        yield from _matches(pattern, text)


def _matches(pattern: _Pattern, text: str) -> Iterator[Finding]:
    reached = 0
    for match in pattern.regex.finditer(text):
        start, end = match.span(pattern.value or 0)
        if start < reached or (pattern.value and _PLACEHOLDER.match(text, start)):
            continue
        if pattern.whole_token and (rest := _TOKEN_REST.match(text, end)):
            end = rest.end()
        reached = end
        yield Finding(start, end, DataKind.SECRET, text[start:end])


_SECRET_NAME = re.compile(
    r"(?:^|[_.\- ]|(?<=[a-z]))(?:pass(?:word|wd|phrase|code)|(?<=[a-z_])pwd|secrets?|api_?key"
    r"|access_?key|account_?key|secret_?key|private_?key|client_?secret"
    r"|(?:access|auth|refresh|bearer|api|id|session)_?token|credentials?|cookie|cvv|cvc)$",
    re.ASCII | re.IGNORECASE,
)


#: Shorter ones are words of a model's stream.
_TOKEN_CHARS = 8


def names_a_secret(name: str, value: str) -> bool:
    """Tell whether an attribute's name says that its value is a secret."""
    if len(name) > 128:
        return False
    return _SECRET_NAME.search(name.replace("-", "_")) is not None or (
        name.casefold() == "token" and len(value) >= _TOKEN_CHARS
    )
