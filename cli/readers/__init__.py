"""Files that hold agent events -> what `magma ingest` produces to Kafka.

One module a format; `detect` chooses. Adding a format: a member of `Format`, a module with a generator of `ReadItem`,
a line in `detect._READERS`.
"""

from cli.readers.detect import read_events
from cli.readers.items import Format, ReadItem

__all__ = ["Format", "ReadItem", "read_events"]
