"""The functions before and after an LLM node's model, and what they are given."""

import asyncio
from functools import partial

import pytest

from liman_nb import Agent, InMemoryStateStorage, ScriptedLLM, Suspend, call
from liman_nb.errors import FunctionMissing, SpecError, TurnFailed, UsageError

MESH = """
kind: LLMNode
name: solver
prompts: {system: "Solve {question} for {input.who}."}
yields: {answer: number, steps: [string]}
edges: [{target: checker, when: answer >= 0}]
---
kind: LLMNode
name: checker
yields: {is_correct: boolean, explanation: string}
"""
TEXT = "{kind: LLMNode, name: chat, tools: [look]}\n---\n{kind: ToolNode, name: look}"
BRANCHES = """
{kind: LLMNode, name: start, edges: [a, b]}
---
{kind: LLMNode, name: a, yields: {x: integer}, edges: [sum]}
---
{kind: LLMNode, name: b, yields: {x: integer}, edges: [sum]}
---
"""
SOLVED = {"answer": 4, "steps": ["2+2"]}
CHECKED = {"is_correct": True, "explanation": "fine"}


def look() -> str:
    """Look."""
    return "seen"


def agent_of(specs, script, storage=None, **more) -> Agent:
    """An agent with a scripted model."""
    return Agent(
        specs,
        llm=ScriptedLLM(script),
        state_storage=storage or InMemoryStateStorage(),
        name="test",
        session_id="s",
        **more,
    )


def mesh(storage=None, script=None, **more) -> Agent:
    """A solver and a checker."""
    script = script or {"solver": [SOLVED, SOLVED], "checker": [CHECKED, CHECKED]}
    return agent_of(MESH, script, storage, start_node="solver", **more)


def prepared(input_data, context):
    """Prepare the solver's input."""
    return {"question": input_data["message"], "who": context.get("user", "nobody")}


async def test_what_is_prepared_is_the_prompt_s_and_the_model_s_input():
    """The function gets text as `message`, and the call's context."""
    agent = mesh()
    agent.pre_compose("solver")(prepared)
    await agent.step("2 + 2?", context={"user": "ada"})
    system, user = agent.requests("solver")[0]["messages"]
    assert system["content"].startswith("Solve 2 + 2? for ada.")
    assert user == {"role": "user", "content": '{"question": "2 + 2?", "who": "ada"}'}
    assert agent.messages("solver")[0]["content"] == user["content"]


async def test_what_a_reply_is_worked_into_is_merged_validated_and_seen_by_the_edges():
    """The message history keeps what the model said."""
    agent = mesh(script={"solver": [SOLVED], "checker": [CHECKED]})

    @agent.intelligence("solver")
    async def negative(llm_response, input_data, context):
        assert (llm_response, input_data) == (SOLVED, {"message": "2 + 2?"})
        return {"answer": -llm_response["answer"]}

    agent.pre_compose("solver")(lambda input_data: {"question": "", "who": ""})
    result = await agent.step("2 + 2?")
    assert result["answer"] == -4
    assert result["steps"] == ["2+2"]
    assert [t.outcome for t in agent.transitions()] == ["not fired"]
    assert agent.messages("solver")[-1]["content"] == '{"answer": 4, "steps": ["2+2"]}'


async def test_both_may_be_named_in_the_spec():
    """Functions are found as every other function of a spec."""

    def loud(llm_response):
        return {"text": llm_response["text"].upper()}

    specs = "{kind: LLMNode, name: chat, pre_compose: prepared, intelligence: loud}"
    agent = agent_of(specs, ["hello"], functions=[prepared, loud])
    assert (await agent.step("hi")).output == {"text": "HELLO"}
    assert agent.messages("chat")[0]["content"] == '{"question": "hi", "who": "nobody"}'
    with pytest.raises(SpecError, match="no function 'loud'"):
        await agent_of(specs, ["hello"], functions=[prepared]).step("hi")


