"""Edge records <-> flat properties of relationships; empty ones left out."""

from collections.abc import Sequence
from typing import Any

from memory.relations import CausalEdge, CausalKind, Origin, Provenance


def provenance_row(provenance: Provenance) -> dict[str, Any]:
    """Give the properties that say where an edge comes from."""
    row: dict[str, Any] = {
        "origin": provenance.origin.value,
        "confidence": float(provenance.confidence),
        "created_us": provenance.created_us,
    }
    for name in ("rule", "model", "prompt_version", "rationale"):
        value = getattr(provenance, name)
        if value:
            row[name] = value
    if provenance.evidence:
        row["evidence"] = list(provenance.evidence)
    return row


def causal_edge(row: Sequence[Any]) -> CausalEdge:
    """Give the edge of a row of `CauseStatement.CAUSES_KNOWN`."""
    cause, effect, kind, origin, confidence, rule, model, version, rationale, evidence, created_us = row
    provenance = Provenance(
        origin=Origin(origin),
        confidence=confidence,
        created_us=created_us,
        rule=rule,
        model=model,
        prompt_version=version,
        rationale=rationale,
        evidence=tuple(evidence),
    )
    return CausalEdge(cause.partition("|")[2], effect.partition("|")[2], CausalKind(kind), provenance)
