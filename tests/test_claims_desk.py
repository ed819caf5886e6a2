"""The example mesh specs/claims: two branches, a loop, a join, a person, a letter; what is kept."""

import json
from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest
from test_examples import example

from liman_nb import Agent, DiskCacheStateStorage, InMemoryStateStorage, ScriptedLLM

CLAIM = "A storm took half of my roof. The roofer wants 9000."
READ = {"item": "roof", "amount": 9000}
UNSURE = {"cost": 5000, "sure": False}
SURE = {"cost": 4200, "sure": True}
PAID = {"pay": True, "sum": 4200, "why": "Storm damage is covered."}
AGREED = {"agreed": True, "note": "Get well soon."}
LETTER = "Dear customer, we pay 4200."
BEGUN = datetime(2026, 11, 30, 9, tzinfo=UTC)


def desk(storage, now=BEGUN, **replies) -> tuple[Agent, ScriptedLLM]:
    """The claims desk on a storage at a time, and its model."""
    script = {"intake": [READ], "estimate": [UNSURE, SURE], "decision": [PAID], "letter": [LETTER]}
    llm = ScriptedLLM(script | replies)
    agent = example("claims", llm=llm, storage=storage, session_id="claim-7", clock=lambda: now)
    return agent, llm


def given(llm: ScriptedLLM, node: str):
    """What a node's model was given as its input, the last time."""
    last = [request for request in llm.requests if request.node == node][-1]
    return json.loads(last.messages[-1]["content"])


def said(agent: Agent, *nodes: str) -> list[tuple[str, object]]:
    """Type and content of the entries of some nodes, in order."""
    entries = [e for e in agent.session().conversation if e.agent_name in nodes]
    return [
        (e.type, e.content if e.content in (CLAIM, LETTER) else json.loads(e.content))
        for e in entries
    ]


def decisions(agent: Agent, *nodes: str) -> list[tuple[str, str]]:
    """What was decided about some nodes, and where it leads, in order."""
    return [(d.decision, d.target) for d in agent.session().decisions if d.agent_name in nodes]


@pytest.fixture
async def answered():
    """The desk when the person has agreed to an expensive claim, and its model."""
    agent, llm = desk(InMemoryStateStorage())
    assert (await agent.step(CLAIM)).status == "suspended"
    assert (await agent.resume(AGREED)).output == LETTER
    return agent, llm


# ── what is on record ────────────────────────────────────────────────────────────────────────────


def test_the_conversation_is_complete(answered):
    """What each agent was asked, said, and handed on. Records and estimate run side by side."""
    agent, _ = answered
    reply, handed = "agent_response", "mesh_call"
    assert said(agent, "intake") == [
        ("user_message", CLAIM),
        (reply, READ),
        (handed, READ),
        (handed, READ),
    ]
    assert said(agent, "records") == [
        (reply, {"earlier_claims": 3}),
        (handed, {"earlier_claims": 3}),
    ]
    assert said(agent, "estimate", "decision", "approver", "letter") == [
        *((reply, UNSURE), (handed, UNSURE)),
        *((reply, SURE), (handed, SURE)),
        *((reply, PAID), (handed, PAID)),
        *(("user_message", AGREED), (handed, {**PAID, **AGREED})),
        (reply, LETTER),
    ]
    assert len(agent.session().conversation) == 15


def test_the_yields_of_every_run_are_kept(answered):
    """Of the loop both, in order."""
    agent, _ = answered
    kept = [(r.agent_name, r.yields) for r in agent.session().yields]
    assert [y for y in kept if y[0] != "records"] == [
        ("intake", READ),
        ("estimate", UNSURE),
        ("estimate", SURE),
        ("decision", PAID),
        ("approver", AGREED),
    ]
    assert ("records", {"earlier_claims": 3}) in kept
    assert len(kept) == 6


def test_every_call_between_agents_is_kept_with_its_condition_and_what_was_handed_on(answered):
    """Seven edges fired; the join was called by both of its sources."""
    agent, _ = answered
    calls = agent.session().mesh_communications
    assert {(c.from_agent, c.to_agent, c.condition, json.dumps(c.payload)) for c in calls} == {
        ("intake", "records", "", json.dumps(READ)),
        ("intake", "estimate", "", json.dumps(READ)),
        ("records", "decision", "", '{"earlier_claims": 3}'),
        ("estimate", "estimate", "sure == false", json.dumps(UNSURE)),
        ("estimate", "decision", "sure == true", json.dumps(SURE)),
        ("decision", "approver", "pay == true and sum > 1000", json.dumps(PAID)),
        ("approver", "letter", "", json.dumps({**PAID, **AGREED})),
    }
    assert len(calls) == 7


