"""What happens to an event afterwards: the slow path (arXiv 2601.03236, Alg. 3).

Each stage is a handler over `memory.ingested`: it reads the neighbourhood of new events and adds one kind of edge.
"""

from consolidators.factory import open_handler

__all__ = ["open_handler"]
