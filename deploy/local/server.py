"""What the stack needs to know of a server."""

import asyncio
import importlib.util
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol
from urllib.parse import urlsplit

from deploy.local.process import Command
from deploy.local.services import Service
from memory.errors import MissingExtra, StoreUnavailable
from memory.settings import Settings


class Server(Protocol):
    """One server of the local stack: how it is started and where it is then found."""

    service: ClassVar[Service]
    package: ClassVar[str]

    @property
    def version(self) -> str:
        """Name and version of the server, as its package says it."""
        ...

    def prepare(self) -> None:
        """Make its folders and secrets; called before each start."""
        ...

    def command(self, port: int) -> Command:
        """Give the command that serves on this port of loopback."""
        ...

    def settings(self, port: int) -> Mapping[str, Any]:
        """Give the settings by which clients find it."""
        ...


def require_packages(*packages: str) -> None:
    """Raise `MissingExtra` naming what is not installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"the local stack needs packages that are not installed: {', '.join(missing)}",
            hint="pip install 'magma-memory[local]'",
        )


async def require_listener(service: Service, host: str, port: int, timeout_s: float) -> None:
    """Raise `StoreUnavailable` unless the port accepts: cheap, and keeps client libraries from retrying and logging."""
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        raise StoreUnavailable(
            f"{service} does not listen on {host}:{port}", hint="start it with `magma up`"
        ) from error
    writer.close()


def host_and_port(address: str, default_port: int) -> tuple[str, int]:
    """Split `scheme://host:port`, or `host:port`."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    return parts.hostname or "127.0.0.1", parts.port or default_port


async def ping(service: Service, settings: Settings, timeout_s: float) -> str:
    """Ask the server at the settings' address a real question; give its version or "" if it does not tell.

    Raises `StoreUnavailable` when it does not answer in time, `StoreRefused` when it answers that it never will.
    """
    from deploy.local import broker, graph, vectors  # the clients are heavy: only who pings pays for them

    ask = {Service.BROKER: broker.ping, Service.GRAPH: graph.ping, Service.VECTORS: vectors.ping}[service]
    try:
        async with asyncio.timeout(timeout_s):
            return await ask(settings, timeout_s)
    except TimeoutError as error:
        where = getattr(settings, service.address_setting)
        raise StoreUnavailable(f"{service} at {where} did not answer in {timeout_s:g} s") from error
