"""The states have the fields that Liman's page prints, and survive JSON whole."""

from __future__ import annotations

import json
from uuid import UUID, uuid4

import pytest
from pydantic import ValidationError

from liman_nb.state.rows import AttemptRecord, CallRecord, ErrorRecord, TransitionRecord
from liman_nb.state.states import (
    ExecutorState,
    ExecutorStatus,
    FunctionNodeState,
    HumanNodeState,
    LastCall,
    LastRun,
    LLMNodeState,
    NodeActorState,
    NodeActorStatus,
    SessionState,
    ToolNodeState,
    TurnState,
)

ERROR = ErrorRecord(type="ValueError", message="no", where="tools.py:3")
ROOT, TURN, ACTOR, NODE = (uuid4() for _ in range(4))
MESSAGES = (
    {"role": "user", "content": "My name is Alice."},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
)


def _executor():
    return ExecutorState(
        execution_id=ROOT,
        node_actor_id=ACTOR,
        status=ExecutorStatus.FAILED,
        child_executor_ids=(TURN, UUID(int=1), UUID(int=2)),
        node_name="chat",
        node_type="LLMNode",
        via="turn:1",
        seq=7,
        runs=2,
        input={"question": "?"},
        output=["a", None],
        says="raw",
        error=ERROR,
        calls=(CallRecord(id="c1", name="weather", arguments="{}"),),
        transitions=(TransitionRecord(edge="e", target="t", outcome="undecided", values={"x": 1}),),
        attempts=(AttemptRecord(error=ERROR, reply="hm"),),
        session=SessionState(
            session_id="alice",
            turns=(TurnState(number=1, executor_id=TURN, llm_runs={"chat": 2}),),
        ),
    )


def _actor(node_type, node_state, **more):
    return NodeActorState(
        actor_id=ACTOR,
        node_id=NODE,
        node_name="n",
        node_type=node_type,
        node_state=node_state,
        **more,
    )


ACTORS = [
    _actor("LLMNode", LLMNodeState(messages=MESSAGES, extras={"a": 1}), has_error=True),
    _actor("ToolNode", ToolNodeState(last_call=LastCall(input={"city": "Oslo"}, output="rain"))),
    _actor("ToolNode", ToolNodeState(last_call=LastCall(input={}, error=ERROR))),
    _actor("ToolNode", ToolNodeState()),
    _actor("FunctionNode", FunctionNodeState(extras={"user": "u-123"})),
    _actor("HumanNode", HumanNodeState(), status=NodeActorStatus.SUSPENDED),
    _actor("LLMNode", LLMNodeState(), runs=1, last_run=LastRun(executors=(_executor(),))),
]


def test_an_executor_state_survives_json():
    """What a storage gets is JSON, and makes an equal state again."""
    state = _executor()
    data = json.loads(json.dumps(state.model_dump(mode="json")))
    assert ExecutorState.model_validate(data) == state


@pytest.mark.parametrize("state", ACTORS, ids=lambda state: state.node_type)
def test_an_actor_state_survives_json(state):
    """Each kind of node gets its own kind of memory back."""
    data = json.loads(json.dumps(state.model_dump(mode="json")))
    back = NodeActorState.model_validate(data)
    assert back == state
    assert type(back.node_state) is type(state.node_state)


def test_states_have_the_fields_of_limans_page():
    """Names and JSON types are those that the page prints."""
    assert NodeActorState.model_fields.keys() >= {
        "actor_id", "node_id", "node_name", "node_type", "status", "has_error", "node_state",
    }  # fmt: skip
    assert ExecutorState.model_fields.keys() >= {
        "execution_id", "node_actor_id", "status", "child_executor_ids",
    }  # fmt: skip
    data = _executor().model_dump(mode="json")
    assert data["execution_id"] == str(ROOT)
    assert data["status"] == "failed"
    assert data["child_executor_ids"] == [str(TURN), str(UUID(int=1)), str(UUID(int=2))]


def test_statuses_are_text_too():
    """Code may compare with the words of the page."""
    words = ["idle", "running", "suspended", "completed", "failed", "cancelled"]
    assert list(ExecutorStatus) == words
    assert ExecutorStatus("idle") is ExecutorStatus.IDLE
    assert list(NodeActorStatus) == ["idle", "executing", "suspended", "completed"]


def test_states_cannot_be_changed():
    """A stored thing is a fact."""
    with pytest.raises(ValidationError, match="frozen"):
        _executor().runs = 3


def test_a_back_end_may_add_fields():
    """Databases like to add an id or a time of their own."""
    data = {**_executor().model_dump(mode="json"), "_id": 5, "expires": "never"}
    assert ExecutorState.model_validate(data) == _executor()


def test_a_status_that_does_not_exist_is_refused():
    """A state of another program is not taken for one of ours."""
    data = {**_executor().model_dump(mode="json"), "status": "half done"}
    with pytest.raises(ValidationError, match="status"):
        ExecutorState.model_validate(data)
