"""Questions to people: who asks, what an answer must be, and what goes on after it."""

import asyncio
import itertools
from datetime import UTC, datetime, timedelta

import pytest
from askers import Asker, done, in_process
from four_methods import FourMethods, Journal, Killed, seen

from liman_nb import Agent, Bounds, InMemoryStateStorage, ScriptedLLM, Suspend, call
from liman_nb.errors import AnswerInvalid, NotStorable, OpenTurn, SpecError, TurnFailed, UsageError
from liman_nb.models.llm import Reply, ToolCall


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """The time."""
        return self.now

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


def agent_of(specs: str, *functions, storage=None, **options) -> Agent:
    """An agent; two of them over one storage are two processes."""
    return Agent(
        specs,
        functions=functions,
        state_storage=storage or InMemoryStateStorage(),
        session_id="s",
        name="n",
        **options,
    )


def tree_of(agent: Agent):
    """The session's tree."""
    return agent._read(None, lambda tree, running: tree)


# ── a person is a node ───────────────────────────────────────────────────────────────────────────

REVIEW = """
{kind: FunctionNode, name: draft, func: write, edges: [review]}
---
kind: HumanNode
name: review
question: "Publish {title}?"
yields: {approved: boolean, "note?": string}
edges: [{target: publish, when: approved}, {target: draft, when: not approved}]
---
{kind: FunctionNode, name: publish, func: echo}
"""


def write(value):
    """Writes."""
    return {"title": "News"}


def echo(value):
    """Hands on its input."""
    return value


async def test_a_person_s_answer_is_the_node_s_output():
    """The turn is suspended until then; the edges read the answer."""
    agent = agent_of(REVIEW, write, echo, start_node="draft")
    result = await agent.step("go")
    assert result.status == "suspended"
    (question,) = result.pending
    assert (question.node, question.kind, question.text) == ("review", "human", "Publish News?")
    assert question.input == {"title": "News"}
    assert set(question.form["required"]) == {"approved"}
    assert (question.deadline, question.fallback) == (None, ())
    assert agent.pending() == result.pending
    result = await agent.resume({"approved": True, "note": "fine"}, question=question)
    assert result.status == "completed"
    assert result.output["note"] == "fine"
    assert result.pending == ()


async def test_a_loop_asks_again_with_a_question_of_its_own():
    """Each run of the node is another executor."""
    agent = agent_of(REVIEW, write, echo, start_node="draft")
    (first,) = (await agent.step("go")).pending
    (second,) = (await agent.resume({"approved": False})).pending
    assert second.text == first.text
    assert second.id != first.id
    with pytest.raises(UsageError, match="there is no open question"):
        await agent.resume({"approved": True}, question=first)
    assert (await agent.resume({"approved": True}, question=second)).status == "completed"


@pytest.mark.parametrize(
    "wrong", [{}, {"approved": "yes"}, {"approved": True, "more": 1}, None, "yes", 1, [True]]
)
async def test_a_wrong_answer_is_refused_and_the_question_stays(wrong):
    """Nothing is stored of it."""
    agent = agent_of(REVIEW, write, echo, start_node="draft")
    await agent.step("go")
    before = seen(tree_of(agent))
    with pytest.raises(AnswerInvalid, match="which stays open") as error:
        await agent.resume(wrong)
    assert error.value.errors
    assert seen(tree_of(agent)) == before
    assert (await agent.resume(True)).status == "completed"  # one required field


ANYTHING = '{kind: HumanNode, name: ask, question: "?"}'


@pytest.mark.parametrize(
    "answer", [None, True, 0, -1.5, "", "text", "🙂", [], [1, [None]], {}, {"a": {"b": []}}]
)
@pytest.mark.parametrize("make", [InMemoryStateStorage, FourMethods])
async def test_an_answer_may_be_any_json_value(answer, make):
    """Where the node declares no form; also one that means nothing is an answer."""
    storage = make()
    await agent_of(ANYTHING, storage=storage).step("go")
    result = await agent_of(ANYTHING, storage=storage).resume(answer)
    assert result.outputs == (("ask", answer),)


