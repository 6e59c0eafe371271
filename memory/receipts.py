"""Signing receipts of erasures, and checking them: Ed25519 (RFC 8032), so that whoever holds the public key can check.

The private key is a PEM file: the one that is set, or one made beside the local stack's data when it is first needed.
"""

import os
from base64 import b64decode, b64encode
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from memory.erasure import Receipt
from memory.errors import BadSetting
from memory.settings import Settings

KEY_FILE = "receipts.pem"


class Signer:
    """Signs with one private key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    @classmethod
    def open(cls, settings: Settings) -> "Signer":
        """Read the key, or make it when none is set; blocking. Raises `BadSetting` for a file that holds none."""
        path = settings.receipt_key_file or settings.data_dir / KEY_FILE
        if settings.receipt_key_file is None and not path.exists():
            _make(path)
        try:
            key = load_pem_private_key(path.read_bytes(), password=None)
        except (OSError, ValueError, TypeError) as error:
            raise BadSetting(
                f"{path} holds no private key that can be read ({type(error).__name__})",
                hint="set receipt_key_file to an Ed25519 key in PEM: openssl genpkey -algorithm ed25519",
            ) from error
        if not isinstance(key, Ed25519PrivateKey):
            raise BadSetting(f"the key in {path} is not an Ed25519 key", hint="openssl genpkey -algorithm ed25519")
        return cls(key)

    def sign(self, receipt: Receipt) -> Receipt:
        """Give the receipt with the signature and the public key in it."""
        signature = b64encode(self._key.sign(receipt.signed_bytes())).decode()
        return receipt.model_copy(update={"key": self.public, "signature": signature})


def is_genuine(receipt: Receipt, public_key: str) -> bool:
    """Say whether the receipt was signed, as it stands, by the owner of this public key (base64)."""
    try:
        key = Ed25519PublicKey.from_public_bytes(b64decode(public_key, validate=True))
        key.verify(b64decode(receipt.signature, validate=True), receipt.signed_bytes())
    except (InvalidSignature, ValueError):
        return False
    return True


def _make(path: Path) -> None:
    """Write a new key that only this user can read; of several processes that do so the first one wins."""
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    try:
        draft.write_bytes(pem)
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
