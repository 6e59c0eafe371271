"""Causes in logs of agents that work as a group: code and output, order and result, plan and step, end of a run."""

from memory.llm.scene import REACH
from tests.llm.chains import chain, found

CODE = "Let us count.\n```python\nprint(len(rows))\n```"


def test_output_belongs_to_the_code_and_is_read_by_who_wrote_it() -> None:
    pairs = found(
        chain(
            f"coder says: {CODE}",
            "terminal result: exitcode: 0 (execution succeeded)\nCode output: 4417",
            "coder says: There are 4417 of them.",
        )
    )
    assert pairs[0, 1] == "code-output"
    assert (1, 2) in pairs


def test_a_failed_run_is_read_by_the_one_who_speaks_of_the_error() -> None:
    pairs = found(
        chain(
            f"coder says: {CODE}",
            "terminal error: exitcode: 1 (execution failed)\nNameError: name 'rows' is not defined",
            "checker says: The script failed, as the list was never read.",
        )
    )
    assert pairs[1, 2] == "result-read"


def test_an_order_leads_to_the_result_of_the_agent_that_comes_next_and_that_to_the_next_plan() -> None:
    pairs = found(
        chain(
            "planner notes: Next: find the museum's page, then read the membership prices on it.",
            "planner hands: Please find the museum's page and read the membership prices on it.",
            "planner notes: Next speaker surfer",
            "surfer result: I clicked 'Membership'. Family 120, adult 60.",
            "planner notes: The prices are there; next compare them with the tickets.",
        )
    )
    assert pairs[0, 1] == "plan-step"
    assert pairs[1, 3] == "order-result"
    assert pairs[3, 4] == "result-read"


def test_a_plan_is_passed_on_in_its_very_words() -> None:
    order = "Look at the headstones in the background and read out the last line of each rhyme on them"
    pairs = found(chain(f'planner notes: {{"answer": "{order}."}}', f"planner hands: {order}."))
    assert pairs == {(0, 1): "plan-step"}


def test_who_was_given_nothing_to_do_says_so_because_of_the_word_before() -> None:
    pairs = found(
        chain(
            "coder says: I like the plan.", "terminal result: There is no code from the last message for me to execute."
        )
    )
    assert pairs == {(0, 1): "nothing-to-do"}


def test_the_end_follows_from_the_proposal_to_end() -> None:
    pairs = found(
        chain(
            "checker says: The count is verified. If there are no objections we can conclude.",
            "coder says: TERMINATE",
        )
    )
    assert pairs[0, 1] == "agreed-to-end"


def test_a_value_leads_back_to_the_one_event_that_brought_it_in() -> None:
    filler = [f"mate-{at} says: Tea time number {at}." for at in range(5)]
    events = chain(
        "lead says: The figures, somebody?",
        "clerk sees: Seattle counts 737,015 heads.",
        *filler,
        "writer says: So the city has 737015 people.",
    )
    assert found(events)[1, 7] == "value-used"


def test_what_is_further_back_than_a_scene_is_not_linked() -> None:
    filler = [f"mate-{at} sees: Tea number {at}." for at in range(REACH)]
    events = chain("clerk sees: Seattle counts 737,015 heads.", *filler, "writer says: It has 737015 people.")
    assert found(events) == {}


def test_agents_that_only_follow_each_other_are_not_chained() -> None:
    topics = ("heron", "violin", "ladder", "walnut", "harbour", "pencil", "castle", "thunder")
    assert found(chain(*(f"mate-{at % 3} says: The {topic} is fine." for at, topic in enumerate(topics)))) == {}
