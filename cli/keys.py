"""`magma keys`: the API keys of the query service, in the file that `api_keys_file` names."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, TypeAdapter, ValidationError
from rich.table import Table

from cli.options import JsonFlag
from cli.output import as_it_is, emit, note
from cli.times import age
from memory.errors import BadSetting, NotFound
from memory.events import Name
from memory.settings import load_settings
from query_api.auth.caller import Scope
from query_api.auth.keyfile import KeyFile, changing, read_keys
from query_api.auth.keys import ApiKey, new_key

keys = typer.Typer(help="API keys: create, list, rotate, revoke.", no_args_is_help=True, rich_markup_mode=None)

#: How long a key lasts when nobody says, and how long it goes on beside the one it was rotated to.
LASTS = "365d"
OVERLAP = "24h"
FOR_EVER = "never"

FileOption = Annotated[
    Path | None, typer.Option("--keys-file", help="The file with the hashes (default: api_keys_file).")
]
IdArgument = Annotated[str, typer.Argument(help="The key's id, as `magma keys list` shows it.", metavar="ID")]
_NAME: TypeAdapter[str] = TypeAdapter(Name)


class KeyView(BaseModel):
    """A key as it may be shown. `state`: usable, expired or revoked."""

    id: str
    name: str
    tenant: str
    scopes: list[Scope]
    state: str
    created_at: datetime
    expires_at: datetime | None
    replaces: str | None

    @classmethod
    def of(cls, key: ApiKey, now: datetime) -> "KeyView":
        """Show a key."""
        state = "revoked" if key.revoked_at else "expired" if key.expired(now) else "usable"
        fields = key.model_dump(include={"id", "name", "tenant", "created_at", "expires_at", "replaces"})
        return cls(**fields, scopes=sorted(key.scopes), state=state)


class NewKeyView(KeyView):
    """A key that was just made. `key`: what its holder sends; it cannot be shown again."""

    key: str


@keys.command("create")
def create(
    tenant: Annotated[str, typer.Option("--tenant", help="The only tenant the key can reach.")],
    scope: Annotated[
        list[Scope] | None, typer.Option("--scope", help="What it may do; repeat it (default: read).")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="What it is for.")] = "",
    expires: Annotated[str, typer.Option("--expires", help="When: 90s, 15m, 2h, 30d, or never.")] = LASTS,
    keys_file: FileOption = None,
    json_mode: JsonFlag = False,
) -> None:
    """Make a key and show it, this once; only a hash of it is kept.

    Example: magma keys create --tenant acme --scope read --name dashboard
    """
    now = datetime.now(UTC)
    lasts = None if expires == FOR_EVER else age(expires)
    try:
        kept, shown = new_key(
            _NAME.validate_python(tenant), frozenset(scope or [Scope.READ]), now=now, lasts=lasts, name=name
        )
    except ValidationError:
        raise typer.BadParameter("a tenant has 1 to 256 characters without `|`, a name at most 256") from None
    with changing(_file(keys_file)) as held:
        held[0] = held[0].with_key(kept)
    _show_new(kept, shown, now, json_mode)


@keys.command("list")
def list_keys(
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only keys of this tenant.")] = None,
    keys_file: FileOption = None,
    json_mode: JsonFlag = False,
) -> None:
    """List the keys; secrets and hashes are not shown.

    Example: magma keys list --tenant acme
    """
    now = datetime.now(UTC)
    found = [KeyView.of(key, now) for key in read_keys(_file(keys_file)).keys if tenant in (None, key.tenant)]
    emit(json_mode, {"keys": [view.model_dump(mode="json") for view in found]}, lambda: _table(found))


@keys.command("rotate")
def rotate(
    ident: IdArgument,
    overlap: Annotated[str, typer.Option("--overlap", help="How long the old key goes on.")] = OVERLAP,
    expires: Annotated[str, typer.Option("--expires", help="When the new one ends: 90s, 15m, 2h, 30d, never.")] = LASTS,
    keys_file: FileOption = None,
    json_mode: JsonFlag = False,
) -> None:
    """Make a key in the place of another, which goes on for a while so that its holders can change over.

    Example: magma keys rotate 3k7d2m5q6r4s2t7u --overlap 2h
    """
    now = datetime.now(UTC)
    lasts = None if expires == FOR_EVER else age(expires)
    ends = now + age(overlap)
    with changing(_file(keys_file)) as held:
        old = _found(held[0], ident)
        if not old.usable(now):
            raise BadSetting(f"the key {ident} is revoked or expired already", hint="make a new one: magma keys create")
        kept, shown = new_key(old.tenant, old.scopes, now=now, lasts=lasts, name=old.name, replaces=old.id)
        ends = ends if old.expires_at is None else min(ends, old.expires_at)
        held[0] = held[0].with_key(old.model_copy(update={"expires_at": ends})).with_key(kept)
    _show_new(kept, shown, now, json_mode)


@keys.command("revoke")
def revoke(ident: IdArgument, keys_file: FileOption = None, json_mode: JsonFlag = False) -> None:
    """End a key at once: running services refuse it as soon as they look at the file (api_keys_reload_s).

    Example: magma keys revoke 3k7d2m5q6r4s2t7u
    """
    now = datetime.now(UTC)
    with changing(_file(keys_file)) as held:
        key = _found(held[0], ident)
        key = key if key.revoked_at else key.model_copy(update={"revoked_at": now})
        held[0] = held[0].with_key(key)
    emit(json_mode, KeyView.of(key, now))


def _file(given: Path | None) -> Path:
    path = given if given is not None else load_settings().api_keys_file
    if path is None:
        raise BadSetting("no file for API keys is named", hint="set MAGMA_API_KEYS_FILE or give --keys-file")
    return path


def _found(content: KeyFile, ident: str) -> ApiKey:
    for key in content.keys:
        if key.id == ident:
            return key
    raise NotFound(f"there is no key {ident[:40]}", hint="`magma keys list` shows those that there are")


def _show_new(kept: ApiKey, shown: str, now: datetime, json_mode: bool) -> None:
    view = NewKeyView(**KeyView.of(kept, now).model_dump(), key=shown)
    note("The key is shown this once; only a hash of it is kept.")
    emit(json_mode, view)


def _table(found: list[KeyView]) -> Table:
    table = Table(title=f"{len(found)} keys", title_justify="left")
    for column in ("id", "tenant", "scopes", "state", "expires", "name"):
        table.add_column(column)
    for view in found:
        expires = "never" if view.expires_at is None else view.expires_at.isoformat(timespec="seconds")
        cells = (view.id, view.tenant, " ".join(view.scopes), view.state, expires, view.name)
        table.add_row(*map(as_it_is, cells))
    return table
