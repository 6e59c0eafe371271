"""The bench's model reads what the product shows of a window, and says the same of an event in any window."""

import zlib

import aiohttp

from bench.loopback_model import loopback_model, read
from memory.llm import Window
from memory.llm.prompts import load_prompt
from memory.llm.rendering import render
from tests.consolidators.memory import node

TEXTS = (
    'Maria said "stop" to Basalt.',
    "Then Robert restarted it.",
    "All is well.",
    "Nobody knows why Quartz failed.",
    "It is slow again.",
)
EVENTS = tuple(node(f"e{at}", text, at=at) for at, text in enumerate(TEXTS))


def links(new: tuple[int, ...]) -> set[tuple[str, str]]:
    rendered = render(Window("t", "s1", EVENTS, frozenset(EVENTS[at].id for at in new)), load_prompt("consolidate"))
    reading = read(rendered.user)
    assert [event["id"] for event in reading["events"]] == list(rendered.new)
    return {(rendered.ids[link["cause"]], rendered.ids[link["effect"]]) for link in reading["causal_links"]}


def test_the_log_of_a_prompt_is_read_and_windows_do_not_matter() -> None:
    whole = links((0, 1, 2, 3, 4))
    assert whole == links((0, 1)) | links((2, 3)) | links((4,))
    wanted = {
        (EVENTS[at].id, EVENTS[at + 1].id)
        for at in range(len(TEXTS) - 1)
        if zlib.crc32(f"{TEXTS[at][:60]}\n{TEXTS[at + 1][:60]}".encode()) % 3 == 0
    }
    assert whole == wanted


async def test_calls_are_counted_and_answered_as_chat_completions() -> None:
    rendered = render(Window("t", "s1", EVENTS, frozenset({EVENTS[0].id})), load_prompt("consolidate"))
    body = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": rendered.user}]}
    async with (
        loopback_model(0.0) as model,
        aiohttp.ClientSession() as session,
        session.post(f"{model.url}/chat/completions", json=body) as answer,
    ):
        content = (await answer.json())["choices"][0]["message"]["content"]
    assert '"name":"Maria"' in content
    assert model.calls == 1
