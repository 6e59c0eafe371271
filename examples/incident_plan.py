"""What is planned in the incident: chains, spellings, changes of fact, questions. Names are labels of the source."""

from typing import NamedTuple


class Chain(NamedTuple):
    """A causal chain, causes first. `found_by`: the only kind of trace that it leaves in the events."""

    name: str
    found_by: str
    labels: tuple[str, ...]


class Question(NamedTuple):
    """A question and the labels of the events that answer it."""

    intent: str
    question: str
    expected: tuple[str, ...]
    note: str


CHAINS = (
    Chain("pool", "explicit", ("pool-1", "pool-2", "pool-3", "pool-4", "pool-5", "pool-6")),
    Chain("migration", "structure", ("mig-1", "mig-2", "mig-3", "mig-4", "mig-5", "mig-6")),
    Chain("certificate", "cue", ("cert-0", "cert-1", "cert-2", "cert-3", "cert-4", "cert-5", "cert-6")),
)

#: Each is one thing or person; every spelling stands somewhere in the events.
SPELLINGS = {
    "payments-service": ("payments-service", "Payments Service", "payments_svc"),
    "Alexandra Ruiz": ("Alexandra Ruiz", "Alex"),
    "Tomás Lindqvist": ("Tomás Lindqvist", "Tomas Lindqvist", "Tomás"),
    "Robert Achebe": ("Robert Achebe", "Robert", "Rob"),
}

#: (subject, attribute, older event, newer event)
SUPERSESSIONS = (
    ("payments-service", "on-call owner", "owner-robert", "owner-ingrid"),
    ("payments-service", "db.pool.max", "pool-1", "pool-24"),
    ("ledger", "time of the partition job", "job-thursday", "job-sunday"),
)

QUESTIONS = (
    Question(
        "WHY",
        "Why were so many cards authorised twice during the Harbour Lights sale?",
        ("pool-5", "pool-4", "pool-3", "pool-2", "pool-1"),
        "the root cause shares no word with the question and is four causal hops away",
    ),
    Question(
        "WHY",
        "Why did checkout-api reply 503 when Harbour Lights opened?",
        ("pool-4", "pool-3", "pool-2", "pool-1"),
        "three hops, the second of which arrived late",
    ),
    Question(
        "WHY",
        "Why did migration 0147 need a third go?",
        ("mig-2", "mig-4", "holder"),
        "errors and their retries, without a word about causes",
    ),
    Question(
        "WHY",
        "Why did buyers ask the help desk where their tickets are?",
        ("cert-6", "cert-5", "cert-4", "cert-3", "cert-2", "cert-1", "cert-0"),
        "a chain told in cue phrases",
    ),
    Question(
        "WHY",
        "Why was search-index rolled back?",
        ("wrong-suspect", "search-back", "not-search", "search-forward"),
        "a suspicion that proved wrong",
    ),
    Question(
        "WHY",
        "Why were 140 authorisations released only after midnight?",
        ("quill-limit", "quill-split", "quill-done"),
        "the limit was met the evening before",
    ),
    Question("WHEN", "When was Harbour Lights sold out?", ("sold-out",), "one event"),
    Question(
        "WHEN",
        "When did hotfix 2.14.1 go live?",
        ("hotfix-live", "pool-24"),
        "times written at UTC-07:00, among events at UTC",
    ),
    Question(
        "WHEN", "When was the uplink from Frankfurt restored?", ("uplink-back", "uplink"), "late samples around it"
    ),
    Question("WHEN", "When was INC-881 opened and when was it closed?", ("open-881", "close-881"), "a day apart"),
    Question(
        "WHEN",
        "When does the partition job of the ledger run?",
        ("job-sunday", "job-thursday"),
        "the newer statement supersedes the older, which arrived late",
    ),
    Question(
        "WHEN",
        "What happened to outgoing mail on 4 March 2026 between 9:00 and 10:00?",
        ("open-882", "handoff-882", "pin-bundle", "bundle-back", "outbox-empty"),
        "a time window",
    ),
    Question(
        "ENTITY",
        "How many requests a second did payments-service take, and how fast was it?",
        ("pay-baseline", "pay-rest", "pay-morning", "pay-after", "pay-ten"),
        "the answering events write payments_svc",
    ),
    Question(
        "ENTITY",
        "Who is the on-call owner of payments-service?",
        ("owner-ingrid", "owner-robert"),
        "the answering events write Payments Service; the newer one holds",
    ),
    Question("ENTITY", "What was Alex's role in INC-881?", ("commander",), "a nickname; she speaks as Alexandra Ruiz"),
    Question(
        "ENTITY",
        "What do we know about Quillbank?",
        ("quill-limit", "quill-split", "quill-500", "quill-done", "quill-offer", "partners"),
        "one name over three sessions",
    ),
    Question(
        "ENTITY",
        "Which troubles did probe lisbon-3 have?",
        ("lisbon", "lisbon-back", "lisbon-slow", "lisbon-again", "porto"),
        "one name over two days",
    ),
    Question(
        "ENTITY",
        "What is the current pool size of the payments service?",
        ("pool-24", "decide-24", "pool-1"),
        "24 supersedes 200",
    ),
    Question(
        "GENERAL",
        "Which actions were agreed in the review?",
        ("guard-decided", "jitter-thursday", "mail-alert", "two-approvals", "review-end"),
        "several events of one session",
    ),
    Question(
        "GENERAL",
        "How were the doubled authorisations paid back?",
        ("pool-6", "nordpay", "quill-500", "terra", "quill-done", "all-released"),
        "a run of tool calls over midnight",
    ),
    Question(
        "GENERAL",
        "What came of the impatient retries at checkout?",
        ("no-backoff", "jitter-postponed", "fourfold", "jitter-admitted", "jitter-thursday", "jitter-green"),
        "from a note on a quiet morning to a green branch",
    ),
    Question(
        "GENERAL",
        "Which alerts are new?",
        ("alert-rule", "rule-gap", "mail-alert", "mail-alert-live"),
        "two alerts in two sessions",
    ),
    Question(
        "ENTITY",
        "Does seat-map 3.4.0 behave better on old phones and tablets?",
        ("leak-gone", "flicker-closed", "arena-fast", "texture"),
        "the complaint is a day older than the cure",
    ),
)
