"""`docker-compose.yml` and the image without an engine: valid, pinned, closed to the network, in step with the code."""

import asyncio
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from memory.settings import PREFIX, Settings, load_settings
from streams.admin import topic_partitions
from streams.topics import Stage, Topic

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "deploy" / "images" / "Dockerfile"

#: `${NAME}`, `${NAME:-default}`, `${NAME:?why}`; `$$` is a dollar for the container.
VARIABLE = re.compile(r"(?<!\$)\$\{(?P<name>\w+)(?:(?P<kind>:[-?])(?P<rest>[^}]*))?\}")
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|KEY$")
STORES = {"kafka", "memgraph", "milvus", "etcd", "minio"}
LEAKING_MEMGRAPHS = {"3.13.0", "3.13.1"}


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text())["services"]
    return found


def filled(value: str) -> str:
    """Interpolate as Compose does; a variable that must be set gets a value."""
    return VARIABLE.sub(lambda m: (m["rest"] or "") if m["kind"] == ":-" else "given-by-the-test", value)


def test_it_follows_the_compose_specification() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schema_check_would_find_a_mistake(tmp_path: Path) -> None:
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(FILE.read_text().replace("    image: apache/kafka", "    imagee: apache/kafka"))
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(wrong)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert "imagee" in done.stdout


def test_every_magma_variable_is_a_setting_and_its_value_is_valid(
    services: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = {name: service for name, service in services.items() if "build" in service}
    assert len(ours) == len(Stage) + 2
    for name, service in ours.items():
        with monkeypatch.context() as context:
            for variable in [key for key in os.environ if key.startswith(PREFIX)]:
                context.delenv(variable)
            for variable, value in service["environment"].items():
                assert variable.removeprefix(PREFIX).lower() in Settings.model_fields, f"{name}: {variable}"
                context.setenv(variable, filled(value))
            settings = load_settings()
        assert settings.graph_password.get_secret_value() == "given-by-the-test"
        assert settings.milvus_token.get_secret_value() == "root:given-by-the-test"


def test_each_stage_has_a_worker_of_its_own(services: dict[str, dict[str, Any]]) -> None:
    workers = [service["command"][1:] for service in services.values() if service.get("command", [""])[0] == "worker"]
    assert sorted(workers) == sorted([stage.value] for stage in Stage)


def test_every_image_is_pinned(services: dict[str, dict[str, Any]]) -> None:
    for name in STORES:
        _, tag = services[name]["image"].rsplit(":", 1)
        assert re.search(r"\d+\.\d+\.\d+|RELEASE\.\d{4}-\d{2}-\d{2}", tag), name
    assert services["memgraph"]["image"].rsplit(":", 1)[1] not in LEAKING_MEMGRAPHS
    assert services["milvus"]["image"].rsplit(":", 1)[1].startswith("v2.6.")
    assert services["kafka"]["image"].rsplit(":", 1)[1].startswith("4.")


def test_what_runs_on_is_watched_restarted_and_its_logs_are_bounded(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        if name != "topics":
            assert service["restart"] == "unless-stopped", name
            assert service["healthcheck"]["test"], name
        assert service["logging"]["options"]["max-size"], name
    for name in STORES:
        assert services[name]["volumes"], name


def test_no_secret_stands_in_the_file_and_none_has_a_default(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        for variable, value in service.get("environment", {}).items():
            if not SECRET.search(variable):
                continue
            found = VARIABLE.search(value)
            assert found is not None, f"{name}: {variable}"
            assert found["kind"] == ":?" or not found["rest"], f"{name}: {variable}"


def test_nothing_is_published_beyond_this_machine(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), name
    assert filled(services["serve"]["environment"]["MAGMA_SERVE_HOST"]) == "127.0.0.1"


def test_a_commit_of_the_graph_is_on_disk(services: dict[str, dict[str, Any]]) -> None:
    flags = services["memgraph"]["command"]
    assert "--storage-wal-enabled=true" in flags
    assert "--storage-wal-file-flush-every-n-tx=1" in flags
    assert "--telemetry-enabled=false" in flags
    assert all("=" in flag for flag in flags), "a flag and its value as two words means something else to Memgraph"


@pytest.mark.stack
def test_the_topics_job_makes_every_topic(services: dict[str, dict[str, Any]], settings: Settings) -> None:
    program = [sys.executable, *services["topics"]["entrypoint"][1:]]
    names = ("kafka_bootstrap", "topic_prefix", "kafka_fetch_max_wait_ms", "kafka_session_timeout_ms")
    given = {f"{PREFIX}{name.upper()}": str(getattr(settings, name)) for name in names}
    for _ in range(2):
        done = subprocess.run(program, cwd=ROOT, env=os.environ | given, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    made = asyncio.run(topic_partitions(settings))
    assert {topic.name_in(settings) for topic in Topic} <= made.keys()


def test_the_image_holds_every_package_and_runs_as_nobody_special() -> None:
    lines = [line.strip() for line in DOCKERFILE.read_text().splitlines() if line.strip() and line[0] != "#"]
    copied = {line.split()[1] for line in lines if line.startswith("COPY ") and "--from" not in line}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    assert packages | {"pyproject.toml"} <= copied
    kept = (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text().split()
    assert {f"!{name}" for name in packages} <= set(kept)
    bases = [line for line in lines if line.startswith("FROM ")]
    assert len(bases) == 2
    assert all(re.search(r":3\.11-", base) for base in bases)
    final = lines[lines.index(bases[-1]) :]
    users = [line.split()[1] for line in final if line.startswith("USER ")]
    assert users
    assert users[-1].split(":")[0] not in {"root", "0"}
