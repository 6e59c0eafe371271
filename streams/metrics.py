"""Prometheus metrics of the pipeline's stages, in the process's default registry."""

from prometheus_client import Counter, Gauge, Histogram

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

RECORDS = Counter("magma_stage_records_total", "Records whose offset was committed", ["stage"])
BATCHES = Counter("magma_stage_batches_total", "Batches whose offsets were committed", ["stage"])
RETRIES = Counter("magma_stage_retries_total", "Attempts that failed and are made again", ["stage", "code"])
DEAD_LETTERS = Counter(
    "magma_stage_dead_letters_total", "Records acknowledged by a dead-letter topic", ["stage", "code"]
)
PUBLISHED = Counter("magma_stage_published_total", "Records acknowledged by the stage's output topic", ["stage"])
UNCOMMITTED = Counter("magma_stage_commit_failures_total", "Batches whose commit failed; they come again", ["stage"])
ABANDONED = Counter(
    "magma_stage_abandoned_total", "Batches given up at a rebalance or stop; they come again", ["stage"]
)
HANDLE_SECONDS = Histogram(
    "magma_stage_handle_seconds", "Time from a batch's first attempt until it is durable", ["stage"], buckets=_SECONDS
)
SETTLE_SECONDS = Histogram(
    "magma_stage_settle_seconds",
    "Time of publishing, dead-lettering and committing a batch",
    ["stage"],
    buckets=_SECONDS,
)
LAG = Gauge(
    "magma_stage_lag_records",
    "Records of a partition not yet read; a lower bound on the local broker, whose end offsets are low",
    ["stage", "partition"],
)
POSTPONED = Gauge("magma_stage_postponed_records", "Records held until a tenant may be worked for again", ["stage"])