async def test_context_offers_the_session_besides_the_call_s_own():
    """Its id, the latest yields by agent, and the conversation so far."""
    agent, seen = mesh(), []

    @agent.intelligence("checker")
    def note(context):
        seen.append(context)

    agent.pre_compose("solver")(prepared)
    await agent.step("one", context={"user": "ada"})
    await agent.step("two", context={"user": "ada"})
    last = seen[-1]
    assert (last["session_id"], last["user"]) == ("s", "ada")
    assert last["yields"] == {"solver": SOLVED, "checker": CHECKED}
    assert [e["content"] for e in last["conversation_history"] if e["role"] == "user"] == [
        "one",
        "two",
    ]


async def test_an_account_hands_on_its_slice_of_the_context_alone():
    """As for every function of a node with a service account."""
    specs = """
kind: LLMNode
name: chat
auth: {service_account: {context: {inject: [user]}}}
"""
    agent, seen = agent_of(specs, ["hello"]), []

    @agent.pre_compose("chat")
    def note(input_data, context):
        seen.append(set(context))
        return input_data

    await agent.step("hi", context={"user": "ada", "token": "t-1"})
    assert seen == [{"user", "session_id", "yields", "conversation_history"}]


async def test_the_input_is_prepared_once_and_the_reply_worked_on_once():
    """Calls of tools in between change nothing of it."""
    made = []
    agent = agent_of(TEXT, [[call("look")], "done"], functions=[look])

    @agent.pre_compose("chat")
    def prepare(input_data):
        made.append("prepare")
        return {"asked": input_data["message"]}

    @agent.intelligence("chat")
    def work(llm_response):
        made.append(llm_response)

    assert (await agent.step("hi")).output == "done"
    assert made == ["prepare", {"text": "done"}]
    assert [m["role"] for m in agent.messages("chat")] == ["user", "assistant", "tool", "assistant"]
    assert agent.messages("chat")[0]["content"] == '{"asked": "hi"}'


async def test_a_join_s_sources_are_the_upstream_yields():
    """By the name of the node that gave them."""
    specs = BRANCHES + "{kind: LLMNode, name: sum, wait_for: [a, b]}"
    script = {"start": ["go"], "a": [{"x": 1}], "b": [{"x": 2}], "sum": ["3"]}
    agent, seen = agent_of(specs, script, start_node="start"), []

    @agent.pre_compose("sum")
    def note(input_data):
        seen.append(input_data["upstream_yields"])
        return {"total": sum(y["x"] for y in input_data["upstream_yields"].values())}

    await agent.step("hi")
    assert seen == [{"a": {"x": 1}, "b": {"x": 2}}]
    assert agent.messages("sum")[0]["content"] == '{"total": 3}'


async def test_a_prompt_may_name_what_each_source_of_a_join_gave():
    """As `upstream_yields`, also where the input was prepared."""
    prompt = "Add {upstream_yields.a.x} and {b.x}."
    specs = f"{BRANCHES}{{kind: LLMNode, name: sum, wait_for: [a, b], prompts: '{prompt}'}}"
    script = {"start": ["go"], "a": [{"x": 1}], "b": [{"x": 2}], "sum": ["3"]}
    agent = agent_of(specs, script, start_node="start")
    await agent.step("hi")
    assert agent.requests("sum")[0]["messages"][0]["content"] == "Add 1 and 2."


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────


async def test_an_exception_fails_the_node_with_the_place_in_the_user_s_code():
    """What was prepared before stays on record."""
    agent = mesh()
    agent.pre_compose("solver")(prepared)

    @agent.intelligence("solver")
    def broken(llm_response):
        raise KeyError("total")

    with pytest.raises(TurnFailed, match="solver: KeyError: 'total'") as failed:
        await agent.step("2 + 2?")
    (failure,) = failed.value.result.errors
    assert "test_pipeline.py:" in failure.error.where
    assert agent.messages("solver")[0]["content"] == '{"question": "2 + 2?", "who": "nobody"}'


