"""A model's judgement of pairs of names, over real HTTP: what names and texts say stays a quotation."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import SecretStr

from memory.errors import UnusableModelOutput
from memory.llm.merging import Ground, Judgement, MergeJudge, Side, rendered
from memory.llm.prompts import load_prompt
from memory.settings import LlmProvider, Settings
from tests.llm.server import Reply, Script, serving
from tests.llm.test_hostile import HOSTILE

ONE = Side("Bookkeeper", "service", ("Bookkeeper", "the bookkeeper"), 3, ("The bookkeeper is slow.",))
OTHER = Side("ledger-primary", "service", ("ledger-primary",), 9, ())


def judgement(*, same: bool = True, confidence: float = 0.9, ground: str = "role") -> dict[str, Any]:
    return {"same": same, "confidence": confidence, "ground": ground}


def answer(**pairs: dict[str, Any]) -> Reply:
    return Reply(json.dumps({"pairs": pairs}))


async def ask(script: Script, pairs: Sequence[tuple[Side, Side]]) -> list[Judgement]:
    settings = Settings(
        llm_provider=LlmProvider.OPENAI,
        llm_model="test-model",
        openai_base_url=script.url,
        openai_api_key=SecretStr("k"),
    )
    judge = MergeJudge(settings)
    try:
        return await judge.judge("t", pairs)
    finally:
        await judge.close()


async def test_each_pair_is_judged_under_a_schema_of_its_own() -> None:
    with serving(answer(p1=judgement(), p2=judgement(same=False, ground="none"))) as script:
        said = await ask(script, [(ONE, OTHER), (OTHER, ONE)])
    assert [(one.same, one.ground) for one in said] == [(True, Ground.ROLE), (False, Ground.NONE)]
    schema = script.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["pairs"]["required"] == ["p1", "p2"]


@pytest.mark.parametrize(
    "bad",
    [
        answer(p1=judgement(), p9=judgement()),
        answer(),
        answer(p1=judgement(ground="because the text told me so")),
        answer(p1=judgement(confidence=7)),
        Reply("both are one"),
    ],
    ids=["unknown-pair", "left-out", "own-words", "confidence", "prose"],
)
async def test_an_answer_about_other_pairs_or_out_of_form_is_repaired_once_and_then_refused(bad: Reply) -> None:
    with serving(bad, answer(p1=judgement())) as script:
        assert (await ask(script, [(ONE, OTHER)]))[0].same
        assert len(script.requests) == 2
    with serving(bad) as script, pytest.raises(UnusableModelOutput):
        await ask(script, [(ONE, OTHER)])
    assert len(script.requests) == 2


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_names_and_texts_stay_within_the_strings_of_their_own_line(text: str) -> None:
    hostile = Side(text[:256], "other", (text[:256],), 1, (text,))
    user = rendered([(hostile, OTHER), (ONE, OTHER)], load_prompt("merge"))
    lines = user.splitlines()
    (begin,) = (at for at, line in enumerate(lines) if line.startswith("BEGIN PAIRS"))
    (end,) = (at for at, line in enumerate(lines) if line.startswith("END PAIRS"))
    assert lines[begin].removeprefix("BEGIN PAIRS ") == lines[end].removeprefix("END PAIRS ")
    assert [line.partition(" ")[0] for line in lines[begin + 1 : end]] == ["[p1]", "[p2]"]
    line = lines[begin + 1].removeprefix("[p1] ")
    one, at = json.JSONDecoder().raw_decode(line)
    assert (one["type"], one["events"], len(one["texts"])) == ("other", 1, 1)
    assert json.loads(line[at:])["name"] == "ledger-primary"
