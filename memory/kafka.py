"""How every client of Kafka connects: the one place where its credentials and certificates go in.

The memory knows no Kafka client: whoever makes one registers `TokenFile` with it as a provider of tokens.
"""

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Any

from memory.errors import BadSetting
from memory.settings import Settings
from memory.settings_connections import SaslMechanism, secret_in


class TokenFile:
    """Gives the token that the file holds when a connection is made."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def token(self) -> str:
        """Read the token; raises `BadSetting`."""
        try:
            return await asyncio.to_thread(secret_in, self._path)
        except ValueError as error:
            raise BadSetting(f"kafka_sasl_token_file: {error}") from None

    def extensions(self) -> dict[str, str]:
        """Give nothing beside the token."""
        return {}


def kafka_options(settings: Settings) -> dict[str, Any]:
    """Give the options that every aiokafka client takes; raises `BadSetting` for certificates that cannot be read."""
    options: dict[str, Any] = {
        "bootstrap_servers": settings.kafka_bootstrap,
        "security_protocol": settings.kafka_security.value,
    }
    if settings.kafka_security.encrypted:
        options["ssl_context"] = _tls(
            "kafka",
            settings.kafka_tls_ca_file,
            settings.kafka_tls_cert_file,
            settings.kafka_tls_key_file,
            settings.kafka_tls_key_password.get_secret_value(),
        )
    if settings.kafka_security.authenticated:
        # at DEBUG it logs each request as it is sent, and the one that carries a password or token is among them
        logging.getLogger("aiokafka.conn").setLevel(logging.INFO)
        options["sasl_mechanism"] = settings.kafka_sasl_mechanism.value
        if settings.kafka_sasl_mechanism is SaslMechanism.OAUTHBEARER:
            assert settings.kafka_sasl_token_file is not None  # the settings refuse it otherwise
            options["sasl_oauth_token_provider"] = TokenFile(settings.kafka_sasl_token_file)
        else:
            options["sasl_plain_username"] = settings.kafka_sasl_user
            options["sasl_plain_password"] = settings.kafka_sasl_password.get_secret_value()
    return options


def _tls(store: str, ca: Path | None, cert: Path | None, key: Path | None, password: str) -> ssl.SSLContext:
    """Make a context that checks the server's certificate and name, and shows ours when there is one."""
    try:
        context = ssl.create_default_context(cafile=None if ca is None else str(ca))
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if cert is not None:
            # a key with a password and no password given must not ask the terminal
            context.load_cert_chain(cert, key, password=lambda: password)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise BadSetting(
            f"the certificates for {store} cannot be used: {type(error).__name__}",
            hint=f"check {store}_tls_ca_file, {store}_tls_cert_file, {store}_tls_key_file and the key's password",
        ) from None
    return context