@pytest.mark.parametrize("answer", [float("nan"), {1: 2}, (1,), b"x", object()])
async def test_an_answer_that_is_no_json_value_is_refused(answer):
    """It would not come back equal; the question stays."""
    agent = agent_of(ANYTHING)
    await agent.step("go")
    with pytest.raises(NotStorable, match="answer"):
        await agent.resume(answer)
    assert len(agent.pending()) == 1


async def test_a_question_that_names_what_is_not_there_fails_its_node():
    """And nobody is asked."""
    agent = agent_of('{kind: HumanNode, name: ask, question: "{nobody}"}')
    with pytest.raises(TurnFailed, match=r"names \{nobody\}, which the input does not have"):
        await agent.step("go")
    assert agent.pending() == ()


@pytest.mark.parametrize(
    ("given", "yields", "answer", "handed_on"),
    [
        ({"sum": 4, "why": "rain"}, "{agreed: boolean}", {"agreed": True}, {"agreed": True}),
        ({"sum": 4}, "{sum: number}", {"sum": 3}, {"sum": 3}),
        ({"sum": 4}, None, "fine", {"answer": "fine"}),
        ("4 euros", "{agreed: boolean}", {"agreed": False}, {"agreed": False}),
        ("4 euros", None, "fine", {"answer": "fine"}),
    ],
)
async def test_what_a_person_was_asked_about_goes_on_with_the_answer(
    given, yields, answer, handed_on
):
    """Nothing is lost by asking somebody; what they changed counts; the output is the answer."""
    declared = f", yields: {yields}" if yields else ""
    specs = f"""
{{kind: HumanNode, name: person, question: "ok?"{declared}, edges: [end]}}
---
{{kind: FunctionNode, name: end, func: echo}}
"""
    agent = agent_of(specs, echo, start_node="person")
    await agent.step(given)
    result = await agent.resume(answer)
    payload = given if isinstance(given, dict) else {"message": given}
    assert result.output == {**payload, **handed_on}
    person = next(e for e in tree_of(agent).executors.values() if e.node_type == "HumanNode")
    assert person.output == answer


# ── several questions ────────────────────────────────────────────────────────────────────────────

PANEL = """
{kind: FunctionNode, name: start, func: echo, edges: [ann, bob, cyd, work]}
---
{kind: HumanNode, name: ann, question: "ann?", edges: [join]}
---
{kind: HumanNode, name: bob, question: "bob?", edges: [join]}
---
{kind: HumanNode, name: cyd, question: "cyd?", edges: [join]}
---
{kind: FunctionNode, name: work, func: echo}
---
{kind: FunctionNode, name: join, func: echo, wait_for: ann and bob and cyd}
"""


@pytest.mark.parametrize("make", [InMemoryStateStorage, FourMethods])
async def test_several_questions_are_answered_in_any_order_to_the_same_end(make):
    """Siblings go on meanwhile; each answer may come in another process."""
    ends = []
    for order in itertools.permutations(["ann", "bob", "cyd"]):
        storage = make()
        result = await agent_of(PANEL, echo, storage=storage).step("go")
        assert [q.node for q in result.pending] == ["ann", "bob", "cyd"]
        assert result.outputs == (("work", "go"),)
        for left, name in zip((2, 1, 0), order, strict=True):
            agent = agent_of(PANEL, echo, storage=storage)
            result = await agent.resume(f"{name}'s", question=name)
            assert len(result.pending) == left
        ends.append(seen(tree_of(agent)))
        ends[-1]["turns"][0]["joins"] = list(ends[-1]["turns"][0]["joins"].values())
        ends[-1]["turns"][0]["joins"][0]["arrived"] = {}
        answers = {n: {"message": "go", "answer": f"{n}'s"} for n in ("ann", "bob", "cyd")}
        assert ("join", answers) in result.outputs
    assert all(end == ends[0] for end in ends)


async def test_an_answer_must_say_which_question_where_several_are_open():
    """By its id, its node or itself; the error lists them."""
    agent = agent_of(PANEL, echo)
    ann, *_ = (await agent.step("go")).pending
    with pytest.raises(UsageError, match=r"several are open.*ann \(.*bob \(.*cyd \("):
        await agent.resume("x")
    with pytest.raises(UsageError, match="there is no open question 'dan'"):
        await agent.resume("x", question="dan")
    await agent.resume("x", question=ann.id)
    with pytest.raises(UsageError, match="there is no open question"):
        await agent.resume("again", question=ann.id)
    with pytest.raises(UsageError, match="needs the answer, too"):
        await agent.resume(question="bob")


