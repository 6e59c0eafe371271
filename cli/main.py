"""The `magma` command: which file holds which command."""

import sys

import typer

from cli import ask, check, demo, ingest, serve, stack, worker
from cli.output import run_command

app = typer.Typer(
    name="magma",
    help="Agent memory as a streaming pipeline: Kafka in, a four-relation memory, answers with their path.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for command in (
    stack.up,
    stack.down,
    stack.status,
    demo.demo,
    ingest.ingest,
    ask.ask,
    worker.worker,
    serve.serve,
    check.check,
):
    app.command()(command)


def main() -> None:
    """Run the command line and leave with its exit status."""
    sys.exit(run_command(app, ingest.with_wait_value(sys.argv[1:])))


if __name__ == "__main__":
    main()
