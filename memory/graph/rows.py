"""Edge records <-> flat properties of relationships; empty ones left out."""

from typing import Any

from memory.relations import Provenance


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
