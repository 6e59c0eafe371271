"""Ctrl-C reaches a command's coroutine between two callbacks of its loop, never inside one."""

import asyncio
import signal
import threading

import pytest

from cli.loop import run


def test_a_result_is_given() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 42

    assert run(answer()) == 42


def test_ctrl_c_inside_a_callback_lets_the_callback_finish() -> None:
    wrong: list[dict[str, object]] = []
    cleaned: list[bool] = []

    async def wait() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: wrong.append(context))
        answer: asyncio.Future[int] = loop.create_future()

        def respond() -> None:
            if not answer.done():
                signal.raise_signal(signal.SIGINT)  # what a client's reader cannot guard against
                answer.set_result(1)

        loop.call_soon(respond)
        try:
            await answer
            await asyncio.sleep(30)
        finally:
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run(wait())
    assert cleaned == [True]
    assert wrong == []


def test_a_second_ctrl_c_does_not_wait_for_the_cleaning() -> None:
    async def stubborn() -> None:
        signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.sleep(30)
        finally:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(30)

    with pytest.raises(KeyboardInterrupt):
        run(stubborn())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_cancellation_of_its_own_is_no_ctrl_c() -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(cancelled())


def test_a_coroutine_runs_in_a_thread_that_gets_no_signals() -> None:
    async def answer() -> int:
        return threading.get_ident()

    got: list[int] = []
    thread = threading.Thread(target=lambda: got.append(run(answer())))
    thread.start()
    thread.join(10)
    assert got == [thread.ident]
