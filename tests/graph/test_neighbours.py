"""From the answer of the server to typed edges, without a server."""

from memory.graph import Hub
from memory.graph.neighbours import MAX_DIRECT, MAX_ENTITIES, neighbourhood
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


def test_of_an_event_with_very_many_edges_the_chain_and_the_surest_are_followed_in_any_order() -> None:
    causes = [
        ["t|a", f"t|c{n:04}", "CAUSES", False, None, 0.5 + (n % 2) / 4, "rule", "leads_to", ""]
        for n in range(MAX_DIRECT + 100)
    ]
    chain = ["t|a", "t|z", "NEXT", True, 5, None, None, None, None]
    other = ["t|b", "t|z", "NEXT", False, 5, None, None, None, None]
    found = neighbourhood({"direct": [*causes, chain, other]}, 2)
    assert found == neighbourhood({"direct": [other, chain, *reversed(causes)]}, 2)
    assert len([edge for edge in found.edges if edge.source == "a"]) == MAX_DIRECT
    assert {edge.target for edge in found.edges if edge.edge is EdgeType.NEXT} == {"z"}
    sure = sum(row[5] == 0.75 for row in causes)
    assert sum(edge.strength == 0.75 for edge in found.edges) == sure


def test_of_an_event_that_names_very_many_entities_the_rarest_are_followed() -> None:
    touched = [
        ["t|a", f"t|e{n:04}", "E", 1_000 - n, "MENTIONS", 0.9, "rule", "names"] for n in range(MAX_ENTITIES + 50)
    ]
    hubs = neighbourhood({"touched": touched}, 2).hubs
    assert hubs == neighbourhood({"touched": touched[::-1]}, 2).hubs
    assert {hub.key for hub in hubs} == {f"e{n:04}" for n in range(50, MAX_ENTITIES + 50)}