async def test_nothing_is_answered_where_nothing_is_asked():
    """Neither before a turn nor after it."""
    agent = agent_of(ANYTHING)
    with pytest.raises(OpenTurn):
        await agent.resume("x")
    await agent.step("go")
    await agent.resume("x")
    with pytest.raises(OpenTurn):
        await agent.resume("x")


async def test_two_questions_of_one_node_are_told_apart_by_their_ids():
    """The node's name alone may be both."""
    specs = """
{kind: FunctionNode, name: start, func: echo, edges: [{target: ask, id: a}, {target: ask, id: b}]}
---
{kind: HumanNode, name: ask, question: "?"}
"""
    agent = agent_of(specs, echo)
    first, second = (await agent.step("go")).pending
    with pytest.raises(UsageError, match="several are open"):
        await agent.resume("x", question="ask")
    await agent.resume("two", question=second)
    result = await agent.resume("one", question=first)
    assert result.outputs == (("ask", "one"), ("ask", "two"))


# ── a function suspends ──────────────────────────────────────────────────────────────────────────

BOOK = """
{kind: FunctionNode, name: book, func: book}
"""


def twice(value: str, state: dict, answer: str | None = None) -> dict:
    """Asks two things; what it notes is how it knows which was answered."""
    if "when" not in state and answer is not None:
        state["when"] = answer
        raise Suspend("Who?", schema=str)
    if answer is None:
        state["calls"] = 1
        raise Suspend("When?", schema=str)
    return {"when": state["when"], "who": answer, "calls": state["calls"]}


async def twice_async(value: str, state: dict, answer: str | None = None) -> dict:
    """The same, on the loop."""
    return twice(value, state, answer)


@pytest.mark.parametrize("function", [twice, twice_async])
@pytest.mark.parametrize("make", [InMemoryStateStorage, FourMethods])
async def test_a_function_may_ask_one_thing_after_the_other(function, make):
    """It is called again with each answer; what it noted in `state` is kept."""
    storage = make()

    def agent() -> Agent:
        specs = BOOK.replace("func: book", f"func: {function.__name__}")
        return agent_of(specs, function, storage=storage)

    (when,) = (await agent().step("go")).pending
    assert (when.text, when.kind, when.form) == ("When?", "function", {"type": "string"})
    (who,) = (await agent().resume("noon")).pending
    assert (who.text, who.id != when.id) == ("Who?", True)
    with pytest.raises(AnswerInvalid):
        await agent().resume(7)
    result = await agent().resume("Ann")
    assert result.output == {"when": "noon", "who": "Ann", "calls": 1}


async def test_a_function_that_catches_exceptions_does_not_swallow_its_question():
    """`Suspend` is no `Exception`; a retry is no answer either."""
    calls = []

    def careful(value, answer=None):
        calls.append(answer)
        try:
            if answer is None:
                raise Suspend("Really?")
        except Exception:  # noqa: BLE001 - as careless code does
            return "swallowed"
        return f"said {answer}"

    specs = """
kind: FunctionNode
name: careful
func: careful
retry: {attempts: 3, backoff: 0, errors: [BaseException]}
"""
    agent = agent_of(specs, careful)
    assert (await agent.step("go")).status == "suspended"
    assert calls == [None]
    assert (await agent.resume("yes")).output == "said yes"


async def test_what_a_failed_attempt_noted_is_not_kept_with_the_question():
    """Each attempt begins with what is stored."""
    tries = []

    def shaky(value, state: dict, answer=None):
        state["n"] = state.get("n", 0) + 1
        tries.append(state["n"])
        if len(tries) == 1:
            raise OSError("shaky")
        if answer is None:
            raise Suspend("Really?")
        return state["n"]

    specs = """
kind: FunctionNode
name: shaky
func: shaky
retry: {attempts: 2, backoff: 0, errors: [OSError]}
"""
    agent = agent_of(specs, shaky)
    assert (await agent.step("go")).status == "suspended"
    assert (await agent.resume("yes")).output == 2
    assert tries == [1, 1, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schema": {"type": "nothing"}}, "is no JSON schema"),
        ({"schema": object()}, "neither a JSON schema nor a type"),
        ({"schema": int, "timeout": 1, "fallback": "none"}, "fallback does not fit the schema"),
        ({"timeout": 0}, "number of seconds above 0"),
        ({"timeout": -1}, "number of seconds above 0"),
    ],
)
async def test_a_question_that_cannot_be_asked_fails_its_node(options, message):
    """Before anybody sees it."""

    def ask(value):
        raise Suspend("?", **options)

    with pytest.raises(TurnFailed, match=message):
        await agent_of("{kind: FunctionNode, name: ask, func: ask}", ask).step("go")


