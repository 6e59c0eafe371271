"""What OpenTelemetry's attributes mean, as tables: one for each set of conventions, for a pinned version.

Sources: OpenTelemetry semantic conventions 1.44.0, `gen_ai.*` (all of it "Development": names may change, and this
table is then read against the new version); OpenInference semantic conventions 0.1.x. Where a row names several
attributes, the first one that a span has counts; those after the official one are what frameworks wrote before it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a span is to the memory."""

    AGENT = "agent"
    TOOL = "tool"
    MODEL = "model"
    HANDOFF = "handoff"
    SILENT = "silent"
    """Says nothing that happened: embeddings, and what the agent asked a memory (this one would hear its own echo)."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Conventions:
    """One set of conventions. `operation`: the attribute that says what a span is; `roles`: its values.

    The other rows: attributes, in order of preference.
    """

    name: str
    version: str
    operation: str
    roles: Mapping[str, Role]
    session: tuple[str, ...]
    agent: tuple[str, ...]
    description: tuple[str, ...]
    tool: tuple[str, ...]
    call_id: tuple[str, ...]
    arguments: tuple[str, ...]
    result: tuple[str, ...]
    model: tuple[str, ...]
    asked: tuple[str, ...]
    answered: tuple[str, ...]


GEN_AI = Conventions(
    name="gen_ai",
    version="1.44.0",
    operation="gen_ai.operation.name",
    roles={
        "chat": Role.MODEL,
        "text_completion": Role.MODEL,
        "generate_content": Role.MODEL,
        "call_llm": Role.MODEL,
        "execute_tool": Role.TOOL,
        "invoke_agent": Role.AGENT,
        "invoke_workflow": Role.AGENT,
        "create_agent": Role.AGENT,
        "handoff": Role.HANDOFF,
        "embeddings": Role.SILENT,
        "create_memory_store": Role.SILENT,
        "search_memory": Role.SILENT,
        "update_memory": Role.SILENT,
        "upsert_memory": Role.SILENT,
        "delete_memory": Role.SILENT,
        "delete_memory_store": Role.SILENT,
    },
    session=("gen_ai.conversation.id",),
    agent=("gen_ai.agent.name", "gen_ai.agent.id", "gen_ai.workflow.name"),
    description=("gen_ai.agent.description",),
    tool=("gen_ai.tool.name",),
    call_id=("gen_ai.tool.call.id",),
    arguments=("gen_ai.tool.call.arguments", "gen_ai.tool.args"),
    result=("gen_ai.tool.call.result", "gen_ai.output"),
    model=("gen_ai.response.model", "gen_ai.request.model"),
    asked=("gen_ai.input.messages", "gen_ai.prompt"),
    answered=("gen_ai.output.messages", "gen_ai.completion", "gen_ai.output"),
)

OPENINFERENCE = Conventions(
    name="openinference",
    version="0.1",
    operation="openinference.span.kind",
    roles={
        "LLM": Role.MODEL,
        "TOOL": Role.TOOL,
        "AGENT": Role.AGENT,
        "EMBEDDING": Role.SILENT,
        "RERANKER": Role.SILENT,
        "PROMPT": Role.SILENT,
    },
    session=("session.id",),
    agent=("agent.name", "graph.node.name"),
    description=(),
    tool=("tool.name",),
    call_id=("tool_call.id", "tool.id"),
    arguments=("tool.parameters", "input.value"),
    result=("output.value",),
    model=("llm.model_name",),
    asked=("llm.input_messages", "input.value"),
    answered=("llm.output_messages", "output.value"),
)

#: In the order in which a span is tried.
TABLES = (OPENINFERENCE, GEN_AI)

#: Of log records and span events, by name: who speaks in them (the conventions before messages became attributes).
SPOKEN = {
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.choice": "assistant",
    "gen_ai.tool.message": "tool",
}
#: A log record that carries the attributes of a model call.
DETAILS = "gen_ai.client.inference.operation.details"
#: Of the general conventions.
ERROR_TYPE, EXCEPTION_TYPE, EXCEPTION_MESSAGE = "error.type", "exception.type", "exception.message"
SERVICE = "service.name"


def table_of(attributes: Mapping[str, object]) -> Conventions:
    """Give the conventions that a span follows: the first whose operation it names; GenAI's when none."""
    return next((table for table in TABLES if table.operation in attributes), GEN_AI)


def first_of(attributes: Mapping[str, object], names: tuple[str, ...]) -> object:
    """Give the value of the first attribute that is there and says something, else None."""
    return next((attributes[name] for name in names if attributes.get(name) not in (None, "")), None)
