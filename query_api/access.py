"""What a route knows of its caller: the one tenant it can reach, once the credential's scope allows the route.

The tenant is never read from a body, a path or a query: it is the credential's. Until authentication is configured the
service is for this machine alone: it binds loopback only, refuses requests from elsewhere or under another host name (a
web page that rebinds its name), and takes the tenant from the header `X-Magma-Tenant`, which no web page can send
without being asked first.
"""

import ipaddress
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from memory.errors import BadSetting
from query_api.auth.caller import Caller, Scope
from query_api.problems import Refused

TENANT_HEADER = "X-Magma-Tenant"

#: For the OpenAPI document; the gate has read the header before.
_bearer = HTTPBearer(auto_error=False, description="an API key (`mgm_…`) or a token of the configured issuer")


def is_loopback(host: str) -> bool:
    """Say whether an address or host name can only mean this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_bind(host: str, *, authenticated: bool = False) -> None:
    """Refuse to serve beyond this machine without authentication; raises `BadSetting`."""
    if not authenticated and not is_loopback(host):
        raise BadSetting(
            f"refusing to serve on {host}: no authentication is configured, and everyone there could read every tenant",
            hint="set api_keys_file (see `magma keys`) or jwt_jwks, or serve on 127.0.0.1",
        )


def tenant_with(scope: Scope) -> Callable[..., str]:
    """Give the dependency of a route that needs a scope; it gives the caller's tenant."""

    def tenant(request: Request, _: Annotated[object, Security(_bearer)] = None) -> str:
        caller: Caller = request.state.caller  # the gate lets nobody through without
        if scope not in caller.scopes:
            challenge = f'Bearer realm="magma", error="insufficient_scope", scope="{scope}"'
            raise Refused(
                403, "scope_missing", f"this needs the scope {scope}", headers={"WWW-Authenticate": challenge}
            )
        return caller.tenant

    return tenant


#: The tenant of a route that reads.
Tenant = Annotated[str, Depends(tenant_with(Scope.READ))]
#: The tenant of a route that takes events in.
WritingTenant = Annotated[str, Depends(tenant_with(Scope.WRITE))]
#: The tenant of a route that erases.
ErasingTenant = Annotated[str, Depends(tenant_with(Scope.ERASE))]