async def test_a_model_cannot_suspend():
    """Only tools and functions do."""

    def model(request):
        raise Suspend("?")

    with pytest.raises(TurnFailed, match="only tools and functions may suspend"):
        await agent_of("{kind: LLMNode, name: chat}", llm=model).step("go")


# ── tools ────────────────────────────────────────────────────────────────────────────────────────

SHOP = """
{kind: LLMNode, name: chat, tools: [buy]}
---
{kind: ToolNode, name: buy, approval: true}
"""


def shop(*replies, buy, **options) -> Agent:
    """A model that calls a tool that needs approval."""
    return Agent(
        SHOP,
        llm=ScriptedLLM(list(replies)),
        tools=[buy],
        state_storage=InMemoryStateStorage(),
        session_id="s",
        **options,
    )


async def test_a_call_is_made_after_a_person_has_approved_it():
    """The question shows the arguments; `True` alone will do."""
    made = []

    def buy(what: str) -> str:
        made.append(what)
        return f"bought {what}"

    agent = shop([call("buy", what="tea"), call("buy", what="tin")], "done", buy=buy)
    first, second = (await agent.step("go")).pending
    assert (first.kind, first.input) == ("approval", {"what": "tea"})
    assert '"tea"' in first.text
    await agent.resume(True, question=second)
    assert made == ["tin"]
    assert (await agent.resume({"approved": True}, question=first)).output == "done"
    assert made == ["tin", "tea"]


async def test_a_refusal_reaches_the_model_with_its_comment():
    """The call is not made, and the turn goes on."""
    made = []

    def buy(what: str) -> str:
        made.append(what)
        return what

    agent = shop(call("buy", what="tea"), "then not", buy=buy)
    await agent.step("go")
    result = await agent.resume({"approved": False, "comment": "too dear"})
    assert (result.output, made) == ("then not", [])
    (answer,) = [m["content"] for m in agent.messages("chat") if m["role"] == "tool"]
    assert "did not allow this call of buy: too dear" in answer


async def test_arguments_that_do_not_fit_are_refused_before_a_person_is_asked():
    """The model reads what is wrong."""

    def buy(what: str) -> str:
        return what

    agent = shop(call("buy", amount=3), "sorry", buy=buy)
    assert (await agent.step("go")).output == "sorry"


async def test_a_tool_may_need_approval_and_ask_something_itself():
    """The approval holds for every call that follows; it is no answer to the tool's question."""
    answers = []

    def buy(what: str, answer: str | None = None) -> str:
        answers.append(answer)
        if answer is None:
            raise Suspend("Which colour?", schema=str)
        return f"{answer} {what}"

    agent = shop(call("buy", what="tea"), "done", buy=buy)
    assert [q.kind for q in (await agent.step("go")).pending] == ["approval"]
    assert [q.kind for q in (await agent.resume(True)).pending] == ["function"]
    assert (await agent.resume("green")).output == "done"
    assert answers == [None, "green"]


async def test_other_sessions_go_on_while_one_waits():
    """A question holds its own turn only."""

    def buy(what: str) -> str:
        return what

    agent = shop(call("buy", what="tea"), "hello", "hello again", "bought", buy=buy)
    await agent.step("go")
    assert (await agent.step("hi", session_id="other")).output == "hello"
    assert (await agent.step("hi", session_id="other")).output == "hello again"
    result = await agent.resume(True, session_id="s")
    assert (result.output, result.turn) == ("bought", 1)


# ── deadlines ────────────────────────────────────────────────────────────────────────────────────

