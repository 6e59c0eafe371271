"""What is in the stores afterwards, read by clients of its own: not by the product's readers."""

import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise

import orjson
from aiokafka import AIOKafkaConsumer
from neo4j import AsyncGraphDatabase
from pymilvus import MilvusClient

from memory.settings import Settings
from streams.topics import Topic
from tests.chaos.history import History

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)

EVENTS = """
MATCH (e:Event {tenant: $tenant}) RETURN collect([e.session, e.id, e.ref]) AS rows
"""
CHAIN = """
MATCH (a:Event {tenant: $tenant})-[:NEXT]->(b:Event) RETURN collect([a.session, a.id, b.session, b.id]) AS rows
"""


@dataclass(frozen=True)
class Verdict:
    """Counts of what is wrong; all zero when the promise holds."""

    lost: int
    doubled: int
    misordered: int
    letters_wrong: int
    announced_wrong: int

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not any((self.lost, self.doubled, self.misordered, self.letters_wrong, self.announced_wrong))


async def verify(settings: Settings, history: History) -> Verdict:
    """Compare both stores, the dead letters and the announcements with what must be there."""
    tenants = sorted({tenant for tenant, _ in history.chains})
    lost = doubled = misordered = 0
    in_graph: set[str] = set()
    in_vectors: set[str] = set()
    uri, who = settings.graph_uri, (settings.graph_user, settings.graph_password.get_secret_value())
    async with AsyncGraphDatabase.driver(uri, auth=who) as driver:
        for tenant in tenants:
            stored, edges = [], []
            for query, rows in ((EVENTS, stored), (CHAIN, edges)):
                found = await driver.execute_query(query, tenant=tenant, database_=settings.graph_database)
                rows += found.records[0]["rows"]
            wanted = {place: chain for place, chain in history.chains.items() if place[0] == tenant}
            rows_of = vector_ids(settings, tenant)
            in_graph |= {ident for _, ident, _ in stored}
            in_vectors |= rows_of.keys()
            good = {ident for chain in wanted.values() for ident in chain}
            lost += len(good - in_graph) + len(good - rows_of.keys())
            doubled += len(stored) - len({ref for _, _, ref in stored})
            doubled += sum(rows_of.values()) - len(rows_of)
            doubled += len(rows_of.keys() - good) if len(stored) == len(good) else 0
            misordered += _misordered(wanted, stored, edges)
    letters = await dead_letters(settings)
    wrong = sum((Counter(letters) - Counter(history.poison)).values())
    wrong += sum((Counter(history.poison) - Counter(letters)).values())
    announced = await announced_ids(settings)
    not_durable = len(announced - (in_graph & in_vectors))
    unannounced = len({ident for chain in history.chains.values() for ident in chain} - announced)
    return Verdict(lost, doubled, misordered, wrong, not_durable + unannounced)


def _misordered(wanted: dict[tuple[str, str], tuple[str, ...]], stored: list[list[str]], edges: list[list[str]]) -> int:
    """Count the links that are missing, too many, or wrong."""
    there = {ident for _, ident, _ in stored}
    links: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for session, before, other, after in edges:
        links[session if session == other else "across"][before, after] += 1
    wrong = sum(links.pop("across", Counter()).values())
    for (_, session), chain in wanted.items():
        present = [ident for ident in chain if ident in there]
        right = Counter(pairwise(present))
        found = links.pop(session, Counter())
        wrong += sum((right - found).values()) + sum((found - right).values())
    return wrong + sum(sum(found.values()) for found in links.values())


def vector_ids(settings: Settings, tenant: str) -> Counter[str]:
    """Give every id of a tenant in the vector store with how often it is there."""
    client = MilvusClient(settings.milvus_uri, token=settings.milvus_token.get_secret_value())
    try:
        if not client.has_collection(settings.milvus_collection):
            return Counter()
        client.load_collection(settings.milvus_collection)
        pages = client.query_iterator(
            settings.milvus_collection, batch_size=1_000, filter=f'tenant == "{tenant}"', output_fields=["id"]
        )
        ids: Counter[str] = Counter()
        while page := pages.next():
            ids.update(row["id"] for row in page)
        pages.close()
        return ids
    finally:
        client.close()


async def dead_letters(settings: Settings) -> list[bytes]:
    """Give the values of the dead letters, one for each place that a record was taken from."""
    by_place: dict[tuple[bytes, ...], bytes] = {}
    async for _, value, headers in everything(settings, Topic.AGENT_EVENTS.dead_letters_in(settings)):
        told = dict(headers)
        place = tuple(told[f"x-error-{part}"] for part in ("topic", "partition", "offset"))
        by_place[place] = value or b""
    return list(by_place.values())


async def announced_ids(settings: Settings) -> set[str]:
    """Give every id that `memory.ingested` says is durable."""
    ids: set[str] = set()
    async for _, value, _ in everything(settings, Topic.MEMORY_INGESTED.name_in(settings)):
        ids |= set(orjson.loads(value or b"{}")["ids"])
    return ids


async def everything(
    settings: Settings, topic: str
) -> AsyncIterator[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]]:
    """Yield key, value and headers of all records of a topic; it is at its end when two seconds bring nothing."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=settings.kafka_bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=100
    )
    await consumer.start()
    try:
        while read := await consumer.getmany(timeout_ms=2_000):
            for records in read.values():
                for record in records:
                    yield record.key, record.value, record.headers
    finally:
        await consumer.stop()
