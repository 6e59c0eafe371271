"""The graph: one driver, its schema, and the handles through which everything is written and read."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from memory.events import EventNode
from memory.graph.budgets import Budgets
from memory.graph.clearing import Clearer
from memory.graph.driver import Bolt
from memory.graph.editing import EntityEditor
from memory.graph.erasing import GraphEraser, forgotten
from memory.graph.extractions import Extractions
from memory.graph.mending import Mender
from memory.graph.model import Mark
from memory.graph.outbox import Outbox
from memory.graph.reader import GraphReader
from memory.graph.schema import ddl, dialect_of
from memory.graph.survey import Survey
from memory.graph.writer import GraphWriter
from memory.settings import Settings


class Graph:
    """Owns the connection to the graph server; made on the running loop and used on no other."""

    def __init__(self, bolt: Bolt) -> None:
        self._bolt = bolt

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator[Self]:
        """Connect; raises `StoreUnavailable` when no server answers, `StoreRefused` for credentials or database."""
        async with Bolt.open(settings) as bolt:
            yield cls(bolt)

    async def ensure_schema(self) -> None:
        """Create the constraints and indexes that are missing, in the server's dialect."""
        for statement in ddl(dialect_of(await self._bolt.ping())):
            await self._bolt.define(statement)

    async def ping(self) -> str:
        """Run a query; give the server's agent string. Raises `StoreUnavailable` or `StoreRefused`."""
        return await self._bolt.ping()

    @property
    def retries(self) -> int:
        """Transactions that were run again since the graph was opened."""
        return self._bolt.retries

    def writer(self) -> GraphWriter:
        """Give the handle for writing."""
        return GraphWriter(self._bolt)

    def reader(self, tenant: str) -> GraphReader:
        """Give the handle for reading one tenant's memory: the only way to a query."""
        return GraphReader(self._bolt, tenant)

    def survey(self, tenant: str) -> Survey:
        """Give the walk over one tenant's whole graph, for proofs."""
        return Survey(self._bolt, tenant)

    def mender(self, tenant: str) -> Mender:
        """Give the handle that mends one tenant's graph where a proof found it broken."""
        return Mender(self._bolt, tenant)

    def editor(self, tenant: str) -> EntityEditor:
        """Give the handle through which an operator or a model decides about one tenant's names."""
        return EntityEditor(self._bolt, tenant)

    def extractions(self, tenant: str) -> Extractions:
        """Give the handle on what a language model read for one tenant."""
        return Extractions(self._bolt, tenant)

    def budgets(self) -> Budgets:
        """Give the handle on what tenants use of a language model."""
        return Budgets(self._bolt)

    def clearer(self, tenant: str) -> Clearer:
        """Give the handle that takes back what was inferred about one tenant's events."""
        return Clearer(self._bolt, tenant)

    def outbox(self, tenant: str, stage: Mark) -> Outbox:
        """Give the notes of what a stage has still to tell of one tenant's edges."""
        return Outbox(self._bolt, tenant, stage)

    def eraser(self, tenant: str) -> GraphEraser:
        """Give the handle that forgets events of one tenant."""
        return GraphEraser(self._bolt, tenant)

    async def forgotten(self, nodes: Sequence[EventNode]) -> set[str]:
        """Give the uids of those events that an erasure covers; raises `StoreUnavailable`, `StoreRefused`."""
        return await forgotten(self._bolt, nodes)

    async def tenants(self) -> list[str]:
        """Give the tenants that have events, sorted. For operators: proof and metrics, never for a request."""
        return await GraphReader.tenants(self._bolt)
