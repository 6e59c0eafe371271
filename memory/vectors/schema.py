"""The collection: its fields and indexes, made by the program; and which embedding model it was built with."""

import time
from typing import Any

import orjson
from pymilvus import DataType, Function, FunctionType, MilvusClient
from pymilvus.exceptions import MilvusException

from memory.errors import EmbeddingMismatch, StoreRefused
from memory.vectors.expression import Field
from memory.vectors.rows import MAX_ENTITIES, MAX_ID_BYTES, MAX_KEYWORDS_BYTES, MAX_NAME_BYTES

#: Partitions that tenants are hashed into. Explicit, because servers differ in what they take when it is not given.
PARTITIONS = 64
#: Properties of the collection that say what its vectors are.
MODEL_PROPERTY = "magma.embedding.model"
DIM_PROPERTY = "magma.embedding.dim"

#: How often, and with what pause in seconds, a collection is looked for that another process is creating.
_CREATION_LOOKS = 10
_CREATION_PAUSE_S = 0.2

#: BM25 of a Milvus server, tuned on conversations (arXiv 2601.03236 leaves it open); the local server's are fixed.
BM25_K1 = 0.9
BM25_B = 0.3


def is_local_server(version: str) -> bool:
    """Tell Milvus Lite from a Milvus server by its version."""
    return version.startswith("milvus_lite")


def ensure_collection(client: MilvusClient, name: str, *, model: str, dim: int, local: bool, timeout_s: float) -> None:
    """Create the collection and its indexes as far as they are missing, check what it holds, and load it. Idempotent.

    Raises `EmbeddingMismatch` when it was built with another model or dimension, `StoreRefused` when it is not ours.
    """
    if not client.has_collection(name, timeout=timeout_s):
        _create(client, name, model=model, dim=dim, timeout_s=timeout_s)
    description = client.describe_collection(name, timeout=timeout_s)
    _check_fields(name, description)
    _check_embedding(name, description, model=model, dim=dim)
    _create_indexes(client, name, local=local, timeout_s=timeout_s)
    # an indexed collection of the local server is not loaded after its restart
    client.load_collection(name, timeout=timeout_s)


def _create(client: MilvusClient, name: str, *, model: str, dim: int, timeout_s: float) -> None:
    identity = {MODEL_PROPERTY: model, DIM_PROPERTY: str(dim)}
    schema = MilvusClient.create_schema(
        auto_id=False, enable_dynamic_field=False, description=orjson.dumps(identity).decode()
    )
    schema.add_field(Field.ID, DataType.VARCHAR, is_primary=True, max_length=MAX_ID_BYTES)
    schema.add_field(Field.TENANT, DataType.VARCHAR, max_length=MAX_NAME_BYTES, is_partition_key=True)
    for name_field in (Field.SESSION, Field.AGENT, Field.SPEAKER):
        schema.add_field(name_field, DataType.VARCHAR, max_length=MAX_NAME_BYTES)
    schema.add_field(Field.OCCURRED_US, DataType.INT64)
    schema.add_field(
        Field.KEYWORDS,
        DataType.VARCHAR,
        max_length=MAX_KEYWORDS_BYTES,
        enable_analyzer=True,
        analyzer_params={"type": "standard"},
    )
    schema.add_field(
        Field.ENTITIES,
        DataType.ARRAY,
        element_type=DataType.VARCHAR,
        max_capacity=MAX_ENTITIES,
        max_length=MAX_NAME_BYTES,
    )
    schema.add_field(Field.VECTOR, DataType.FLOAT_VECTOR, dim=dim)
    schema.add_field(Field.SPARSE, DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(
        Function(
            name="bm25",
            function_type=FunctionType.BM25,
            input_field_names=[Field.KEYWORDS],
            output_field_names=[Field.SPARSE],
        )
    )
    try:
        client.create_collection(
            name,
            schema=schema,
            consistency_level="Bounded",
            num_partitions=PARTITIONS,
            properties=identity,
            timeout=timeout_s,
        )
    except MilvusException:
        # another process may be creating it just now; if none is, the refusal is the answer
        for _ in range(_CREATION_LOOKS):
            if client.has_collection(name, timeout=timeout_s):
                return
            time.sleep(_CREATION_PAUSE_S)
        raise


def _create_indexes(client: MilvusClient, name: str, *, local: bool, timeout_s: float) -> None:
    # FLAT on the local server: its graph indexes lose rows under selective filters
    dense: dict[str, Any] = (
        {"index_type": "FLAT"} if local else {"index_type": "HNSW", "params": {"M": 16, "efConstruction": 200}}
    )
    sparse: dict[str, Any] = {} if local else {"params": {"bm25_k1": BM25_K1, "bm25_b": BM25_B}}
    wanted: dict[Field, dict[str, Any]] = {
        Field.VECTOR: {"metric_type": "COSINE", **dense},
        Field.SPARSE: {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "BM25", **sparse},
        Field.SESSION: {"index_type": "INVERTED"},
        Field.OCCURRED_US: {"index_type": "INVERTED"},
    }
    there = set(client.list_indexes(name, timeout=timeout_s))
    for field, params in wanted.items():
        if field in there:
            continue
        index = client.prepare_index_params()
        index.add_index(field_name=field, index_name=field, **params)
        try:
            # not waited for one by one: loading waits for all, and within its timeout
            client.create_index(name, index, sync=False, timeout=timeout_s)
        except MilvusException:
            # as above: two processes may open a new collection at one time
            if field not in client.list_indexes(name, timeout=timeout_s):
                raise


def _check_fields(name: str, description: dict[str, object]) -> None:
    fields = description.get("fields")
    there = {str(field["name"]) for field in fields} if isinstance(fields, list) else set()
    missing = sorted(set(Field) - there)
    if missing:
        raise StoreRefused(
            f"the Milvus collection {name!r} has no field {', '.join(missing)}: another version made it",
            hint="set milvus_collection to another name and run `magma replay`",
        )


def _check_embedding(name: str, description: dict[str, object], *, model: str, dim: int) -> None:
    stored_model, stored_dim = stored_embedding(description)
    if (stored_model, stored_dim) != (model, dim):
        raise EmbeddingMismatch(
            f"the Milvus collection {name!r} was built with the embedding model {stored_model!r} of {stored_dim}"
            f" dimensions, and the settings ask for {model!r} of {dim}",
            hint="set embedding_model (and embedding_dim) back, or set milvus_collection to a new name"
            " and rebuild it with `magma replay`",
        )


def stored_embedding(description: dict[str, object]) -> tuple[str, int]:
    """Give the model and dimension that a collection was built with; empty and 0 when it does not say.

    The local server keeps properties and drops descriptions; a server keeps both.
    """
    found = description.get("properties")
    identity = found if isinstance(found, dict) else {}
    if MODEL_PROPERTY not in identity:
        try:
            parsed = orjson.loads(str(description.get("description") or "{}"))
        except orjson.JSONDecodeError:
            parsed = {}
        identity = parsed if isinstance(parsed, dict) else {}
    dim = str(identity.get(DIM_PROPERTY, ""))
    return str(identity.get(MODEL_PROPERTY, "")), int(dim) if dim.isdigit() else 0
