"""Text -> vectors."""

from memory.embedding.catalogue import CATALOGUE, ModelCard
from memory.embedding.encoder import Encoder
from memory.embedding.factory import make_encoder

__all__ = ["CATALOGUE", "Encoder", "ModelCard", "make_encoder"]
