"""The systems that a benchmark compares, by the names that its output has."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from memory.errors import BadSetting
from memory.relations import Relation


class System(StrEnum):
    """`magma`, the baselines, and Magma with parts of it taken away."""

    MAGMA = "magma"
    BM25 = "bm25"
    VECTOR = "vector"
    FUSION = "fusion"
    ADJACENT = "adjacent"
    NO_GRAPH = "no_graph"
    NO_TEMPORAL = "no_temporal"
    NO_CAUSAL = "no_causal"
    NO_ENTITY = "no_entity"
    NO_SEMANTIC = "no_semantic"
    UNIFORM_POLICY = "uniform_policy"
    ONLY_TEMPORAL = "only_temporal"
    ONLY_CAUSAL = "only_causal"
    ONLY_ENTITY = "only_entity"
    ONLY_SEMANTIC = "only_semantic"


BASELINES = (System.BM25, System.VECTOR, System.FUSION, System.ADJACENT)
ABLATIONS = tuple(system for system in System if system is not System.MAGMA and system not in BASELINES)

_EVERY = frozenset(Relation)
#: Relations that may be walked and ranked by; what is not here has all.
_RELATIONS = {
    System.NO_GRAPH: frozenset[Relation](),
    **{System(f"no_{relation}"): _EVERY - {relation} for relation in Relation},
    **{System(f"only_{relation}"): frozenset({relation}) for relation in Relation},
}


def relations_of(system: System) -> frozenset[Relation]:
    """Give the relations that a variant of Magma has."""
    return _RELATIONS.get(system, _EVERY)


def policy_of(system: System) -> str | None:
    """Give the shipped policy that a variant of Magma walks by; None: the default one."""
    return "uniform" if system is System.UNIFORM_POLICY else None


def parse_systems(names: Sequence[str]) -> tuple[System, ...]:
    """Read names of systems (also `baselines`, `ablations`, `all`), in the order of `System` and each once.

    Raises `BadSetting` naming those there are.
    """
    groups: dict[str, Iterable[System]] = {"all": System, "baselines": BASELINES, "ablations": ABLATIONS}
    chosen: set[System] = set()
    for name in names:
        if name in groups:
            chosen |= set(groups[name])
        elif name in set(System):
            chosen.add(System(name))
        else:
            raise BadSetting(f"no system is called {name!r}", hint=f"there are {', '.join([*System, *groups])}")
    return tuple(system for system in System if system in chosen)
