"""What a row does to a tree: the rules of the engine, without an event loop."""

import copy

import pytest
from hypothesis import given, settings
from join_rows import SLOW
from session_rows import (
    BOOM,
    FIRST,
    FUNCTION,
    ROOT,
    answers,
    asks,
    call,
    called,
    cancel,
    edge,
    histories,
    ran,
    tree_of,
    turn,
)

from liman_nb.engine.apply import apply
from liman_nb.engine.ids import turn_id
from liman_nb.engine.tree import ENDED, UNKNOWN_TOOL
from liman_nb.errors import EngineError
from liman_nb.state.rows import ErrorRecord, TransitionRecord, dump_row
from liman_nb.state.states import LastCall

# ── turns ────────────────────────────────────────────────────────────────────────────────────────


def test_a_turn_is_a_child_of_the_session_s_root():
    """The root is the session; each turn hangs under it and may run."""
    tree = tree_of(turn(1))
    assert tree.executors[ROOT].children == [FIRST]
    assert list(tree.idle) == [FIRST]
    assert tree.status == "suspended"


def test_the_root_shows_the_latest_turn():
    """Status, output and entry node of the session are those of its last turn."""
    tree = tree_of(turn(1), ran(FIRST, "hello"), turn(2, node="other"))
    assert tree.executors[ROOT].node == "other"
    assert tree.executors[ROOT].output is None
    apply(tree, ran(turn_id(ROOT, 2), error=BOOM))
    assert tree.status == "failed"
    assert tree.executors[ROOT].error == BOOM
    assert tree.executors[ROOT].children == [FIRST, turn_id(ROOT, 2)]


def test_an_llm_s_history_is_input_and_reply_of_every_turn():
    """What an LLM node knows is every message that it received and sent."""
    tree = tree_of(turn(1), ran(FIRST, "hello"), turn(2, {"n": 1}), ran(turn_id(ROOT, 2), "ok"))
    assert tree.actors["chat"].messages == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": '{"n": 1}'},
        {"role": "assistant", "content": "ok"},
    ]


def test_a_reply_of_nothing_leaves_no_empty_message():
    """There is never an assistant message without content."""
    tree = tree_of(turn(1), ran(FIRST, ""))
    assert tree.actors["chat"].messages == [{"role": "user", "content": "hi"}]
    assert tree.status == "completed"


def test_the_raw_text_of_a_structured_reply_is_what_the_history_keeps():
    """The model is shown its own words again, the next node gets the mapping."""
    tree = tree_of(turn(1), ran(FIRST, {"n": 1}, says='```json\n{"n": 1}\n```'))
    assert tree.actors["chat"].messages[1]["content"] == '```json\n{"n": 1}\n```'
    assert tree.executors[FIRST].output == {"n": 1}


# ── edges ────────────────────────────────────────────────────────────────────────────────────────


def test_an_executor_waits_suspended_for_its_children():
    """It ends when the last of them has, and so do its ancestors."""
    tree = tree_of(turn(1, node="a", node_type=FUNCTION), ran(FIRST, 1, to=[("b", FUNCTION)] * 2))
    assert tree.executors[FIRST].status == "suspended"
    apply(tree, ran(edge(FIRST, 0), 2))
    assert tree.status == "suspended"
    apply(tree, ran(edge(FIRST, 1), 3))
    assert tree.executors[FIRST].status == "completed"
    assert tree.status == "completed"


def test_a_child_gets_its_parent_s_output_as_input():
    """The output travels along the edge; nothing of it is stored twice."""
    row = ran(FIRST, {"k": [1]}, to=[("b", FUNCTION)])
    tree = tree_of(turn(1, node="a", node_type=FUNCTION), row)
    assert tree.executors[edge(FIRST, 0)].input == {"k": [1]}
    assert dump_row(row).count(b'"k"') == 1


def test_a_failure_that_no_edge_handles_fails_every_ancestor():
    """Siblings still finish."""
    tree = tree_of(turn(1, node="a", node_type=FUNCTION), ran(FIRST, 1, to=[("b", FUNCTION)] * 2))
    apply(tree, ran(edge(FIRST, 0), error=BOOM))
    assert tree.status == "suspended"
    apply(tree, ran(edge(FIRST, 1), 3))
    assert tree.executors[FIRST].status == "failed"
    assert tree.status == "failed"
    assert tree.executors[edge(FIRST, 1)].status == "completed"


