"""The `magma` command: which file holds which command.

Only the file of the command that is run is imported: each brings clients that take seconds to load.
"""

import sys
from importlib import import_module

import typer

from cli.output import run_command

#: Command -> file in `cli/` that has a function, or a group of commands, of that name.
COMMANDS = {
    "up": "stack",
    "down": "stack",
    "status": "stack",
    "demo": "demo",
    "ingest": "ingest",
    "ask": "ask",
    "worker": "worker",
    "serve": "serve",
    "check": "check",
    "keys": "keys",
    "dlq": "dlq",
    "entities": "entities",
    "replay": "replay",
    "reconsolidate": "reconsolidate",
    "erase": "erase",
    "compact": "compact",
    "bench": "bench",
    "tune": "tune",
}


def build_app(wanted: str | None = None) -> typer.Typer:
    """Make the command line with all commands, or with the wanted one alone when there is one of that name."""
    app = typer.Typer(
        name="magma",
        help="Agent memory as a streaming pipeline: Kafka in, a four-relation memory, answers with their path. "
        "Any command takes --debug: a traceback with an error.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    names = [wanted] if wanted in COMMANDS else list(COMMANDS)
    for name in names:
        command = getattr(import_module(f"cli.{COMMANDS[name]}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    # A typer app of one command takes no command name; with a callback it does.
    app.callback()(lambda: None)
    return app


def main() -> None:
    """Run the command line and leave with its exit status."""
    sys.exit(magma(sys.argv[1:]))


def magma(arguments: list[str]) -> int:
    """Run one command in this process; gives its exit status."""
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    return run_command(build_app(wanted), with_wait_value(arguments))


def with_wait_value(arguments: list[str]) -> list[str]:
    """Let `--wait` stand alone: it means `--wait durable`."""
    done: list[str] = []
    for place, word in enumerate(arguments):
        done.append(word)
        if word == "--wait" and arguments[place + 1 : place + 2] not in (["durable"], ["consolidated"]):
            done.append("durable")
    return done


if __name__ == "__main__":
    main()