def test_every_decision_is_kept_with_its_reason(answered):
    """The loop, the join, the person, and the way that was not taken."""
    agent, _ = answered
    assert decisions(agent, "intake") == [("fire", "records"), ("fire", "estimate")]
    assert decisions(agent, "records") == [("fire", "decision")]
    assert decisions(agent, "estimate") == [
        *(("fire", "estimate"), ("skip", "decision")),
        *(("skip", "estimate"), ("fire", "decision")),
    ]
    assert decisions(agent, "decision") == [
        *(("fire", "approver"), ("skip", "letter")),
        ("start", "decision"),
    ]
    assert decisions(agent, "approver") == [("escalate", ""), ("fire", "letter")]
    reasons = {(d.agent_name, d.decision, d.target): d.why for d in agent.session().decisions}
    assert reasons["decision", "fire", "approver"] == (
        "pay = true equals true and sum = 4200 is above 1000"
    )
    assert reasons["approver", "escalate", ""] == (
        "a person was asked and answered: Pay 4200? Storm damage is covered."
    )


def test_every_run_is_analysed(answered):
    """Seven runs that were valid; two of them arrived at the join."""
    analyses = answered[0].session().analyses
    assert all(a.valid for a in analyses)
    assert sorted(a.agent_name for a in analyses) == sorted(
        ["intake", "records", "estimate", "estimate", "decision", "approver", "letter"]
    )
    joins = [(a.agent_name, a.joins) for a in analyses if a.joins]
    assert sorted(joins) == [
        ("estimate", {"decision": "joined"}),
        ("records", {"decision": "joined"}),
    ]


# ── what reaches whom ────────────────────────────────────────────────────────────────────────────


def test_the_decision_is_given_what_both_branches_found(answered):
    """By name, the last estimate."""
    _, llm = answered
    assert given(llm, "decision") == {"records": {"earlier_claims": 3}, "estimate": SURE}
    assert llm.remaining == 0


def test_the_letter_writer_is_given_the_decision_and_the_person_s_answer(answered):
    """Asking somebody loses nothing, and nothing stands twice."""
    _, llm = answered
    assert given(llm, "letter") == {**PAID, **AGREED}
    contents = chain.from_iterable(r.messages for r in llm.requests if r.node == "letter")
    assert sum(AGREED["note"] in message["content"] for message in contents) == 1


async def test_a_cheap_claim_is_answered_without_asking_anybody():
    """The person is only for expensive ones."""
    cheap = {"pay": True, "sum": 80, "why": "A new chain."}
    agent, llm = desk(InMemoryStateStorage(), estimate=[SURE], decision=[cheap])
    assert (await agent.step(CLAIM)).output == LETTER
    assert given(llm, "letter") == cheap
    assert decisions(agent, "decision") == [
        *(("skip", "approver"), ("fire", "letter")),
        ("start", "decision"),
    ]


# ── while a person is asked ──────────────────────────────────────────────────────────────────────


async def test_the_question_outlives_the_process(tmp_path):
    """Another agent on the same store shows it, and goes on without asking a model again."""
    first, _ = desk(DiskCacheStateStorage(tmp_path))
    await first.step(CLAIM)
    before = first.session().to_dict()
    await first.state_storage.close()

    later, llm = desk(DiskCacheStateStorage(tmp_path), now=BEGUN + timedelta(days=2))
    (question,) = later.pending()
    assert question.text == "Pay 4200? Storm damage is covered."
    assert question.deadline == BEGUN + timedelta(days=7)
    assert (await later.resume(AGREED)).output == LETTER
    assert [request.node for request in llm.requests] == ["letter"]
    assert given(llm, "letter") == {**PAID, **AGREED}
    after = later.session().to_dict()
    assert after["conversation"][: len(before["conversation"])] == before["conversation"]
    assert len(after["conversation"]) == 15


async def test_after_the_deadline_the_fallback_is_the_answer():
    """A week later nobody has agreed: the letter writer is told so, and the record says why."""
    storage = InMemoryStateStorage()
    await desk(storage)[0].step(CLAIM)
    early, _ = desk(storage, now=BEGUN + timedelta(days=7, seconds=-1))
    assert (await early.resume()).status == "suspended"

    late, llm = desk(storage, now=BEGUN + timedelta(days=7))
    assert (await late.resume()).output == LETTER
    assert given(llm, "letter") == {**PAID, "agreed": False}
    (escalated,) = [d for d in late.session().decisions if d.decision == "escalate"]
    assert escalated.why.startswith("nobody answered in time, the fallback holds: Pay 4200?")
    assert late.pending() == []


# ── the loop ─────────────────────────────────────────────────────────────────────────────────────


async def test_who_is_never_sure_thinks_again_twice_and_no_more():
    """Then the estimate can no longer arrive: the join halts, and the record says why."""
    agent, llm = desk(InMemoryStateStorage(), estimate=[UNSURE] * 4, decision=[], letter=[])
    result = await agent.step(CLAIM)
    assert result.status == "completed"
    assert [request.node for request in llm.requests] == ["intake", *["estimate"] * 3]
    assert decisions(agent, "estimate") == [
        *(("fire", "estimate"), ("skip", "decision")),
        *(("fire", "estimate"), ("skip", "decision")),
        *(("skip", "estimate"), ("skip", "decision")),
    ]
    reasons = [d.why for d in agent.session().decisions if d.agent_name in ("estimate", "decision")]
    assert "it was followed 2 times in this turn, as often as its max_visits allows" in reasons
    assert reasons[-1] == "arrived: records; estimate can no longer arrive"
    assert decisions(agent, "decision") == [("halt", "decision")]