def test_a_failure_that_an_edge_handles_is_none():
    """The node behind the edge gets type and message as its input."""
    tree = tree_of(
        turn(1, node="a", node_type=FUNCTION), ran(FIRST, error=BOOM, to=[("b", FUNCTION)])
    )
    assert tree.executors[edge(FIRST, 0)].input == {"type": "ValueError", "message": "boom"}
    apply(tree, ran(edge(FIRST, 0), "mended"))
    assert tree.status == "completed"
    assert tree.executors[FIRST].error == BOOM


def test_transitions_stay_with_the_executor_that_they_leave():
    """Every edge considered is on record, also one that did not fire."""
    transition = TransitionRecord(
        edge="x", target="b", condition="n > 1", outcome="not fired", values={"n": 1}
    )
    tree = tree_of(turn(1), ran(FIRST, 1, transitions=(transition,)))
    assert tree.executors[FIRST].transitions == [transition]


# ── tool calls ───────────────────────────────────────────────────────────────────────────────────


def test_every_tool_call_is_a_child_and_the_model_runs_again_after_the_last():
    """Results come in call order, whatever the order in which they arrived."""
    tree = tree_of(turn(1), ran(FIRST, says="let me see", calls=[call(0), call(1)]))
    assert tree.held == {"chat": FIRST}
    apply(tree, ran(called(1), 20))
    assert FIRST not in tree.idle
    apply(tree, ran(called(0), 10))
    assert list(tree.idle) == [FIRST]
    apply(tree, ran(FIRST, "30"))
    assert tree.status == "completed"
    assert tree.held == {}
    assert [m["role"] for m in tree.actors["chat"].messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert [m["content"] for m in tree.actors["chat"].messages[2:4]] == ["10", "20"]


def test_a_tool_s_failure_answers_its_model_and_fails_nothing_else():
    """The model reads what went wrong; the turn goes on."""
    tree = tree_of(turn(1), ran(FIRST, calls=[call(0)]), ran(called(0), error=BOOM))
    apply(tree, ran(FIRST, "sorry"))
    assert tree.actors["chat"].messages[2]["content"] == "Error: ValueError: boom"
    assert tree.executors[called(0)].status == "failed"
    assert tree.status == "completed"


def test_a_call_of_an_unknown_tool_is_in_the_tree_and_has_no_actor():
    """A model cannot reach a node's memory by calling its name."""
    tree = tree_of(turn(1), ran(FIRST, calls=[call(0, "chat")], tools=()))
    before = copy.deepcopy(tree.actors["chat"].messages)
    apply(tree, ran(called(0), error=ErrorRecord(type="ToolError", message="there is no tool")))
    assert tree.actors["chat"].messages == before
    assert list(tree.actors) == ["chat"]
    assert tree.executors[called(0)].node_type == UNKNOWN_TOOL


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("  ", {}),
        ("{}", {}),
        ('{"a": [1, null]}', {"a": [1, None]}),
        ("[1]", "[1]"),
        ("{nonsense", "{nonsense"),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ('{"a": "\\ud800"}', '{"a": "\\ud800"}'),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_a_call_s_input_is_its_arguments_or_the_text_that_holds_none(text: str, value: object):
    """No arguments are an empty mapping; what is not a JSON object stays text."""
    tree = tree_of(turn(1), ran(FIRST, calls=[call(0, arguments=text)]))
    assert tree.executors[called(0)].input == value


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_tool_s_last_call_is_the_last_of_the_reply_not_the_last_to_end(order):
    """The state does not depend on which call was faster."""
    tree = tree_of(turn(1), ran(FIRST, calls=[call(i) for i in range(3)]))
    for position in order:
        apply(tree, ran(called(position), position * 10))
    expected = LastCall(executor=called(2), input={"a": 1}, output=20)
    assert tree.actors["add"].last_call == expected


def test_a_model_that_fails_after_its_tools_leaves_a_valid_history():
    """Every open call has its result, and there is no empty assistant message."""
    tree = tree_of(turn(1), ran(FIRST, calls=[call(0)]), ran(called(0), 1), ran(FIRST, error=BOOM))
    assert [m["role"] for m in tree.actors["chat"].messages] == ["user", "assistant", "tool"]
    assert tree.status == "failed"


# ── cancelling ───────────────────────────────────────────────────────────────────────────────────


def test_cancelling_closes_open_calls_and_everything_open():
    """What was finished stays; a call without a result is answered as cancelled."""
    tree = tree_of(turn(1), ran(FIRST, calls=[call(0), call(1)]), ran(called(0), 1), cancel())
    assert tree.status == "cancelled"
    assert tree.executors[called(0)].status == "completed"
    assert tree.executors[called(1)].status == "cancelled"
    assert [m["content"] for m in tree.actors["chat"].messages[2:]] == [
        "1",
        "Error: the call was cancelled before it gave a result.",
    ]
    assert not tree.idle
    assert not tree.held
    assert tree.turns[-1].cancelled == "stopped"


def test_a_session_goes_on_after_a_cancelled_turn():
    """The next turn starts as any other."""
    tree = tree_of(turn(1), cancel(), turn(2), ran(turn_id(ROOT, 2), "again"))
    assert tree.status == "completed"


# ── questions ──────────────────────────────────────────────────────────────────────────────────


def test_an_executor_that_asks_waits_and_runs_again_after_the_answer():
    """Its siblings go on; it keeps every answer."""
    tree = tree_of(turn(1, node="a", node_type=FUNCTION), ran(FIRST, 1, to=[("b", FUNCTION)] * 2))
    one, other = edge(FIRST, 0), edge(FIRST, 1)
    apply(tree, asks(one))
    assert (list(tree.asking), list(tree.idle)) == ([one], [other])
    apply(tree, ran(other, 2))
    assert tree.status == "suspended"
    apply(tree, answers(one, None))
    assert (list(tree.asking), list(tree.idle)) == ([], [one])
    assert [a.value for a in tree.executors[one].answers] == [None]
    apply(tree, ran(one, 3))
    assert tree.status == "completed"


def test_what_a_call_noted_before_it_asked_is_the_actor_s_state():
    """It is stored with the question; the run is not counted yet."""
    tree = tree_of(turn(1, node="a", node_type=FUNCTION), asks(FIRST, {"n": 1}))
    assert (tree.actors["a"].extras, tree.actors["a"].runs) == ({"n": 1}, 0)


def test_a_run_answers_the_question_that_was_asked_beforehand():
    """The precaution is over; it may also ask a question of its own instead."""
    begun = (turn(1, node="a", node_type="ToolNode"), asks(FIRST, kind="crash"))
    tree = tree_of(*begun, ran(FIRST, "x"))
    assert (tree.status, dict(tree.asking)) == ("completed", {})
    tree = tree_of(*begun, asks(FIRST))
    assert list(tree.asking) == [FIRST]
    assert tree.executors[FIRST].question.kind == "function"
    assert tree.executors[FIRST].asked == 2


def test_cancelling_takes_back_what_is_asked():
    """Nobody may answer it any more."""
    tree = tree_of(turn(1, node="a", node_type=FUNCTION), asks(FIRST), cancel())
    assert (dict(tree.asking), tree.executors[FIRST].question) == ({}, None)
    with pytest.raises(EngineError, match="which asked nothing then"):
        apply(tree, answers(FIRST))


def test_a_run_of_an_executor_that_waits_for_a_person_is_refused():
    """As is a second question."""
    tree = tree_of(turn(1, node="a", node_type=FUNCTION), asks(FIRST))
    for row in (ran(FIRST, "x"), asks(FIRST)):
        with pytest.raises(EngineError, match="could not run then"):
            apply(tree, row)


# ── rows that do not fit ─────────────────────────────────────────────────────────────────────────


def test_a_run_of_an_executor_that_may_not_run_is_refused():
    """A run cannot be applied twice, nor one of an unknown executor."""
    tree = tree_of(turn(1), ran(FIRST, "x"))
    with pytest.raises(EngineError, match="could not run then"):
        apply(tree, ran(FIRST, "x"))
    with pytest.raises(EngineError, match="could not run then"):
        apply(tree, ran(edge(FIRST, 0), "x"))


# ── in general ───────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
@given(histories())
def test_loading_the_rows_gives_the_live_tree(history):
    """The tree is a function of its rows."""
    live, rows = history
    assert tree_of(*rows) == live


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
@given(histories())
def test_a_finished_session_has_nothing_open(history):
    """Every executor has ended, nothing is idle or held, and every tool call has one answer."""
    tree, _ = history
    assert all(e.status in ENDED for e in tree.executors.values())
    assert not tree.idle
    assert not tree.asking
    assert not tree.held
    assert all(e.question is None and e.open_children == 0 for e in tree.executors.values())
    for actor in tree.actors.values():
        asked = [c["id"] for m in actor.messages for c in m.get("tool_calls", ())]
        answered = [m["tool_call_id"] for m in actor.messages if m["role"] == "tool"]
        assert answered == asked
        assert all(
            m["content"]
            for m in actor.messages
            if m["role"] == "assistant" and "tool_calls" not in m
        )
