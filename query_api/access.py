"""Who may ask, and for whom.

The tenant is never read from a body. Until authentication is configured the service is for this machine alone: it binds
loopback only, refuses requests from elsewhere or under another host name (a web page that rebinds its name), and takes
the tenant from the header `X-Magma-Tenant`, which no web page can send without being asked first.
"""

import ipaddress
from typing import Annotated

from fastapi import Depends, Header, Request
from pydantic import TypeAdapter, ValidationError

from memory.errors import BadSetting
from memory.events import Name
from query_api.problems import Refused

TENANT_HEADER = "X-Magma-Tenant"

_NAME: TypeAdapter[str] = TypeAdapter(Name)


def is_loopback(host: str) -> bool:
    """Say whether an address or host name can only mean this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_bind(host: str) -> None:
    """Refuse to serve beyond this machine without authentication; raises `BadSetting`."""
    if not is_loopback(host):
        raise BadSetting(
            f"refusing to serve on {host}: no authentication is configured, and everyone there could read every tenant",
            hint="serve on 127.0.0.1, with a proxy that authenticates in front",
        )


def local_only(request: Request) -> None:
    """Refuse what does not come from this machine or is meant for another host name."""
    peer = request.client.host if request.client is not None else "localhost"  # a Unix socket has no peer address
    if not is_loopback(peer) or not is_loopback(request.url.hostname or ""):
        raise Refused(403, "loopback_only", "without authentication configured only this machine may ask")


def tenant_of(
    request: Request,
    x_magma_tenant: Annotated[
        str | None, Header(description="The tenant; only while no authentication is configured")
    ] = None,
) -> str:
    """Give the tenant a request is for."""
    local_only(request)
    if x_magma_tenant is None:
        raise Refused(401, "tenant_required", f"the request names no tenant in {TENANT_HEADER}")
    try:
        return _NAME.validate_python(x_magma_tenant)
    except ValidationError as error:
        raise Refused(400, "tenant_invalid", f"{TENANT_HEADER}: 1 to 256 characters, no `|`") from error


Tenant = Annotated[str, Depends(tenant_of)]
