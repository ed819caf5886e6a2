"""Rows and states are refused if a value in them would come back changed, with its place."""

from __future__ import annotations

import math
from uuid import UUID, uuid4

import pytest

from liman_nb.errors import NotStorable
from liman_nb.state.rows import (
    AttemptRecord,
    CallRecord,
    ErrorRecord,
    RunRow,
    TransitionRecord,
    TurnRow,
    dump_row,
    load_row,
)
from liman_nb.state.states import ExecutorState, FunctionNodeState, LLMNodeState, NodeActorState
from liman_nb.state.storable import check_storable


def _turn(**more):
    fields = {"at": "", "session_id": "s", "turn": 1, "node": "n", "node_type": "LLMNode", **more}
    return TurnRow(kind="turn", **fields)


def _run(**more):
    return RunRow(kind="run", at="", executor="e", **more)


def _actor(state):
    return NodeActorState(
        actor_id=uuid4(), node_id=uuid4(), node_name="n", node_type="LLMNode", node_state=state
    )


WRONG = ErrorRecord(type="E", message="\ud800")


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (_turn(input=(1, 2)), "it.input"),
        (_turn(input={"a": [math.nan]}), "it.input.a[0]"),
        (_turn(input=UUID(int=1)), "it.input"),
        (_turn(node="\ud800"), "it.node"),
        (_turn(context_keys=("a", "\ud800")), "it.context_keys[1]"),
        (_run(output=b"x"), "it.output"),
        (_run(state={"a": {1: 2}}), "it.state.a[1]"),
        (_run(says="\ud800"), "it.says"),
        (_run(error=WRONG), "it.error.message"),
        (_run(attempts=(AttemptRecord(error=WRONG),)), "it.attempts[0].error.message"),
        (_run(calls=(CallRecord(id="", name="\udfff"),)), "it.calls[0].name"),
        (
            _run(transitions=(TransitionRecord(edge="e", target="t", values={"a.b": {1}}),)),
            "it.transitions[0].values['a.b']",
        ),
        (
            ExecutorState(execution_id=uuid4(), node_actor_id=uuid4(), output=[(1,)]),
            "it.output[0]",
        ),
        (
            _actor(LLMNodeState(messages=({"role": "user"}, {"content": math.inf}))),
            "it.node_state.messages[1].content",
        ),
        (_actor(FunctionNodeState(extras={"seen": {1}})), "it.node_state.extras.seen"),
    ],
)
def test_a_value_that_would_change_is_refused(model, path):
    """Wherever it stands; the error says where."""
    with pytest.raises(NotStorable) as caught:
        check_storable(model, "it")
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path} cannot be stored: ")


def test_what_comes_back_equal_is_allowed():
    """Also the tuples, enumerations and ids that the models themselves have."""
    row = _run(
        output={"a": [1, 1.5, None, True, "é"]},
        calls=(CallRecord(id="c", name="add", arguments="{}"),),
        transitions=(TransitionRecord(edge="e", target="t", values={"a": [1]}),),
    )
    check_storable(row, "it")
    assert load_row(dump_row(row)) == row
    state = ExecutorState(
        execution_id=uuid4(), node_actor_id=uuid4(), child_executor_ids=(uuid4(),)
    )
    check_storable(state, "it")
    check_storable(_actor(LLMNodeState(messages=({"role": "user", "content": "hi"},))), "it")
