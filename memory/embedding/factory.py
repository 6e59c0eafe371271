"""The encoder that the settings ask for."""

from memory.embedding.bge import BgeEncoder
from memory.embedding.encoder import Encoder
from memory.embedding.remote import OpenAIEncoder
from memory.embedding.static import WordllamaEncoder
from memory.settings import EmbeddingModel, Settings


def make_encoder(settings: Settings) -> Encoder:
    """Make the encoder; nothing is loaded or fetched yet. Raises `BadSetting` for a dimension that the model lacks."""
    match settings.embedding_model:
        case EmbeddingModel.WORDLLAMA:
            return WordllamaEncoder(settings.embedding_dim)
        case EmbeddingModel.BGE_SMALL:
            return BgeEncoder(settings.embedding_dim)
        case EmbeddingModel.OPENAI:
            return OpenAIEncoder(settings)