HURRY = '{kind: HumanNode, name: ask, question: "?", timeout: 60, FALLBACK}'
WITH = HURRY.replace("FALLBACK", "fallback: later")
WITHOUT = HURRY.replace(", FALLBACK", "")


@pytest.mark.parametrize("make", [InMemoryStateStorage, FourMethods])
async def test_after_the_deadline_the_fallback_is_the_answer(make):
    """A deadline is a time, not a wait: it passes while no process runs."""
    clock, storage = Clock(), make()
    agent = agent_of(WITH, storage=storage, clock=clock)
    (question,) = (await agent.step("go")).pending
    assert question.deadline == clock.now + timedelta(seconds=60)
    assert question.fallback == ("later",)
    clock.pass_(59)
    assert (await agent_of(WITH, storage=storage, clock=clock).resume()).status == "suspended"
    clock.pass_(1)
    result = await agent_of(WITH, storage=storage, clock=clock).resume()
    assert result.outputs == (("ask", "later"),)


async def test_without_a_fallback_the_deadline_fails_the_node():
    """An edge may react to it."""
    clock = Clock()
    agent = agent_of(WITHOUT, clock=clock)
    await agent.step("go")
    clock.pass_(60)
    with pytest.raises(TurnFailed, match="QuestionExpired: nobody answered ask in time"):
        await agent.resume()


async def test_an_answer_after_the_deadline_is_refused():
    """It says how to go on."""
    clock = Clock()
    agent = agent_of(WITH, clock=clock)
    await agent.step("go")
    clock.pass_(61)
    with pytest.raises(UsageError, match=r"could be answered until .*: await agent.resume\(\)"):
        await agent.resume("now")
    assert (await agent.resume()).output == "later"


def test_a_fallback_that_does_not_fit_its_node_s_form_is_an_error_at_load():
    """Not a surprise after the deadline."""
    specs = """
kind: HumanNode
name: ask
yields: {approved: boolean}
fallback: {approved: perhaps}
"""
    with pytest.raises(SpecError, match="fallback does not fit the yields: 'approved'"):
        agent_of(specs)


async def test_a_function_gets_its_fallback_as_the_answer():
    """Also one that is null, which is an answer all the same."""
    clock, got = Clock(), []

    def ask(value, state: dict, answer="first"):
        got.append(answer)
        if not state:
            state["asked"] = True
            raise Suspend("?", timeout=1, fallback=None)
        return "done"

    agent = agent_of("{kind: FunctionNode, name: start, func: ask}", ask, clock=clock)
    await agent.step("go")
    clock.pass_(2)
    assert (await agent.resume()).output == "done"
    assert got == [None, None]


async def test_only_what_is_overdue_gets_its_fallback():
    """Other questions wait on."""
    clock = Clock()
    specs = """
{kind: FunctionNode, name: start, func: echo, edges: [soon, late]}
---
{kind: HumanNode, name: soon, question: "?", timeout: 1, fallback: none}
---
{kind: HumanNode, name: late, question: "?", timeout: 9, fallback: none}
"""
    agent = agent_of(specs, echo, clock=clock)
    await agent.step("go")
    clock.pass_(5)
    result = await agent.resume("here", question="late")
    assert result.outputs == (("soon", "none"), ("late", "here"))


# ── a call that a crash may cut short ────────────────────────────────────────────────────────────

PAY = """
{kind: LLMNode, name: chat, tools: [pay]}
---
{kind: ToolNode, name: pay, on_crash: ask}
"""


def payer(*replies, pay, **options) -> Agent:
    """A model that calls a tool that must not be called twice unasked."""
    return Agent(
        PAY,
        llm=ScriptedLLM(list(replies)),
        tools=[pay],
        state_storage=options.pop("storage", None) or InMemoryStateStorage(),
        session_id="s",
        **options,
    )


async def test_nobody_is_asked_while_or_after_a_call_goes_well():
    """The question stands in the storage alone, for the case that the process ends."""
    during = []

    def pay(amount: int) -> int:
        during.append(agent.pending())
        return amount

    agent = payer(call("pay", amount=3), "done", pay=pay)
    assert (await agent.step("go")).output == "done"
    assert during == [()]


