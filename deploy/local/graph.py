"""The graph: an ArcadeDB server that speaks Bolt, native, in a process of its own.

The data live in `<data_dir>/graph`, with the password beside them: a fresh one for each data directory.
"""

import importlib.metadata
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from deploy.local.ports import LOOPBACK, free_port
from deploy.local.process import Command, server_environment
from deploy.local.server import host_and_port, require_listener
from deploy.local.services import Service
from memory.connections import bolt_options
from memory.errors import StoreRefused, StoreUnavailable
from memory.settings import Settings

DATABASE = "memgraph"
USER = "root"
_PASSWORD_BYTES = 24
_EVENT_LOGS_KEPT = 5

#: Run, never imported: it loads the engine.
SCRIPT = Path(__file__).with_name("graph_server.py")


@dataclass(frozen=True)
class GraphServer:
    """Starts ArcadeDB with its Bolt plugin."""

    service: ClassVar[Service] = Service.GRAPH
    package: ClassVar[str] = "arcadedb"

    data_dir: Path

    @property
    def root(self) -> Path:
        """The server's own folder."""
        return self.data_dir / "graph"

    @property
    def password_file(self) -> Path:
        """Where the password stands, readable by the owner alone; a file, so that `ps` does not show it."""
        return self.root / "password"

    @property
    def version(self) -> str:
        """Name and version of the package; the running server tells its own."""
        return f"ArcadeDB {importlib.metadata.version(self.package)}"

    def prepare(self) -> None:
        """Make the folder, the password and room for logs."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.password_file.exists():
            # A server that has users keeps their passwords: without the file nobody knows them, so they are made anew.
            (self.root / "config" / "server-users.jsonl").unlink(missing_ok=True)
            handle = os.open(self.password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(secrets.token_urlsafe(_PASSWORD_BYTES))
        for old in sorted((self.root / "log").glob("server-event-log-*.jsonl"))[:-_EVENT_LOGS_KEPT]:
            old.unlink()
        for old in self._engine_logs.glob("arcadedb.log.*"):
            old.unlink()
        self._engine_logs.mkdir(parents=True, exist_ok=True)

    @property
    def _engine_logs(self) -> Path:
        return self.data_dir / "logs" / "graph"

    def command(self, port: int) -> Command:
        """Give the command; the HTTP port that the engine insists on is a free one of loopback."""
        arguments = [sys.executable, "-P", str(SCRIPT), str(self.root), str(port), str(free_port())]
        environment = server_environment(ARCADEDB_LOG_DIR=str(self._engine_logs))
        return Command([*arguments, str(self.password_file), DATABASE], environment)

    def settings(self, port: int) -> Mapping[str, Any]:
        """Give address, user, password and database."""
        return {
            "graph_uri": f"bolt://{LOOPBACK}:{port}",
            "graph_user": USER,
            "graph_password": self.password_file.read_text(encoding="utf-8").strip(),
            "graph_database": DATABASE,
        }


async def ping(settings: Settings, timeout_s: float) -> str:
    """Ask the database for 1: the port opens before the database is there. Gives the server's agent string."""
    from neo4j import AsyncGraphDatabase, NotificationMinimumSeverity
    from neo4j.exceptions import AuthError, DriverError, Neo4jError

    await require_listener(Service.GRAPH, *host_and_port(settings.graph_uri, 7687), timeout_s)
    driver = AsyncGraphDatabase.driver(
        settings.graph_uri,
        **bolt_options(settings),
        connection_timeout=timeout_s,
        connection_acquisition_timeout=timeout_s,
        max_transaction_retry_time=0,
        notifications_min_severity=NotificationMinimumSeverity.OFF,
        telemetry_disabled=True,
    )
    try:
        async with driver.session(database=settings.graph_database) as session:
            answer = await session.run("RETURN 1 AS one")
            summary = await answer.consume()
    except AuthError as error:
        raise StoreRefused(
            f"the graph at {settings.graph_uri} refuses the user {settings.graph_user}",
            hint="check MAGMA_GRAPH_USER and MAGMA_GRAPH_PASSWORD",
        ) from error
    except (DriverError, Neo4jError, OSError) as error:
        raise StoreUnavailable(f"the graph at {settings.graph_uri} does not answer: {error}") from error
    finally:
        await driver.close()
    return str(summary.server.agent)
