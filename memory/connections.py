"""How every client of the graph and of Milvus connects: the one place where credentials and certificates go in."""

from pathlib import Path
from typing import Any

from neo4j import TrustCustomCAs

from memory.errors import BadSetting
from memory.settings import Settings


def bolt_options(settings: Settings) -> dict[str, Any]:
    """Give the options of a Bolt driver: who we are, and whose certificate the server must have.

    `graph_tls_ca_file` is for an address without a scheme of TLS; `bolt+s://` trusts the system's certificates.
    """
    options: dict[str, Any] = {"auth": (settings.graph_user, settings.graph_password.get_secret_value())}
    if settings.graph_tls_ca_file is not None:
        if "+s" in settings.graph_uri.partition("://")[0]:
            raise BadSetting(
                "graph_tls_ca_file goes with bolt://, not with bolt+s:// or bolt+ssc://",
                hint="write the address as bolt://; with the file TLS is spoken",
            )
        _readable("graph_tls_ca_file", settings.graph_tls_ca_file)
        options |= {"encrypted": True, "trusted_certificates": TrustCustomCAs(str(settings.graph_tls_ca_file))}
    return options


def milvus_options(settings: Settings) -> dict[str, Any]:
    """Give the options of a Milvus client: address, token, certificates."""
    options: dict[str, Any] = {"uri": settings.milvus_uri, "token": settings.milvus_token.get_secret_value()}
    files = {
        # pymilvus names them by what they are for the client: with a key the CA, without one the "server's"
        "client_pem_path": settings.milvus_tls_cert_file,
        "client_key_path": settings.milvus_tls_key_file,
        "server_pem_path" if settings.milvus_tls_cert_file is None else "ca_pem_path": settings.milvus_tls_ca_file,
    }
    for name, path in files.items():
        if path is not None:
            _readable(name, path)
            options[name] = str(path)
    if settings.milvus_tls_server_name:
        options["server_name"] = settings.milvus_tls_server_name
    if settings.milvus_uri.startswith("https://"):
        options["secure"] = True
    return options


def _readable(name: str, path: Path) -> None:
    try:
        with path.open("rb"):
            return
    except OSError as error:
        raise BadSetting(f"{name}: {path} cannot be read: {error.strerror}") from None
