"""`magma dlq`: dead letters, for the person who fixes what made them."""

from typing import Annotated

import typer
from pydantic import BaseModel
from rich.table import Table

from cli.loop import run
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import as_it_is, emit
from cli.times import age
from memory.errors import NotFound
from streams.dlq import DeadLetter, drop, letters, redrive
from streams.letters import ErrorHeader
from streams.topics import Topic

dlq = typer.Typer(help="Dead letters: list, show, redrive, drop.", no_args_is_help=True, rich_markup_mode=None)

#: How much of a value `dlq list` shows, and `dlq show` at most, in bytes.
SHOWN_BYTES = 65_536

TopicOption = Annotated[Topic | None, typer.Option("--topic", help="Only letters of this topic.")]
ErrorOption = Annotated[str | None, typer.Option("--error", help="Only letters with this error code.")]
AgeOption = Annotated[str | None, typer.Option("--older-than", help="Only letters older than this: 90s, 15m, 2h, 1d.")]
PlaceArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Letters by where they first stood: TOPIC/PARTITION/OFFSET.", metavar="PLACE…"),
]


class LetterView(BaseModel):
    """A dead letter; `topic`, `partition`, `offset` say where the record first stood."""

    topic: str
    partition: int
    offset: int
    error: str
    message: str
    stage: str
    attempts: int
    at: str

    @classmethod
    def of(cls, letter: DeadLetter) -> "LetterView":
        """Show a letter."""
        error = letter.error
        return cls(
            topic=error[ErrorHeader.TOPIC],
            partition=int(error[ErrorHeader.PARTITION]),
            offset=int(error[ErrorHeader.OFFSET]),
            error=letter.code,
            message=error[ErrorHeader.MESSAGE],
            stage=error[ErrorHeader.STAGE],
            attempts=int(error[ErrorHeader.ATTEMPTS]),
            at=letter.at.isoformat(),
        )


@dlq.command("list")
def list_letters(
    topic: TopicOption = None,
    error: ErrorOption = None,
    older_than: AgeOption = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """List the letters that are neither redriven nor dropped.

    Example: magma dlq list --topic agent.events --older-than 1h
    """
    views = [LetterView.of(letter) for letter in _chosen(data_dir, topic, error, older_than, None)]
    emit(json_mode, {"letters": [view.model_dump() for view in views]}, lambda: _table(views))


@dlq.command("show")
def show_letter(
    place: Annotated[str, typer.Argument(help="Where the letter first stood: TOPIC/PARTITION/OFFSET.")],
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Show one letter whole: its error, key, headers and value.

    Example: magma dlq show agent.events/2/17
    """
    letter = _chosen(data_dir, None, None, None, [place])[0]
    key, value = letter.record.key, letter.record.value
    document = {
        **LetterView.of(letter).model_dump(),
        "key": None if key is None else key.decode(errors="backslashreplace"),
        "headers": {name: found.decode(errors="backslashreplace") for name, found in letter.headers},
        "value": None if value is None else value[:SHOWN_BYTES].decode(errors="backslashreplace"),
        "value_bytes": 0 if value is None else len(value),
    }
    emit(json_mode, document)


@dlq.command("redrive")
def redrive_letters(
    places: PlaceArgument = None,
    topic: TopicOption = None,
    error: ErrorOption = None,
    older_than: AgeOption = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Send letters back to the topic they came from, after what was wrong is fixed. Doing it twice doubles nothing.

    Example: magma dlq redrive --error malformed_event
    """
    settings = settings_for(data_dir)
    chosen = _chosen(data_dir, topic, error, older_than, places)
    emit(json_mode, {"redriven": run(redrive(settings, chosen)) if chosen else 0})


@dlq.command("drop")
def drop_letters(
    places: PlaceArgument = None,
    topic: TopicOption = None,
    error: ErrorOption = None,
    older_than: AgeOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Give letters up: they are not listed any more.

    Example: magma dlq drop agent.events/2/17 --yes
    """
    settings = settings_for(data_dir)
    chosen = _chosen(data_dir, topic, error, older_than, places)
    if chosen and not yes:
        typer.confirm(f"Give up {len(chosen)} letters for good?", abort=True, err=True)
    emit(json_mode, {"dropped": run(drop(settings, chosen)) if chosen else 0})


def _chosen(
    data_dir: DataDir, topic: Topic | None, error: str | None, older_than: str | None, places: list[str] | None
) -> list[DeadLetter]:
    """Give the letters meant; raises `NotFound` for a named one that does not lie there."""
    topics = tuple(Topic) if topic is None else (topic,)
    older = None if older_than is None else age(older_than)
    found = run(letters(settings_for(data_dir), topics, code=error, older_than=older))
    if not places:
        return found
    by_place = {letter.place: letter for letter in found}
    for place in places:
        if place not in by_place:
            raise NotFound(f"there is no dead letter {place}", hint="`magma dlq list` shows those that there are")
    return [by_place[place] for place in places]


def _table(views: list[LetterView]) -> Table:
    table = Table(title=f"{len(views)} dead letters", title_justify="left")
    for column in ("place", "stage", "error", "attempts", "at", "message"):
        table.add_column(column)
    for view in views:
        place = f"{view.topic}/{view.partition}/{view.offset}"
        cells = (place, view.stage, view.error, str(view.attempts), view.at, view.message)
        table.add_row(*map(as_it_is, cells))
    return table
