"""Whose a record is: the producer's word in the payload, a header that a gateway sets, or the topic it may write to.

`payload` trusts every producer of `agent.events` with every tenant. `header` trusts who sets `magma-tenant`. With
`topic:<name with {tenant}>` each tenant has a topic of its own and the broker's access rules say who writes there. In
the last two a payload may leave the tenant out, and one that names another is refused.
"""

import re
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from memory.errors import Poison
from memory.events import AgentEvent, Name
from memory.records import Record
from memory.settings import Settings
from streams.topics import Topic

TENANT_HEADER = "magma-tenant"
_BY_HEADER = "header"
_BY_TOPIC = "topic:"
_HOLE = "{tenant}"
#: What a Kafka topic's name is made of.
_TOPIC_PART = r"[A-Za-z0-9._-]+"

_NAME: TypeAdapter[str] = TypeAdapter(Name)


class TenantUnknown(Poison):
    """Raised when nothing says whose a record is, where a header or topic must."""

    code = "tenant_unknown"


class TenantMismatch(Poison):
    """Raised when a payload names another tenant than its header or topic."""

    code = "tenant_mismatch"


@dataclass(frozen=True, slots=True)
class Producers:
    """The rule of the settings. `topics`: matches the topics of producers, in topic mode."""

    by_header: bool = False
    topics: re.Pattern[str] | None = None
    topic_form: str = ""

    @classmethod
    def of(cls, settings: Settings) -> "Producers":
        """Give the rule."""
        mode = settings.intake_tenant
        if not mode.startswith(_BY_TOPIC):
            return cls(by_header=mode == _BY_HEADER)
        form = settings.topic_prefix + mode.removeprefix(_BY_TOPIC)
        before, _, after = form.partition(_HOLE)
        # never our own topics: what the pipeline writes would come in again
        ours = "|".join(re.escape(topic.name_in(settings)) for topic in Topic)
        regex = rf"(?!__)(?!.*\.dlq\Z)(?!(?:{ours})\Z){re.escape(before)}(?P<tenant>{_TOPIC_PART}){re.escape(after)}\Z"
        return cls(topics=re.compile(regex), topic_form=form)

    def tenant_of(self, record: Record) -> str | None:
        """Give the tenant that the header or topic names, None where the payload decides; raises `TenantUnknown`."""
        if self.topics is not None:
            found = self.topics.match(record.topic)
            if found is None:
                raise TenantUnknown(f"the topic {record.topic} is no tenant's")
            return _named(found["tenant"], "topic")
        if not self.by_header:
            return None
        given = [value for name, value in record.headers if name == TENANT_HEADER]
        if len(given) != 1:
            raise TenantUnknown(f"the record has {len(given)} headers {TENANT_HEADER}; it must have one")
        try:
            return _named(given[0].decode(), "header")
        except UnicodeDecodeError:
            raise TenantUnknown(f"the header {TENANT_HEADER} is not UTF-8") from None

    def check(self, event: AgentEvent, tenant: str | None) -> None:
        """Refuse an event that names another tenant; raises `TenantMismatch`, which names neither."""
        if tenant is not None and event.tenant != tenant:
            where = "topic" if self.topics is not None else f"header {TENANT_HEADER}"
            raise TenantMismatch(f"the payload's tenant is not that of its {where}")

    def place_for(self, tenant: str, settings: Settings) -> tuple[str, tuple[tuple[str, bytes], ...]]:
        """Give topic and headers with which an event of this tenant is sent; raises `TenantUnknown` for topic mode."""
        if self.topics is not None:
            topic = self.topic_form.replace(_HOLE, tenant)
            if self.topics.match(topic) is None:
                raise TenantUnknown("this tenant's name cannot stand in a topic's name")
            return topic, ()
        headers = ((TENANT_HEADER, tenant.encode()),) if self.by_header else ()
        return Topic.AGENT_EVENTS.name_in(settings), headers


def _named(tenant: str, where: str) -> str:
    try:
        return _NAME.validate_python(tenant)
    except ValidationError:
        raise TenantUnknown(f"the {where} names no valid tenant") from None
