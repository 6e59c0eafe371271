"""Settings of how Magma's processes prove who they are to Kafka, the graph and Milvus, and how they know them.

A secret stands in the environment, in `magma.toml`, or in a file of its own that `<name>_file` leads to: the way
container platforms hand secrets out. The file wins over the value. Secrets are never part of an address.
"""

from enum import StrEnum
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

#: Longest secret that is read from a file, in bytes.
MAX_SECRET_BYTES = 65_536
_FILE = "_file"


class KafkaSecurity(StrEnum):
    """How a connection to a Kafka broker is secured; the broker's own names."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def encrypted(self) -> bool:
        """Whether TLS is spoken."""
        return self in (KafkaSecurity.SSL, KafkaSecurity.SASL_SSL)

    @property
    def secured(self) -> bool:
        """Whether anything is proved to anybody."""
        return self is not KafkaSecurity.PLAINTEXT

    @property
    def authenticated(self) -> bool:
        """Whether SASL is spoken."""
        return self in (KafkaSecurity.SASL_PLAINTEXT, KafkaSecurity.SASL_SSL)


class SaslMechanism(StrEnum):
    """How a client proves who it is to a Kafka broker."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"


class ConnectionSettings(BaseModel):
    """The part of `memory.settings.Settings` that holds credentials and certificates."""

    kafka_security: KafkaSecurity = Field(
        KafkaSecurity.PLAINTEXT, description="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, as the broker's listener is"
    )
    kafka_sasl_mechanism: SaslMechanism = Field(
        SaslMechanism.SCRAM_SHA_512, description="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER"
    )
    kafka_sasl_user: str = Field("", description="user for PLAIN and SCRAM")
    kafka_sasl_password: SecretStr = Field(SecretStr(""), description="password for PLAIN and SCRAM")
    kafka_sasl_password_file: Path | None = Field(None, description="file with that password")
    kafka_sasl_token_file: Path | None = Field(
        None, description="file with the token for OAUTHBEARER, read at each connection: whoever renews it writes there"
    )
    kafka_tls_ca_file: Path | None = Field(
        None, description="certificates (PEM) that sign the brokers'; the system's when not set"
    )
    kafka_tls_cert_file: Path | None = Field(None, description="our certificate (PEM) for brokers that ask for one")
    kafka_tls_key_file: Path | None = Field(None, description="its private key (PEM)")
    kafka_tls_key_password: SecretStr = Field(SecretStr(""), description="password of that key")
    kafka_tls_key_password_file: Path | None = Field(None, description="file with that password")

    graph_password_file: Path | None = Field(None, description="file with the Bolt password")
    graph_tls_ca_file: Path | None = Field(
        None, description="certificates (PEM) that sign the graph server's; turns TLS on for a bolt:// address"
    )

    milvus_token_file: Path | None = Field(None, description="file with the Milvus token")
    milvus_tls_ca_file: Path | None = Field(
        None, description="certificates (PEM) that sign Milvus'; TLS itself comes from an https:// address"
    )
    milvus_tls_cert_file: Path | None = Field(None, description="our certificate (PEM) for a Milvus that asks for one")
    milvus_tls_key_file: Path | None = Field(None, description="its private key (PEM)")
    milvus_tls_server_name: str = Field("", description="name in Milvus' certificate, when it is not the address's")

    openai_api_key_file: Path | None = Field(None, description="file with the key for the model endpoint")

    @model_validator(mode="before")
    @classmethod
    def _read_secrets(cls, given: Any) -> Any:
        """Put what the secret files hold where the secrets are looked for."""
        if not isinstance(given, dict):
            return given
        read = {
            name.removesuffix(_FILE): secret_in(Path(path))
            for name, path in given.items()
            if name in SECRET_FILES and path not in (None, "")
        }
        return {**given, **read}

    @field_validator("kafka_bootstrap", "graph_uri", "milvus_uri", "openai_base_url", check_fields=False)
    @classmethod
    def _without_credentials(cls, address: str | None) -> str | None:
        """Refuse credentials in an address: addresses stand in messages and logs."""
        if address is not None and "@" in (urlsplit(address).netloc or address):
            raise ValueError("an address must not contain credentials: they have settings of their own")
        return address

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Refuse settings that cannot work, or that would send a password in the clear."""
        if self.kafka_security.authenticated:
            if self.kafka_sasl_mechanism is SaslMechanism.OAUTHBEARER:
                if self.kafka_sasl_token_file is None:
                    raise ValueError("kafka_sasl_mechanism=OAUTHBEARER needs kafka_sasl_token_file")
            elif not (self.kafka_sasl_user and self.kafka_sasl_password.get_secret_value()):
                raise ValueError("kafka_security with SASL needs kafka_sasl_user and kafka_sasl_password")
            in_clear = (SaslMechanism.PLAIN, SaslMechanism.OAUTHBEARER)
            if not self.kafka_security.encrypted and self.kafka_sasl_mechanism in in_clear:
                raise ValueError(f"{self.kafka_sasl_mechanism} without TLS sends the secret in the clear: use SASL_SSL")
        for store in ("kafka", "milvus"):
            pair = getattr(self, f"{store}_tls_cert_file"), getattr(self, f"{store}_tls_key_file")
            if (pair[0] is None) != (pair[1] is None):
                raise ValueError(f"{store}_tls_cert_file and {store}_tls_key_file belong together")
        if self.milvus_tls_cert_file is not None and self.milvus_tls_ca_file is None:
            raise ValueError(
                "milvus_tls_cert_file needs milvus_tls_ca_file"
            )  # its client ignores one without the other
        return self


#: Settings that hold the path of a secret's file, by name; `kafka_sasl_token_file` is read when it is used.
SECRET_FILES = frozenset(
    {
        "kafka_sasl_password_file",
        "kafka_tls_key_password_file",
        "graph_password_file",
        "milvus_token_file",
        "openai_api_key_file",
        "redaction_key_file",
    }
)


def secret_in(path: Path) -> str:
    """Read a secret from a file, without the newline at its end; raises `ValueError` that names the file alone."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_SECRET_BYTES + 1)
    except OSError as error:
        raise ValueError(f"the secret in {path} cannot be read: {error.strerror}") from None
    if len(raw) > MAX_SECRET_BYTES:
        raise ValueError(f"the secret in {path} is longer than {MAX_SECRET_BYTES} bytes")
    try:
        secret = raw.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError(f"the secret in {path} is not UTF-8 text") from None
    if not secret:
        raise ValueError(f"the secret in {path} is empty")
    return secret
