"""`magma worker`: runs stages of the pipeline in this process. The place where rooms that never meet are joined."""

import logging
import sys
from collections.abc import Mapping
from functools import partial
from typing import Annotated

import typer

from cli.options import DataDir, settings_for
from cli.workers import registered
from memory.records import HandlerFactory
from streams.erasures import open_erase
from streams.ingest import open_ingest
from streams.intake import open_intake
from streams.runtime import run_stages
from streams.topics import Stage


def worker(
    stages: Annotated[list[Stage], typer.Argument(help="Stages to run in this process.", metavar="STAGE...")],
    data_dir: DataDir = None,
) -> None:
    """Run stages of the pipeline until told to stop; as many processes as you like.

    Example: magma worker intake ingest semantic entities causal episodes
    """
    settings = settings_for(data_dir)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    wanted = list(dict.fromkeys(stages))
    with registered(settings, wanted):
        status = run_stages(settings, factories(wanted))
    raise typer.Exit(status)


def factories(stages: list[Stage]) -> Mapping[Stage, HandlerFactory]:
    """Give for each stage what opens its handler on the worker's loop."""
    return {stage: _factory(stage) for stage in stages}


def _factory(stage: Stage) -> HandlerFactory:
    match stage:
        case Stage.INTAKE:
            return open_intake
        case Stage.INGEST:
            return open_ingest
        case Stage.ERASE:
            return open_erase
        case _:
            from consolidators import open_handler  # loads language models: only for the stages that need them

            return partial(open_handler, stage.value)
