"""Secrets come from the environment or files, and come out nowhere: not in texts of settings, errors, logs, status."""

import logging
import ssl
import traceback
from pathlib import Path

import pytest
from pydantic import SecretStr

from cli.main import magma
from cli.output import run_command
from deploy.local import stack_status
from memory.connections import bolt_options, milvus_options
from memory.errors import BadSetting, MagmaError
from memory.graph import Graph
from memory.kafka import TokenFile, kafka_options
from memory.settings import Settings, load_settings
from memory.settings_connections import MAX_SECRET_BYTES, SECRET_FILES
from memory.vectors import Vectors
from streams.admin import topic_partitions
from tests.security.authority import Authority

ROOT = Path(__file__).resolve().parents[2]
SECRET = "hunter2-0a1b2c3d4e5f6a7b"
SECRETS = [name for name, field in Settings.model_fields.items() if field.annotation is SecretStr]


def full(**more: object) -> Settings:
    """Give settings with the same secret everywhere."""
    given = {**dict.fromkeys(SECRETS, SECRET), "kafka_security": "SASL_SSL", "kafka_sasl_user": "magma", **more}
    return load_settings(**given)


def test_each_secret_can_come_from_a_file_and_no_other_setting_can() -> None:
    assert {f"{name}_file" for name in SECRETS} == SECRET_FILES
    assert len(SECRETS) >= 5


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_in_a_file_is_read_and_wins(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text(SECRET + "\r\n")
    monkeypatch.setenv(f"MAGMA_{name}_FILE".upper(), str(tmp_path / "secret"))
    monkeypatch.setenv(f"MAGMA_{name}".upper(), "other")
    assert getattr(load_settings(), name).get_secret_value() == SECRET


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe", b"x" * (MAX_SECRET_BYTES + 1)])
def test_a_file_that_is_no_secret_stops_with_a_sentence_that_does_not_show_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret").write_bytes(content)
    with pytest.raises(BadSetting, match="the secret in"):
        load_settings(graph_password_file=tmp_path / "secret")
    with pytest.raises(BadSetting, match="cannot be read"):
        load_settings(graph_password_file=tmp_path / "nothing")


def test_settings_do_not_show_their_secrets() -> None:
    settings = full()
    for shown in (
        repr(settings),
        str(settings),
        settings.model_dump_json(),
        str(settings.model_dump()),
        f"{settings!s}",
    ):
        assert SECRET not in shown


@pytest.mark.parametrize(
    "wrong",
    [
        {"graph_pasword": SECRET},
        {"graph_password": [SECRET]},
        {"graph_uri": f"bolt://magma:{SECRET}@127.0.0.1:7687"},
        {"milvus_uri": f"http://root:{SECRET}@127.0.0.1"},
        {"openai_base_url": f"https://x:{SECRET}@models.example"},
        {"kafka_bootstrap": f"magma:{SECRET}@127.0.0.1:9092"},
        {"jwt_jwks": f"https://x:{SECRET}@issuer.example"},
        {"kafka_security": "SASL_PLAINTEXT", "kafka_sasl_mechanism": "PLAIN"},
        {"graph_timeout_s": SECRET},
    ],
)
def test_a_bad_setting_is_named_and_never_shown_not_even_in_a_traceback(wrong: dict[str, object]) -> None:
    with pytest.raises(BadSetting) as told:
        full(**wrong)
    lines = "".join(traceback.format_exception(told.value))
    assert SECRET not in str(told.value) + repr(told.value) + lines


async def test_no_error_and_no_log_of_a_client_shows_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    away = {"kafka_bootstrap": "127.0.0.1:9", "graph_uri": "bolt://127.0.0.1:9", "milvus_uri": "http://127.0.0.1:9"}
    settings = full(**away, graph_timeout_s=1.0, milvus_timeout_s=1.0)
    told: list[BaseException] = []
    for attempt in (_kafka, _graph, _vectors):
        with pytest.raises(MagmaError) as error:
            await attempt(settings)
        told.append(error.value)
    shown = caplog.text + "".join("".join(traceback.format_exception(one)) for one in told)
    assert SECRET not in shown


async def _kafka(settings: Settings) -> None:
    await topic_partitions(settings)


async def _graph(settings: Settings) -> None:
    async with Graph.open(settings):
        pass


async def _vectors(settings: Settings) -> None:
    async with Vectors.open(settings, model="m", dim=4):
        pass


COMMANDS = [
    ["status", "--json"],
    ["status"],
    ["check", "--debug"],
    ["ask", "why?", "--tenant", "a", "--debug"],
    ["dlq", "list", "--debug"],
    ["ingest", "nothing.jsonl", "--debug"],
    ["keys", "list", "--debug"],
    ["serve", "--host", "0.0.0.0", "--debug"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_shows_a_secret(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"KAFKA_BOOTSTRAP": "127.0.0.1:9", "GRAPH_URI": "bolt://127.0.0.1:9", "MILVUS_URI": "http://127.0.0.1:9"}
    given |= {"GRAPH_TIMEOUT_S": "1", "MILVUS_TIMEOUT_S": "1", "KAFKA_SASL_USER": "magma", "KAFKA_SECURITY": "SASL_SSL"}
    for name, value in (given | {name.upper(): SECRET for name in SECRETS}).items():
        monkeypatch.setenv(f"MAGMA_{name}", value)
    monkeypatch.chdir(tmp_path)
    status = magma(command)
    told = capsys.readouterr()
    assert told.out or told.err
    assert status in (0, 1, 2)
    assert SECRET not in told.out + told.err


def test_the_status_of_a_running_stack_shows_no_password(stack: Settings) -> None:
    password = stack.graph_password.get_secret_value()
    assert password
    assert password not in stack_status(stack.data_dir).model_dump_json()
    assert (stack.stack_file.stat().st_mode & 0o077) == 0


def test_the_page_of_settings_shows_no_default_of_a_secret() -> None:
    lines = (ROOT / "docs" / "settings.md").read_text("utf-8").splitlines()
    for name in SECRETS:
        (line,) = [line for line in lines if line.startswith(f"| `{name}` |")]
        assert line.split("|")[2].strip() == "(secret)"


def test_certificates_that_cannot_be_used_stop_with_a_sentence(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    locked = authority.identity("client", password=SECRET)
    tls = {"kafka_security": "SSL", "kafka_tls_ca_file": authority.ca_file}
    certificate = {"kafka_tls_cert_file": locked.cert_file, "kafka_tls_key_file": locked.key_file}
    context = kafka_options(load_settings(**tls, **certificate, kafka_tls_key_password=SECRET))["ssl_context"]
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    for wrong in (
        {**tls, **certificate, "kafka_tls_key_password": "wrong-" + SECRET},
        {**tls, **certificate},
        {**tls, "kafka_tls_ca_file": tmp_path / "nothing"},
        {**tls, "kafka_tls_ca_file": locked.key_file},
    ):
        with pytest.raises(BadSetting, match="certificates for kafka") as told:
            kafka_options(load_settings(**wrong))
        assert SECRET not in "".join(traceback.format_exception(told.value))
    for options, name in ((bolt_options, "graph_tls_ca_file"), (milvus_options, "milvus_tls_ca_file")):
        with pytest.raises(BadSetting, match="cannot be read"):
            options(load_settings(**{name: tmp_path / "nothing"}))


async def test_a_token_is_read_when_it_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "token"
    provider = TokenFile(file)
    with pytest.raises(BadSetting, match="kafka_sasl_token_file"):
        await provider.token()
    for token in ("one", "two"):
        write(file, token)
        assert await provider.token() == token


def write(file: Path, text: str) -> None:
    file.write_text(text)


def test_an_unexpected_error_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("first\r\nX-Injected: \x1b[31myes")

    assert run_command(broken, []) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "\x1b" not in told
    assert told.startswith("magma: ")
