"""What a statement of the registry is: a member of an enum, so that no other text can reach a server."""

from enum import StrEnum


class Cypher(StrEnum):
    """Base of the registry's enums; a member's name stands in error messages, its value is the Cypher."""
