"""What every command may rely on: where its words go and with which status it leaves."""

import asyncio
import json
from collections.abc import Callable

import pytest
import typer

from cli.output import emit, fail, note, run_command
from memory.errors import NotFound, StackProblem


def app_of(*commands: Callable[..., None]) -> typer.Typer:
    app = typer.Typer(add_completion=False)
    app.callback()(lambda: None)
    for command in commands:
        app.command()(command)
    return app


def test_json_is_one_object_on_stdout_and_notes_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        note("halfway")
        emit(True, {"events": 3}, "never shown")

    assert run_command(app_of(work), ["work"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"events": 3}
    assert out.count("\n") == 1
    assert err == "halfway\n"


def test_a_result_without_a_drawing_is_shown_as_keys_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    emit(False, {"events": 3, "text": "[bold]kept as it is[/bold]"})
    out = capsys.readouterr().out
    assert "events" in out
    assert "[bold]kept as it is[/bold]" in out


def test_an_error_is_one_sentence_and_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        raise StackProblem("port 9092 is in use", hint="choose another with --kafka-port")

    assert run_command(app_of(work), ["work"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "magma: port 9092 is in use. choose another with --kafka-port\n"


def test_an_error_inside_a_task_group_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    async def broken() -> None:
        raise NotFound("no such event: e1")

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(broken())
            group.create_task(asyncio.sleep(5))

    def work() -> None:
        asyncio.run(both())

    assert run_command(app_of(work), ["work"]) == 1
    assert capsys.readouterr().err == "magma: no such event: e1\n"


@pytest.mark.parametrize("arguments", [["--debug", "work"], ["work", "--debug"]])
def test_a_traceback_only_with_debug(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        raise ValueError("surprise")

    app = app_of(work)
    assert run_command(app, ["work"]) == 1
    quiet = capsys.readouterr().err
    assert "Traceback" not in quiet
    assert "surprise" in quiet
    assert run_command(app, arguments) == 1
    assert "Traceback" in capsys.readouterr().err


def test_wrong_use_is_2_and_interruption_130(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        raise KeyboardInterrupt

    app = app_of(work)
    assert run_command(app, ["work", "--no-such-option"]) == 2
    assert run_command(app, ["no-such-command"]) == 2
    assert run_command(app, ["work"]) == 130


def test_fail_leaves_with_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        fail("three letters could not be sent", status=1)

    assert run_command(app_of(work), ["work"]) == 1
    assert capsys.readouterr().err == "magma: three letters could not be sent\n"
