"""Every setting, once. `MAGMA_<NAME>` in the environment, or `<name> = value` in `magma.toml`.

Precedence: arguments, environment, `magma.toml` in the working folder, the running local stack's addresses
(`<data_dir>/stack.json`, written by `magma up`), defaults. A laptop and production differ in addresses only.
"""

import os
from difflib import get_close_matches
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from memory.errors import BadSetting
from memory.settings_connections import ConnectionSettings
from memory.settings_face import FaceSettings
from memory.settings_intake import IntakeSettings
from memory.settings_privacy import PrivacySettings

#: What the local stack tells the settings; everything else in the file is for `magma status`.
STACK_FILE = "stack.json"
CONFIG_FILE = "magma.toml"
PREFIX = "MAGMA_"


class EmbeddingModel(StrEnum):
    """Which encoder turns text into vectors. Stored with the collection; a mismatch refuses to start."""

    WORDLLAMA = "wordllama"
    BGE_SMALL = "bge-small"
    OPENAI = "openai"


class LlmProvider(StrEnum):
    """Who consolidates: deterministic rules, offline, or any OpenAI-compatible endpoint."""

    RULES = "rules"
    OPENAI = "openai"


class RouterName(StrEnum):
    """Who understands questions: deterministic rules, or the configured model with the rules behind it."""

    RULES = "rules"
    LLM = "llm"


class Settings(ConnectionSettings, FaceSettings, IntakeSettings, PrivacySettings, BaseSettings):
    """Settings of every Magma process. Units stand in the names."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True, hide_input_in_errors=True
    )

    data_dir: Path = Field(Path(".magma"), description="where the local stack keeps its data")

    kafka_bootstrap: str = Field("127.0.0.1:9092", description="Kafka brokers, host:port[,host:port]")
    kafka_session_timeout_ms: Annotated[int, Field(ge=1_000, le=600_000)] = Field(
        30_000, description="a worker silent for so long loses its partitions; the local stack uses 6000"
    )
    kafka_fetch_max_wait_ms: Annotated[int, Field(ge=1, le=30_000)] = Field(
        100, description="longest wait of a fetch for new records"
    )
    kafka_idempotent: bool = Field(True, description="idempotent producers; the local stack says false")
    topic_prefix: str = Field("", pattern=r"^[A-Za-z0-9._-]*$", description="put before every topic and group name")
    topic_partitions: Annotated[int, Field(ge=1, le=10_000)] = Field(4, description="partitions of new topics")
    topic_replication: Annotated[int, Field(ge=1, le=32)] = Field(1, description="replicas of new topics")

    graph_uri: str = Field("bolt://127.0.0.1:7687", description="Memgraph, Bolt address")
    graph_user: str = Field("magma", description="Bolt user")
    graph_password: SecretStr = Field(SecretStr("magma"), description="Bolt password")
    graph_database: str = Field("memgraph", description="Bolt database; Memgraph Community has this one")
    graph_timeout_s: Annotated[float, Field(gt=0, le=600)] = Field(30.0, description="bound on one transaction")

    milvus_uri: str = Field("http://127.0.0.1:19530", description="Milvus address")
    milvus_token: SecretStr = Field(SecretStr(""), description="Milvus token, user:password or an API key")
    milvus_collection: str = Field("magma_events", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="collection name")
    milvus_timeout_s: Annotated[float, Field(gt=0, le=600)] = Field(20.0, description="bound on one call")

    embedding_model: EmbeddingModel = Field(EmbeddingModel.WORDLLAMA, description="encoder of the fast path")
    embedding_dim: Annotated[int, Field(ge=1, le=32_768)] | None = Field(
        None, description="dimension; the model's own when not set"
    )
    embedding_openai_model: str = Field("text-embedding-3-small", description="model name for embedding_model=openai")

    openai_base_url: str | None = Field(None, description="OpenAI-compatible endpoint; OpenAI's when not set")
    openai_api_key: SecretStr = Field(SecretStr(""), description="key for the endpoint")
    llm_provider: LlmProvider = Field(LlmProvider.RULES, description="who consolidates")
    llm_model: str = Field("gpt-4o-mini", description="model name for llm_provider=openai and for answers")
    llm_timeout_s: Annotated[float, Field(gt=0, le=600)] = Field(60.0, description="bound on one model call")
    llm_concurrency: Annotated[int, Field(ge=1, le=256)] = Field(
        4, description="consolidation calls that one process has open at a time"
    )
    llm_requests_per_minute: Annotated[float, Field(gt=0)] | None = Field(
        None, description="most consolidation calls a minute for one tenant, by each process; no limit when not set"
    )
    llm_tokens_per_minute: Annotated[float, Field(gt=0)] | None = Field(
        None, description="most tokens a minute for one tenant, by each process; no limit when not set"
    )
    llm_daily_tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="tokens of a UTC day for one tenant, all processes together; then its events wait"
    )
    llm_price_prompt: Annotated[float, Field(ge=0)] | None = Field(
        None, description="price of a million prompt tokens, in any currency; money is counted when both are set"
    )
    llm_price_completion: Annotated[float, Field(ge=0)] | None = Field(
        None, description="price of a million completion tokens, in the same currency"
    )
    llm_kept_days: Annotated[int, Field(ge=1, le=3_650)] = Field(
        30, description="how long a model's reading of an event is kept, so that it is not paid for twice"
    )

    router: RouterName = Field(
        RouterName.RULES, description="who reads a question's intent; `llm` asks llm_model and falls back to the rules"
    )
    router_timeout_s: Annotated[float, Field(gt=0, le=60)] = Field(
        2.0, description="bound on the routing model's answer; then the rules route and `degraded` says so"
    )

    policy: str = Field(
        "default", min_length=1, description="a shipped policy, or the path of a TOML file (`magma tune`)"
    )
    ranking_model: Path | None = Field(
        None, description="a ranking model of `magma tune --out`; the shipped one when not set"
    )
    erased_from_log_within_ms: Annotated[int, Field(ge=1, le=2**62)] = Field(
        86_400_000, description="erased events leave the log within this time (max.compaction.lag.ms of memory.events)"
    )
    receipt_key_file: Path | None = Field(
        None, description="Ed25519 private key (PEM) that signs receipts; made in data_dir when not set"
    )

    batch_max_events: Annotated[int, Field(ge=1, le=1_000)] = Field(512, description="most events in one durable write")
    window_max_events: Annotated[int, Field(ge=1, le=1_000)] = Field(
        24, description="a session's new events are consolidated once there are so many, or one of the next two holds"
    )
    window_quiet_ms: Annotated[int, Field(ge=0, le=3_600_000)] = Field(
        200, description="a session without a new event for so long is consolidated"
    )
    window_max_age_ms: Annotated[int, Field(ge=0, le=3_600_000)] = Field(
        2_000, description="a session whose first new event waits for so long is consolidated"
    )
    llm_window_quiet_ms: Annotated[int, Field(ge=0, le=3_600_000)] = Field(
        2_000, description="window_quiet_ms of the stages that ask a model: longer, for fewer calls"
    )
    llm_window_max_age_ms: Annotated[int, Field(ge=0, le=3_600_000)] = Field(
        20_000, description="window_max_age_ms of the stages that ask a model"
    )
    write_timeout_s: Annotated[float, Field(gt=0, le=600)] = Field(60.0, description="bound on one durable write")
    stop_timeout_s: Annotated[float, Field(gt=0, le=60)] = Field(10.0, description="bound on a worker's shutdown")
    stall_timeout_s: Annotated[float, Field(gt=0, le=86_400)] = Field(
        300.0, description="a worker with work and no progress for so long exits, to be restarted"
    )
    worker_http_port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        0, description="port of a worker's /live, /ready and /metrics on serve_host; 0: none"
    )

    serve_host: str = Field("127.0.0.1", description="address of the query service")
    serve_port: Annotated[int, Field(ge=0, le=65_535)] = Field(8080, description="port of the query service")
    context_budget_tokens: Annotated[int, Field(ge=50, le=100_000)] = Field(3_000, description="default context budget")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources; the stack's addresses stand last, so that anything a person wrote wins."""
        toml = TomlConfigSettingsSource(settings_cls, Path(CONFIG_FILE))
        given = {**toml(), **env_settings(), **init_settings()}
        data_dir = Path(given.get("data_dir", ".magma"))
        return (init_settings, env_settings, toml, InitSettingsSource(settings_cls, stack_settings(data_dir)))

    @cached_property
    def stack_file(self) -> Path:
        """Where the local stack writes its addresses."""
        return self.data_dir / STACK_FILE


