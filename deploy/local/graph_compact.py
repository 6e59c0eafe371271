"""Script: `graph_compact.py DATABASE_DIR STATEMENTS` takes what was deleted out of the files of an ArcadeDB database.

The engine clears the pages of deleted records itself. What is left of them stands in two places: in indexes, which keep
their keys until they are made anew, and in the transaction log, which goes when the database is closed in order.

`STATEMENTS` is the JSON list of the Cypher statements that make constraints and indexes, each with `IF NOT EXISTS`.
Killed on the way, it leaves constraints out: Magma makes what is missing before it writes. (The engine's own
`REBUILD INDEX` fails on properties that no schema declares, and leaves the index out.)

Nobody else may have the database open. It imports nothing of Magma.
"""

import json
import sys

import arcadedb


def main() -> None:
    """Drop and make each constraint and index, then close in order."""
    folder, statements = sys.argv[1], json.loads(sys.argv[2])
    database = arcadedb.open_database(folder)
    try:
        for statement in statements:
            _create, kind, name, *_rest = statement.split()
            database.command("opencypher", f"DROP {kind} {name} IF EXISTS")
            database.command("opencypher", statement)
        database.command("sql", "CHECK DATABASE COMPRESS")
    finally:
        database.close()


if __name__ == "__main__":
    main()
