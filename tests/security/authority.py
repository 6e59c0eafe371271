"""A certificate authority that lives for one test run, and certificates for loopback."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Identity:
    """A certificate and its key, as files (PEM)."""

    cert_file: Path
    key_file: Path

    def keystore(self) -> Path:
        """Give both in one file, as Kafka wants them."""
        both = self.key_file.with_suffix(".both.pem")
        both.write_bytes(self.key_file.read_bytes() + self.cert_file.read_bytes())
        return both


class Authority:
    """Signs certificates; `ca_file` is what a client must trust."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._cert = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca_file = folder / f"{name}.pem"
        self.ca_file.write_bytes(self._cert.public_bytes(serialization.Encoding.PEM))

    def identity(self, name: str, *, password: str = "", address: str = "127.0.0.1") -> Identity:
        """Make a key and a certificate for loopback, or for another address."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        cert = (
            self._builder(subject, key.public_key())
            .add_extension(names, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        locked = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        files = Identity(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        files.cert_file.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
        files.key_file.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
        )
        return files

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=12))
        )