@pytest.mark.parametrize("make", [InMemoryStateStorage, FourMethods])
async def test_a_tool_that_must_not_be_called_twice_may_still_ask(make):
    """Its own question takes the place of the precaution."""

    def pay(amount: int, answer: str | None = None) -> str:
        if answer is None:
            raise Suspend("From which account?", schema=str)
        return f"{amount} from {answer}"

    storage = make()
    agent = payer(call("pay", amount=3), "done", pay=pay, storage=storage)
    (question,) = (await agent.step("go")).pending
    assert (question.kind, question.text) == ("function", "From which account?")
    assert (await agent.resume("mine")).output == "done"


async def test_a_bound_of_seconds_fails_such_a_call_and_asks_nobody():
    """The turn ends as it does with any other tool."""

    async def pay(amount: int) -> int:
        await asyncio.sleep(60)
        return amount

    agent = payer(call("pay", amount=3), "done", pay=pay, bounds=Bounds(seconds=0.2))
    with pytest.raises(TurnFailed, match=r"the bound seconds=0\.2 is reached"):
        await agent.step("go")
    assert agent.pending() == ()


async def test_a_bound_of_seconds_leaves_a_person_s_question_open():
    """Nobody is in a hurry but the machine."""

    async def slow(value):
        await asyncio.sleep(60)

    specs = """
{kind: FunctionNode, name: start, func: echo, edges: [ask, slow]}
---
{kind: HumanNode, name: ask, question: "?"}
---
{kind: FunctionNode, name: slow, func: slow}
"""
    agent = agent_of(specs, echo, slow, bounds=Bounds(seconds=0.2))
    result = await agent.step("go")
    assert [q.node for q in result.pending] == ["ask"]
    with pytest.raises(TurnFailed, match=r"the bound seconds=0\.2 is reached"):
        await agent.resume("yes")


async def test_a_stop_during_such_a_call_cancels_the_turn_and_asks_nobody():
    """Cancelled is cancelled."""
    begun = asyncio.Event()

    async def pay(amount: int) -> int:
        begun.set()
        await asyncio.sleep(60)
        return amount

    agent = payer(call("pay", amount=3), "done", pay=pay)
    turn = asyncio.create_task(agent.step("go"))
    await begun.wait()
    assert agent.stop()
    assert (await turn).status == "cancelled"
    assert agent.pending() == ()


CUT = PAY.replace("[pay]", "[pay, look]") + "---\n{kind: ToolNode, name: look}\n"


@pytest.mark.parametrize("make", [FourMethods, Journal])
@pytest.mark.parametrize("action", ["call again", "give up"])
async def test_wherever_the_process_ends_the_call_is_made_twice_only_if_a_person_says_so(
    make, action
):
    """Whatever save was the last one; and the turn always comes to its end."""
    storage, made = make(), []

    def pay(amount: int) -> str:
        made.append(amount)
        return "paid"

    def model(request):
        if request.messages[-1]["role"] == "tool":
            return "done"
        return Reply(tool_calls=[ToolCall(n, n, '{"amount": 3}') for n in ("pay", "look")])

    def process(session: str) -> Agent:
        tools = [pay, look]
        return Agent(
            CUT, llm=model, tools=tools, state_storage=storage, session_id=session, name="n"
        )

    await process("whole").step("go")
    for cut in range(storage.saves):
        session, said = f"cut at {cut}", 0
        made.clear()
        storage.left = cut
        with pytest.raises(Killed):
            await process(session).step("go")
        agent = await process(session).open(session)
        if not tree_of(agent).turns:
            await agent.step("go")
        while tree_of(agent).status == "suspended":
            asked = agent.pending()
            said += bool(asked)
            await (agent.resume(action) if asked else agent.resume())
        assert tree_of(agent).status == "completed"
        assert len(made) <= 1 + (said if action == "call again" else 0)


def look(amount: int) -> str:
    """Look."""
    return f"looked {amount}"


async def test_there_is_nothing_to_stop_while_a_person_is_asked():
    """The turn waits in the storage, not in the process; it is given up."""
    agent = agent_of(ANYTHING)
    await agent.step("go")
    assert not agent.stop()
    assert len(agent.pending()) == 1
    await agent.abandon()
    assert agent.pending() == ()
    with pytest.raises(OpenTurn):
        await agent.resume("too late")


