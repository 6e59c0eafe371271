"""What the local stack consists of, how it is asked for, and the file that says where it runs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.errors import StackProblem
from memory.settings import STACK_FILE, Settings, stack_settings

#: Said wherever the local stack is described: an empty log must never pass for an empty memory.
LOG_IN_MEMORY = (
    "log in memory: what was not consumed when it stopped is gone; nothing is reloaded by itself. "
    "Graph and vectors keep their data"
)


class Service(StrEnum):
    """A server of the stack."""

    BROKER = "broker"
    GRAPH = "graph"
    VECTORS = "vectors"

    @property
    def address_setting(self) -> str:
        """The setting that holds this server's address; when a person sets it, their server is used."""
        return _ADDRESS_SETTING[self]

    @property
    def port_option(self) -> str:
        """The option of `magma up` that fixes this server's port."""
        return _PORT_OPTION[self]


_ADDRESS_SETTING = {
    Service.BROKER: "kafka_bootstrap",
    Service.GRAPH: "graph_uri",
    Service.VECTORS: "milvus_uri",
}

_PORT_OPTION = {Service.BROKER: "--kafka-port", Service.GRAPH: "--graph-port", Service.VECTORS: "--milvus-port"}


class Owner(StrEnum):
    """Whose children the servers are."""

    SUPERVISOR = "supervisor"
    PROCESS = "process"


@dataclass(frozen=True, slots=True)
class StackPlan:
    """What to start. `ports`: fixed ones, any other is a free one; `external`: servers that somebody else runs."""

    ports: Mapping[Service, int] = field(default_factory=dict)
    external: frozenset[Service] = frozenset()

    @classmethod
    def beside(cls, settings: Settings, ports: Mapping[Service, int] | None = None) -> Self:
        """Plan what a person did not give already: a server whose address they set is theirs and is not started."""
        from_stack = stack_settings(settings.data_dir)
        given = frozenset(
            service
            for service in Service
            if (name := service.address_setting) in settings.model_fields_set
            and getattr(settings, name) != from_stack.get(name)
        )
        return cls(ports or {}, given)


class ServiceStatus(BaseModel):
    """One server as it is now. `address` is empty and `pid` is None when it does not run."""

    model_config = ConfigDict(frozen=True)

    name: Service
    version: str = ""
    address: str = ""
    ready: bool = False
    pid: int | None = None
    restarts: int = 0
    note: str = ""


class StackState(BaseModel):
    """Content of `stack.json`. `settings` is read by `memory.settings` and holds the graph's password: mode 0600."""

    model_config = ConfigDict(frozen=True)

    settings: dict[str, Any]
    services: tuple[ServiceStatus, ...]
    owner: Owner
    pid: int
    started_at: datetime = Field(default_factory=lambda: datetime.now(UTC))


class StartReport(BaseModel):
    """What the supervisor tells `magma up`, once: all servers answered (no `message`), or why not.

    `held`: another stack has the directory. `killed_pid`: the supervisor before this one, if it was killed.
    """

    model_config = ConfigDict(frozen=True)

    message: str = ""
    hint: str = ""
    held: bool = False
    killed_pid: int | None = None


def write_state(data_dir: Path, state: StackState) -> None:
    """Replace `stack.json` in one step, readable by its owner alone."""
    fresh = data_dir / f"{STACK_FILE}.{os.getpid()}"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(state.model_dump_json(indent=2))
    fresh.replace(data_dir / STACK_FILE)


def read_state(data_dir: Path) -> StackState | None:
    """Read `stack.json`; None when there is none. Raises `StackProblem` when it is not what `magma up` writes."""
    path = data_dir / STACK_FILE
    try:
        return StackState.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValidationError) as error:
        raise StackProblem(f"cannot read {path}", hint="run `magma down`, then `magma up`") from error


def remove_state(data_dir: Path) -> None:
    """Remove `stack.json`, so that no process takes the addresses of servers that are gone."""
    (data_dir / STACK_FILE).unlink(missing_ok=True)
