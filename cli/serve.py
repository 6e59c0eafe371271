"""`magma serve`: the query service."""

from functools import partial
from typing import Annotated

import typer

from cli.options import DataDir, settings_for
from query_api.service import serve as serve_app
from streams.door import open_door
from streams.erasure_feed import orders
from streams.erasures import ask


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to bind (default: serve_host).")] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65_535, help="Port (default: serve_port).")] = None,
    data_dir: DataDir = None,
) -> None:
    """Run the query service until it is told to stop.

    Example: magma serve --port 8080
    """
    settings = settings_for(data_dir)
    serve_app(
        settings,
        host=host or settings.serve_host,
        port=settings.serve_port if port is None else port,
        order=partial(ask, settings),
        feed=partial(orders, settings),
        door=partial(open_door, settings),
    )