# ── real processes ───────────────────────────────────────────────────────────────────────────────


def test_a_question_is_answered_in_another_process(tmp_path):
    """With the function's state; a wrong answer there leaves it open."""
    assert in_process(tmp_path, "step", "order look")["pending"] == [["order", "function"]]
    assert done(tmp_path) == ["look"]
    assert in_process(tmp_path, "resume", '"yes"')["error"] == "AnswerInvalid"
    assert in_process(tmp_path, "resume")["pending"] == [["order", "function"]]
    result = in_process(tmp_path, "resume", "true")
    assert result["output"] == "ordered 3: True, in call 2 | looked 3"
    assert done(tmp_path) == ["look"]


@pytest.mark.parametrize(
    ("answer", "calls", "output"),
    [
        ('{"action": "call again"}', ["pay", "pay"], "paid 3"),
        ('{"action": "use this result", "result": "paid by hand"}', ["pay"], "paid by hand"),
        ('{"action": "give up"}', ["pay"], "was cut short, and a person gave it up"),
    ],
)
def test_a_process_killed_in_the_middle_of_a_call_leaves_a_question(
    tmp_path, answer, calls, output
):
    """Whether the call took effect nobody knows, so a person says what now."""
    in_process(tmp_path, "step", "pay", die="pay")
    assert done(tmp_path) == ["pay"]
    assert in_process(tmp_path, "resume")["pending"] == [["pay", "crash"]]
    assert in_process(tmp_path, "step", "look")["error"] == "OpenTurn"
    assert output in in_process(tmp_path, "resume", answer)["output"]
    assert done(tmp_path) == calls


def test_a_call_that_is_killed_again_asks_again(tmp_path):
    """To call again is not to call unasked ever after."""
    in_process(tmp_path, "step", "pay", die="pay")
    in_process(tmp_path, "resume", '{"action": "call again"}', die="pay")
    assert in_process(tmp_path, "resume")["pending"] == [["pay", "crash"]]
    assert in_process(tmp_path, "resume", '{"action": "call again"}')["output"] == "paid 3"
    assert done(tmp_path) == ["pay"] * 3


def test_a_process_killed_before_the_call_leaves_no_question(tmp_path):
    """The question is stored before the call; without it there was none."""
    in_process(tmp_path, "step", "pay", die="before asking")
    assert done(tmp_path) == []
    assert in_process(tmp_path, "resume")["output"] == "paid 3"
    assert done(tmp_path) == ["pay"]


def test_an_approval_survives_the_crash_of_its_call(tmp_path):
    """Only what is not known is asked again."""
    assert in_process(tmp_path, "step", "refund")["pending"] == [["refund", "approval"]]
    in_process(tmp_path, "resume", "true", die="refund")
    assert in_process(tmp_path, "resume")["pending"] == [["refund", "crash"]]
    assert in_process(tmp_path, "resume", '{"action": "call again"}')["output"] == "paid back 3"
    assert done(tmp_path) == ["refund", "refund"]


async def test_this_process_goes_on_where_a_killed_one_was(tmp_path):
    """The half of the calls that was done is not done again."""
    in_process(tmp_path, "step", "look pay", die="pay")
    agent = Asker(tmp_path).agent
    (tmp_path / "die").unlink()
    await agent.open("s")
    calls = done(tmp_path)
    result = await agent.resume({"action": "use this result", "result": 1}, question="pay")
    assert result.output == "looked 3 | 1"
    assert done(tmp_path).count("pay") == calls.count("pay") == 1


# ── events ───────────────────────────────────────────────────────────────────────────────────────


async def test_listeners_hear_of_the_question():
    """With its text; and of the turn's end as suspended."""
    agent = agent_of(REVIEW, write, echo, start_node="draft")
    events = [(e.kind, e.node, e.text, e.status) async for e in agent.stream("go")]
    assert ("suspended", "review", "Publish News?", "suspended") in events
    assert events[-1] == ("turn_ended", "", "", "suspended")
    assert agent.last_result.status == "suspended"
    heard = []
    agent.listen(lambda event: heard.append((event.kind, event.node)))
    await agent.resume(True)
    assert [kind for kind, node in heard if node == "review"] == ["node_started", "node_ended"]
