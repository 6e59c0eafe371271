"""The languages that producers speak, one a file: each reads a record into events, and keeps nothing.

`read` chooses: by the topic, then the content type, then CloudEvents' headers. Nothing is guessed from a payload where
one of these says what it is. A record of `agent.events` without any is our own JSON.
"""

from streams.dialects.choose import Dialects
from streams.dialects.message import MAX_UNITS, Message, Piece

__all__ = ["MAX_UNITS", "Dialects", "Message", "Piece"]
