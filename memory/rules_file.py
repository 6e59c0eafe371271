"""Rules that an operator writes in a TOML file, validated whole before anything runs by them."""

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from memory.errors import BadSetting

#: Largest file of rules, in bytes.
MAX_FILE_BYTES = 1_000_000

_Rules = TypeVar("_Rules", bound=BaseModel)


def read_rules(path: Path, model: type[_Rules]) -> _Rules:
    """Read a TOML file of rules; raises `BadSetting` that names the file and each bad field, never a value."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise BadSetting(f"{path} is larger than {MAX_FILE_BYTES} bytes")
        return model.model_validate(tomllib.loads(raw.decode()))
    except OSError as error:
        raise BadSetting(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSetting(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:5])
        raise BadSetting(f"{path}: {problems}", hint="docs/privacy.md shows the form") from error
