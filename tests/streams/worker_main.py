"""A worker process of the delivery tests: stages over one ledger. Settings come from the environment."""

import logging
import os
import sys
from pathlib import Path

from memory.settings import load_settings
from streams.runtime import run_stages
from streams.topics import Stage
from tests.streams.ledger import Ledger, opener

if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    factory = opener(Ledger(Path(sys.argv[1])), os.getpid())
    sys.exit(run_stages(load_settings(), {Stage(name): factory for name in sys.argv[2:]}))
