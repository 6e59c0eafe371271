"""Options that many commands share, and the settings they lead to."""

from pathlib import Path
from typing import Annotated

import typer

from memory.settings import Settings, load_settings

JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON object on stdout; logs on stderr.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Where the local stack keeps its data (default: .magma).")
]
TenantOption = Annotated[str | None, typer.Option("--tenant", help="The tenant; the only one there is when left out.")]


def settings_for(data_dir: Path | None) -> Settings:
    """Load the settings, with `--data-dir` over everything else when it was given."""
    return load_settings(data_dir=data_dir) if data_dir is not None else load_settings()
