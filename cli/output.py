"""How every command speaks: one JSON object or something to read on stdout, everything else on stderr, exit statuses.

Exit status: 0 done, 1 failed (one sentence on stderr), 2 wrong use, 130 interrupted. A traceback only with `--debug`.
"""

import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import orjson
import typer
from pydantic import BaseModel
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from memory.errors import MagmaError

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_INTERRUPTED = 130

#: Width of tables and trees, in characters, where nobody's terminal says one.
PIPE_WIDTH = 240

DEBUG_FLAG = "--debug"

#: Control characters but newline and tab, marks that turn the direction, halves of surrogate pairs.
_ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

#: What a command gives: a model or a plain object of JSON values (dates, enums and UUIDs included).
Document = BaseModel | Mapping[str, Any]


def to_console() -> Console:
    """Give a console on stdout; made at each call so that a replaced `sys.stdout` is respected."""
    piped = not sys.stdout.isatty()
    return Console(file=sys.stdout, soft_wrap=piped, width=PIPE_WIDTH if piped else None)


def as_it_is(text: str, style: str = "") -> Text:
    """Give text that others wrote so that it is shown and does nothing: no markup, no control sequences of a terminal,
    no turning of the writing's direction."""
    return Text(_ACTIVE.sub("\ufffd", text), style=style)


def to_stderr() -> Console:
    """Give a console on stderr: progress, warnings, errors."""
    return Console(file=sys.stderr, soft_wrap=True)


def emit(
    json_mode: bool, document: Document, human: RenderableType | Callable[[], RenderableType] | None = None
) -> None:
    """Write a command's result to stdout: the document as one line of JSON, or `human` (its keys and values if None).

    `human` may be a function, called only when there is somebody to read.
    """
    if json_mode:
        plain = document.model_dump(mode="json", by_alias=True) if isinstance(document, BaseModel) else dict(document)
        sys.stdout.write(orjson.dumps(plain, default=str).decode() + "\n")
        sys.stdout.flush()
        return
    if human is None:
        human = _pairs(document)
    to_console().print(human() if callable(human) else human)


def note(sentence: str) -> None:
    """Say something on stderr that is neither the result nor an error."""
    to_stderr().print(as_it_is(sentence))


def fail(error: MagmaError | str, *, status: int = EXIT_FAILED) -> NoReturn:
    """Say the error in one sentence on stderr and leave the command with `status`."""
    _say_error(str(error))
    raise typer.Exit(status)


def run_command(app: Callable[..., object], arguments: Sequence[str] | None = None) -> int:
    """Run the typer app and give its exit status; `MagmaError`s become a sentence, `--debug` works at any position.

    Errors raised inside a `TaskGroup` are found in their group. Anything else unexpected is a defect of Magma: its
    type and message are said, with the way to see the traceback.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = DEBUG_FLAG in given
    given = [word for word in given if word != DEBUG_FLAG]
    try:
        app(args=given, prog_name="magma", standalone_mode=True)
    except SystemExit as stop:
        return _status_of(stop)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`magma … | head`): nothing is left to say, and the interpreter must not flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001
        # Last stop before the interpreter: here a traceback becomes a sentence, unless it was asked for.
        if debug:
            traceback.print_exc()
        return _explain(error, debug=debug)
    return EXIT_DONE


def _explain(error: BaseException, *, debug: bool) -> int:
    """Say what went wrong; give the exit status."""
    leaves = list(_leaves(error))
    if any(isinstance(leaf, KeyboardInterrupt) for leaf in leaves):
        return EXIT_INTERRUPTED
    ours = [leaf for leaf in leaves if isinstance(leaf, MagmaError)]
    if ours:
        _say_error(str(ours[0]))
    else:
        hint = "" if debug else f" (run again with {DEBUG_FLAG} to see where)"
        _say_error(f"unexpected {type(leaves[0]).__name__}: {leaves[0]}{hint}")
    return EXIT_FAILED


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Walk an exception group to the errors in it."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _status_of(stop: SystemExit) -> int:
    """Give the status that the interpreter would exit with."""
    if stop.code is None:
        return EXIT_DONE
    return stop.code if isinstance(stop.code, int) else EXIT_FAILED


def _say_error(sentence: str) -> None:
    to_stderr().print(Text.assemble(("magma: ", "bold red"), as_it_is(" ".join(sentence.split()))))


def _pairs(document: Document) -> Table:
    """Give keys and values to read."""
    plain = document.model_dump(mode="json") if isinstance(document, BaseModel) else document
    table = Table(show_header=False, box=None)
    for key, value in plain.items():
        shown = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
        table.add_row(Text(key, style="bold"), as_it_is(shown))
    return table