@pytest.mark.parametrize(
    ("stage", "value", "complaint"),
    [
        ("pre_compose", "text", "must return a mapping, the model's input; it returned str"),
        ("pre_compose", None, "must return a mapping, the model's input; it returned NoneType"),
        ("pre_compose", {"x": float("nan")}, "returned cannot be stored: .*result.x"),
        ("intelligence", [1], "must return a mapping, which is merged over the yields, or None"),
        ("intelligence", {"answer": "four"}, "do not fit their declaration: .*answer"),
        ("intelligence", {"other": 1}, "do not fit their declaration: .*other"),
    ],
)
async def test_what_it_returns_must_fit(stage, value, complaint):
    """A mapping of JSON values; merged, it must be the declared yields."""
    agent = mesh()
    agent.pre_compose("solver")(prepared)
    getattr(agent, stage)("solver")(lambda: value)
    with pytest.raises(TurnFailed, match=complaint):
        await agent.step("2 + 2?")


async def test_it_cannot_ask_a_person():
    """Only tools and functions may suspend."""
    agent = mesh()

    @agent.pre_compose("solver")
    def ask():
        raise Suspend("really?")

    with pytest.raises(TurnFailed, match="solver: only tools and functions may suspend"):
        await agent.step("2 + 2?")


@pytest.mark.parametrize(
    ("stage", "function", "complaint"),
    [
        ("pre_compose", lambda text: text, "<lambda> needs text, which nobody supplies"),
        ("pre_compose", lambda llm_response: {}, "needs llm_response"),
        ("intelligence", lambda a, b, c: {}, "needs a, b, c, .* as <lambda>.llm_response, input"),
        ("intelligence", dict, "takes a function.llm_response, input_data, context., not"),
        ("intelligence", 5, "not 5"),
    ],
)
def test_a_signature_is_checked_when_the_function_is_attached(stage, function, complaint):
    """Nothing has run then."""
    with pytest.raises(UsageError, match=complaint):
        getattr(mesh(), stage)("solver")(function)


@pytest.mark.parametrize("function", [lambda **rest: {}, lambda input_data, x=1: {}, partial(look)])
def test_parameters_that_need_nothing_are_no_concern(function):
    """Defaults, and `**kwargs`."""
    mesh().pre_compose("solver")(function)


def test_only_nodes_with_a_model_have_stages():
    """The name is looked up at once."""
    specs = "{kind: LLMNode, name: chat, edges: [f]}\n---\n{kind: FunctionNode, name: f}"
    agent = agent_of(specs, [], functions=[look])
    with pytest.raises(UsageError, match="'f' is a FunctionNode, and only an LLMNode has a model"):
        agent.intelligence("f")(look)
    with pytest.raises(UsageError, match="there is no node 'chatt'; did you mean 'chat'"):
        agent.pre_compose("chatt")


# ── restarts ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_turn_is_not_resumed_without_the_functions_it_was_begun_with():
    """Their names are stored; an agent that has them goes on, and prepares nothing again."""
    storage, made = InMemoryStateStorage(), []
    holding = asyncio.Event()

    async def patient() -> str:
        """Take a while."""
        holding.set()
        await asyncio.Event().wait()
        return "never"

    def prepare(input_data):
        made.append(input_data)
        return {"asked": input_data["message"]}

    specs = TEXT.replace("look", "patient")
    first = agent_of(specs, [[call("patient")]], storage, functions=[patient])
    first.pre_compose("chat")(prepare)
    turn = asyncio.create_task(first.step("hi"))
    await holding.wait()
    rows = await storage.load_rows(first._workshop.sessions.root_of("s"))
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    died = InMemoryStateStorage()
    from liman_nb.state.storage import Commit, Touched

    root = first._workshop.sessions.root_of("s")
    await died.commit(Commit(root, 0, tuple(rows), Touched, open=True))

    async def quick() -> str:
        """Take no time."""
        return "seen"

    bare = agent_of(specs, ["done"], died, functions={"patient": quick})
    with pytest.raises(FunctionMissing, match=r"missing now: chat\.pre_compose=prepare"):
        await bare.resume()
    bare.pre_compose("chat")(prepare)
    assert (await bare.resume()).output == "done"
    assert made == [{"message": "hi"}]
    assert bare.messages("chat")[0]["content"] == '{"asked": "hi"}'
