"""Script: `graph_server.py ROOT BOLT_PORT HTTP_PORT PASSWORD_FILE DATABASE` serves Bolt on loopback until SIGTERM.

A process of its own, so that the engine never runs inside Magma. It imports nothing of Magma.
"""

import signal
import sys
from pathlib import Path

import arcadedb

LOOPBACK = "127.0.0.1"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    """Serve until told to stop."""
    # Before any thread starts, so that all inherit it: a signal that comes early waits for `sigwait`.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    root, bolt_port, http_port, password_file, database = sys.argv[1:6]
    server = arcadedb.create_server(
        root_path=root,
        root_password=Path(password_file).read_text(encoding="utf-8").strip(),
        config={
            "host": LOOPBACK,
            "http_port": int(http_port),
            # Durable: the log of a transaction is written at its commit.
            "mode": "production",
            "server_plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
            "bolt_port": int(bolt_port),
            "bolt_host": LOOPBACK,
        },
    )
    server.start()
    if (Path(root) / "databases" / database).is_dir():
        server.get_database(database)
    else:
        server.create_database(database)
    signal.sigwait(STOP_SIGNALS)
    server.stop()


if __name__ == "__main__":
    main()
