"""Which spellings are one entity: pure, a function of the set of spellings and of nothing else."""

from memory.identity.blocks import blocks_of, former_blocks, pinned_to
from memory.identity.fits import Fit, fit
from memory.identity.index import Spellings
from memory.identity.model import HELD, Known, Resolution, Standing
from memory.identity.resolve import Pool, resolve
from memory.identity.surroundings import Towards, Wanted, surroundings

__all__ = [
    "HELD",
    "Fit",
    "Known",
    "Pool",
    "Resolution",
    "Spellings",
    "Standing",
    "Towards",
    "Wanted",
    "blocks_of",
    "fit",
    "former_blocks",
    "pinned_to",
    "resolve",
    "surroundings",
]
