"""A progress bar on stderr when a person looks, nothing in a pipe."""

from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from cli.output import to_stderr


class Progress:
    """A context manager that is called with how many are done."""

    def __init__(self, what: str, total: int | None = None) -> None:
        console = to_stderr()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = RichProgress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self._task = self._progress.add_task(what, total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, done: int) -> None:
        """Show that `done` are done."""
        self._progress.update(self._task, completed=done)
