"""Something to keep in the stores, and processes to look after."""

from pathlib import Path

from neo4j import AsyncGraphDatabase
from pymilvus import MilvusClient

from memory.settings import Settings


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def write_node(settings: Settings, uid: str) -> None:
    async with (
        AsyncGraphDatabase.driver(
            settings.graph_uri, auth=(settings.graph_user, settings.graph_password.get_secret_value())
        ) as driver,
        driver.session(database=settings.graph_database) as session,
    ):
        await session.execute_write(lambda tx: tx.run("MERGE (n:Kept {uid: $uid})", uid=uid))


async def count_nodes(settings: Settings, uid: str) -> int:
    async with (
        AsyncGraphDatabase.driver(
            settings.graph_uri, auth=(settings.graph_user, settings.graph_password.get_secret_value())
        ) as driver,
        driver.session(database=settings.graph_database) as session,
    ):
        answer = await session.run("MATCH (n:Kept {uid: $uid}) RETURN count(n) AS n", uid=uid)
        record = await answer.single(strict=True)
        return int(record["n"])


def write_vector(settings: Settings, collection: str) -> None:
    client = MilvusClient(uri=settings.milvus_uri, timeout=20)
    try:
        client.create_collection(collection, dimension=4, id_type="string", max_length=64, timeout=20)
        client.upsert(collection, [{"id": "kept", "vector": [1.0, 0.0, 0.0, 0.0]}], timeout=20)
    finally:
        client.close()


def read_vector(settings: Settings, collection: str) -> list[str]:
    client = MilvusClient(uri=settings.milvus_uri, timeout=20)
    try:
        client.load_collection(collection, timeout=20)
        return [row["id"] for row in client.get(collection, ids=["kept"], timeout=20)]
    finally:
        client.close()
