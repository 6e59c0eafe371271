"""API keys: what is kept of them, who gets in with which, and how fast one that was taken away stops working."""

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadSetting
from memory.settings import Settings, load_settings
from query_api.auth.caller import CredentialRefused, Scope
from query_api.auth.keyfile import changing, read_keys
from query_api.auth.keyring import KeyRing
from query_api.auth.keys import ApiKey, new_key, parse_key
from tests.security.faces import NOWHERE, THROUGH, bearer, face, make_key, outcome
from tests.streams.helpers import until

pytestmark = pytest.mark.usefixtures("quick")
NOW = datetime(2026, 5, 8, tzinfo=UTC)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def with_keys(file: Path, **more: object) -> Settings:
    return load_settings(**{"api_keys_file": file, "api_keys_reload_s": 0.05, **NOWHERE, **more})


def spoil(file: Path) -> None:
    file.write_text('{"keys": [{"id": "hunter2"')


def test_nothing_that_is_kept_gives_the_secret_and_the_file_is_the_owners_alone(file: Path) -> None:
    _, sent = make_key(file, "acme")
    parsed = parse_key(sent)
    assert parsed is not None
    assert parsed[1] not in file.read_text() + repr(read_keys(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_two_keys_with_one_secret_would_not_look_alike(file: Path) -> None:
    one, sent = new_key("acme", frozenset({Scope.READ}), now=NOW, lasts=None)
    other, _ = new_key("acme", frozenset({Scope.READ}), now=NOW, lasts=None)
    parsed = parse_key(sent)
    assert parsed is not None
    assert one.matches(parsed[1])
    assert not other.matches(parsed[1])
    assert one.salt != other.salt


@given(st.text(max_size=100))
def test_no_text_is_a_key_by_chance(text: str) -> None:
    assert parse_key(text) is None
    assert parse_key(f"mgm_{text}") is None


async def test_a_key_opens_its_own_tenant_and_nothing_else_does(file: Path) -> None:
    _, sent = make_key(file, "acme")
    _, of_nobody = new_key("acme", frozenset({Scope.READ}), now=NOW, lasts=None)
    tampered = sent[:-1] + ("A" if sent[-1] != "A" else "B")
    async with face(with_keys(file)) as client:
        assert outcome(await client.get("/v1/sessions", headers=bearer(sent))) == THROUGH
        for wrong in (
            of_nobody,
            tampered,
            sent[:-1],
            sent + "A",
            sent.upper(),
            "mgm_",
            "x",
            sent.replace("mgm", "mgn"),
        ):
            response = await client.get("/v1/sessions", headers=bearer(wrong))
            assert outcome(response) == (401, "credential_invalid")
            assert response.headers["www-authenticate"].startswith("Bearer ")
            assert wrong not in response.text or len(wrong) < 5
        bare = await client.get("/v1/sessions")
        assert outcome(bare) == (401, "credential_required")
        assert bare.headers["www-authenticate"] == 'Bearer realm="magma"'
        basic = await client.get("/v1/sessions", headers={"Authorization": f"Basic {sent}"})
        assert outcome(basic) == (401, "credential_invalid")


async def test_the_tenant_header_cannot_move_a_key_to_another_tenant(file: Path) -> None:
    _, sent = make_key(file, "acme")
    async with face(with_keys(file)) as client:
        for named, expected in (("acme", THROUGH), ("other", (403, "tenant_mismatch")), ("", (400, "tenant_invalid"))):
            headers = {**bearer(sent), "X-Magma-Tenant": named}
            assert outcome(await client.get("/v1/sessions", headers=headers)) == expected
        alone = await client.get("/v1/sessions", headers={"X-Magma-Tenant": "acme"})
        assert outcome(alone) == (401, "credential_required")


async def test_two_credentials_in_one_request_are_refused(file: Path) -> None:
    _, one = make_key(file, "acme")
    _, other = make_key(file, "other")
    twice = [("Authorization", f"Bearer {one}"), ("Authorization", f"Bearer {other}")]
    async with face(with_keys(file)) as client:
        assert outcome(await client.get("/v1/sessions", headers=twice)) == (400, "repeated_header")
        named = [("Authorization", f"Bearer {one}"), ("X-Magma-Tenant", "acme"), ("X-Magma-Tenant", "other")]
        assert outcome(await client.get("/v1/sessions", headers=named)) == (400, "repeated_header")


async def test_a_key_does_only_what_its_scopes_say(file: Path) -> None:
    _, erasing = make_key(file, "acme", [Scope.ERASE, Scope.WRITE])
    async with face(with_keys(file)) as client:
        for refused in (
            await client.get("/v1/sessions", headers=bearer(erasing)),
            await client.post("/v1/query", json={"question": "why?"}, headers=bearer(erasing)),
        ):
            assert outcome(refused) == (403, "scope_missing")
            assert 'scope="read"' in refused.headers["www-authenticate"]


async def test_expired_and_revoked_keys_are_refused(file: Path) -> None:
    _, expired = make_key(file, "acme", lasts=timedelta(seconds=-1))
    _, revoked = make_key(file, "acme", revoked_at=NOW)
    async with face(with_keys(file)) as client:
        assert outcome(await client.get("/v1/sessions", headers=bearer(expired))) == (401, "credential_expired")
        assert outcome(await client.get("/v1/sessions", headers=bearer(revoked))) == (401, "credential_invalid")


async def test_a_running_service_learns_of_new_and_revoked_keys(file: Path) -> None:
    kept, sent = make_key(file, "acme")
    async with face(with_keys(file)) as client:

        async def answers(sent: str, expected: tuple[int, str]) -> None:
            async def does() -> bool:
                return outcome(await client.get("/v1/sessions", headers=bearer(sent))) == expected

            await until(does)

        await answers(sent, THROUGH)
        _, later = make_key(file, "acme")
        await answers(later, THROUGH)
        with changing(file) as held:
            held[0] = held[0].with_key(kept.model_copy(update={"revoked_at": NOW}))
        await answers(sent, (401, "credential_invalid"))
        await answers(later, THROUGH)


async def test_a_file_that_went_bad_leaves_the_keys_as_they_were_and_says_so(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, sent = make_key(file, "acme")
    async with face(with_keys(file)) as client:
        spoil(file)
        await until(lambda: "stay as they were" in caplog.text)
        assert outcome(await client.get("/v1/sessions", headers=bearer(sent))) == THROUGH
    assert "hunter2" not in caplog.text


async def test_without_a_scope_no_route_of_v1_is_open(file: Path) -> None:
    """Every route there is: one that forgets to ask for a scope fails here."""
    _, sent = make_key(file, "acme", [Scope.WRITE])
    async with face(with_keys(file)) as client:
        document = (await client.get("/openapi.json")).json()
        routes = [(path, method) for path, item in document["paths"].items() for method in item if path[:4] == "/v1/"]
        assert len(routes) >= 12
        assert "delete" in {method for _, method in routes}
        for path, method in routes:
            asked = path.replace("{", "").replace("}", "").replace(":path", "")
            body = {"json": {"question": "why?"}} if method == "post" else {}
            bare = await client.request(method, asked, **body)
            assert outcome(bare) == (401, "credential_required"), path
            unscoped = await client.request(method, asked, headers=bearer(sent), **body)
            assert outcome(unscoped) == (403, "scope_missing"), path
        open_ = {path for path in document["paths"] if not path.startswith("/v1/")}
        assert open_ == {"/live", "/ready", "/metrics"}


async def test_what_is_open_to_everybody_names_no_tenant_and_no_address(file: Path) -> None:
    make_key(file, "acme-tenant")
    async with face(with_keys(file)) as client:
        for path in ("/live", "/ready", "/metrics", "/openapi.json"):
            text = (await client.get(path)).text
            assert "acme-tenant" not in text
            assert "127.0.0.1" not in text


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"keys": [{}]}', '{"version": 2, "keys": []}', '{"keys": [], "more": 1}', '{"keys": {"a": 1}}'],
)
def test_a_file_that_is_none_stops_the_start_with_a_sentence(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(BadSetting, match="not a file of API keys"):
        KeyRing(file, every_s=1)


def test_a_missing_file_and_one_that_others_can_write_stop_the_start(file: Path) -> None:
    with pytest.raises(BadSetting, match="cannot be read"):
        KeyRing(file, every_s=1)
    make_key(file, "acme")
    file.chmod(0o666)
    with pytest.raises(BadSetting, match="write"):
        KeyRing(file, every_s=1)


def test_a_key_that_expires_while_the_service_runs_stops_then(file: Path) -> None:
    _, sent = make_key(file, "acme", lasts=timedelta(hours=1))
    now = datetime.now(UTC)
    ring = KeyRing(file, every_s=1, now=lambda: now)
    assert ring.check(sent).tenant == "acme"
    now += timedelta(hours=2)
    with pytest.raises(CredentialRefused, match="expired"):
        ring.check(sent)


def test_changes_by_many_hands_at_once_are_all_kept(file: Path) -> None:
    children = []
    for number in range(6):
        pid = os.fork()
        if pid == 0:
            try:
                for _ in range(5):
                    make_key(file, f"tenant-{number}")
            finally:
                os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    found: tuple[ApiKey, ...] = read_keys(file).keys
    assert len(found) == 30
    assert {path.name for path in file.parent.iterdir()} == {file.name, file.name + ".lock"}
