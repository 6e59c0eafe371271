"""Counts what an object of the product holds on to: objects and entries of containers that can be reached from it."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

_PRODUCT = ("cli", "consolidators", "memory", "query_api", "streams")
_CONTAINERS = (dict, list, tuple, set, frozenset, deque)


def held(root: object) -> int:
    """Give the number of the product's own objects, and of entries in built-in containers, reachable through such.

    What belongs to libraries is not looked into.
    """
    seen: set[int] = set()
    found = 0
    open_: list[Any] = [root]
    while open_:
        one = open_.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Mapping) and type(one) is dict:
            found += len(one)
            open_ += [*one.keys(), *one.values()]
        elif type(one) in _CONTAINERS:
            found += len(one)
            open_ += one
        elif type(one).__module__.partition(".")[0] in _PRODUCT:
            found += 1
            open_ += _attributes(one)
    return found


def _attributes(one: object) -> Iterator[object]:
    yield from getattr(one, "__dict__", {}).values()
    for kind in type(one).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(one, name):
                yield getattr(one, name)
