"""From the answer of the server to typed edges, without a server."""

from memory.graph import Hub
from memory.graph.neighbours import neighbourhood
from memory.relations import EdgeType, Origin


def test_an_edge_stored_twice_counts_once() -> None:
    row = ["t|a", "t|b", "SIMILAR", True, None, 0.5, None, None, None]
    found = neighbourhood({"direct": [row, list(row)]}, 2)
    assert [(edge.source, edge.target, edge.strength) for edge in found.edges] == [("a", "b", 0.5)]


def test_causes_of_different_kinds_and_directions_stay_apart() -> None:
    rows = [
        ["t|a", "t|b", "CAUSES", True, None, 0.8, "rule", "leads_to", "cue"],
        ["t|a", "t|b", "CAUSES", True, None, 0.9, "llm", "enables", "model"],
        ["t|b", "t|a", "CAUSES", False, None, 0.8, "rule", "leads_to", "cue"],
    ]
    found = neighbourhood({"direct": rows}, 2)
    assert [(e.source, e.forward, e.kind, e.origin) for e in found.edges] == [
        ("a", True, "enables", Origin.LLM),
        ("a", True, "leads_to", Origin.RULE),
        ("b", False, "leads_to", Origin.RULE),
    ]


def test_a_step_over_an_entity_is_as_sure_as_the_weaker_edge_and_never_leads_back() -> None:
    touched = [["t|a", "t|bob", "Bob", 2, "MENTIONS", 0.9, "llm", "m"]]
    members = [
        ["t|bob", "t|a", "MENTIONS", 0.9, "llm", "m"],
        ["t|bob", "t|c", "SPOKEN_BY", 0.6, "rule", "speaker"],
        ["t|bob", "t|c", "MENTIONS", 0.5, "rule", "names"],
    ]
    [edge] = neighbourhood({"touched": touched, "members": members}, 2).edges
    assert (edge.source, edge.target, edge.via, edge.via_events) == ("a", "c", "bob", 2)
    assert (edge.edge, edge.strength, edge.origin, edge.rule) == (EdgeType.MENTIONS, 0.6, Origin.RULE, "speaker")


def test_an_entity_that_was_not_expanded_is_a_hub() -> None:
    touched = [["t|a", "t|bob", "Bob", 99, "MENTIONS", 0.9, "rule", "names"]]
    assert neighbourhood({"touched": touched}, 2).hubs == (Hub("a", "bob", "Bob", 99),)