def stack_settings(data_dir: Path) -> dict[str, Any]:
    """Give the settings that a running local stack provides; empty when none runs or the file is not readable."""
    try:
        document = orjson.loads((data_dir / STACK_FILE).read_bytes())
    except (FileNotFoundError, NotADirectoryError, PermissionError, orjson.JSONDecodeError):
        return {}
    found = document.get("settings", {}) if isinstance(document, dict) else {}
    return {name: value for name, value in found.items() if name in Settings.model_fields}


def load_settings(**given: Any) -> Settings:
    """Load the settings; raises `BadSetting` naming each unknown or invalid one and where it can be set."""
    unknown = sorted(
        name
        for name in os.environ
        if name.startswith(PREFIX) and name.removeprefix(PREFIX).lower() not in Settings.model_fields
    )
    if unknown:
        near = get_close_matches(unknown[0].removeprefix(PREFIX).lower(), Settings.model_fields, 1)
        hint = f"did you mean {PREFIX}{near[0].upper()}?" if near else "docs/settings.md lists all settings"
        raise BadSetting(f"unknown setting in the environment: {', '.join(unknown)}", hint=hint)
    try:
        return Settings(**given)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, item['loc'])) or 'together'}: {item['msg']}" for item in error.errors()]
        raise BadSetting(
            f"bad setting: {'; '.join(lines)}", hint=f"set {PREFIX}<NAME> in the environment or <name> in {CONFIG_FILE}"
        ) from error
