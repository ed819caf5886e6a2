"""The code that Liman's page on state prints, with `from liman_nb import …`, and what it promises.

Source: "State" in Liman's documentation. Where a snippet restarts, it restarts: in a new process.
"""

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from liman_nb import Agent, DiskCacheStateStorage, ExecutorInput, InMemoryStateStorage, StateStorage

CHAT_NODE = """
kind: LLMNode
name: ChatNode
prompts:
  system: You are helpful.
"""


def recall(request) -> str:
    """A model that answers from its history alone."""
    said = [m["content"] for m in request.messages if m["role"] == "user"]
    if said[-1] == "What is my name?":
        names = [text.removeprefix("My name is ").rstrip(".") for text in said if "My name" in text]
        return f"Your name is {names[-1]}." if names else "I do not know."
    return "Nice to meet you."


llm = recall


@pytest.fixture
def specs(tmp_path, monkeypatch) -> Path:
    """A folder `specs/` in the working directory, as the page has it."""
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "chat.yaml").write_text(CHAT_NODE)
    monkeypatch.chdir(tmp_path)
    return folder


def names_in_working_directory() -> list[str]:
    """What stands beside `specs/`."""
    return [path.name for path in Path().iterdir()]


def in_new_process(code: str, folder: Path) -> str:
    """Run code in a new Python process, in a folder; what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(code)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ── Multi-turn conversations ─────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("specs")
async def test_two_steps_in_a_row_remember():
    """No session ids or manual context passing needed."""
    agent = Agent(specs_dir="specs/", start_node="ChatNode", llm=llm)

    await agent.step("My name is Alice.")
    result = await agent.step("What is my name?")  # LLMNode remembers Alice

    assert result.output == "Your name is Alice."
    assert [m["role"] for m in agent.messages("ChatNode")] == ["user", "assistant"] * 2


# ── State across restarts ────────────────────────────────────────────────────────────────────────

FIRST_PROCESS = """
import asyncio, json
from liman_nb import Agent
from tests.test_liman_page import llm

def save_to_db(output):
    ids = {"execution_id": str(output.execution_id), "node_actor_id": str(output.node_actor_id)}
    print(json.dumps(ids))

async def main():
    agent = Agent(specs_dir="specs/", start_node="ChatNode", llm=llm)

    output = await agent.step("My name is Alice.")
    save_to_db(output)

asyncio.run(main())
"""

SECOND_PROCESS = """
import asyncio, json, sys
from liman_nb import Agent, ExecutorInput
from tests.test_liman_page import llm

get_from_db = {ids}.get

async def main():
    agent = Agent(specs_dir="specs/", start_node="ChatNode", llm=llm)
    input_ = ExecutorInput(
        execution_id=get_from_db("execution_id"),
        node_actor_id=get_from_db("node_actor_id"),
        node_input="What is my name?",
    )
    print((await agent.step(input_)).output)  # LLMNode remembers Alice

asyncio.run(main())
"""

HERE = f"import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r})\n"


def test_a_session_goes_on_in_a_new_process_by_its_ids(specs):
    """Stop the agent after the first call, start another: it remembers."""
    ids = in_new_process(HERE + FIRST_PROCESS, specs.parent)
    assert in_new_process(HERE + SECOND_PROCESS.replace("{ids}", ids), specs.parent) == (
        "Your name is Alice."
    )


def test_a_session_goes_on_in_a_new_process_by_its_name(specs):
    """The same with nothing but `session_id="alice"`."""
    code = (
        HERE
        + """
import asyncio
from liman_nb import Agent
from tests.test_liman_page import llm

agent = Agent("specs/", llm=llm, session_id="alice")
print(asyncio.run(agent.step(TEXT)).output)
"""
    )
    in_new_process(code.replace("TEXT", repr("My name is Alice.")), specs.parent)
    answer = in_new_process(code.replace("TEXT", repr("What is my name?")), specs.parent)
    assert answer == "Your name is Alice."


@pytest.mark.usefixtures("specs")
async def test_ids_of_another_agent_s_session_are_refused_with_a_sentence():
    """An unknown execution id is one clear error."""
    from liman_nb.errors import UnknownSession, UsageError

    agent = Agent("specs/", llm=llm)
    with pytest.raises(UnknownSession, match="no session with execution_id 0000"):
        await agent.step(ExecutorInput(execution_id="00000000-0000-0000-0000-000000000001"))
    result = await agent.step("hello")
    wrong = ExecutorInput(execution_id=result.execution_id, node_actor_id=result.execution_id)
    with pytest.raises(UsageError, match="is no actor of session"):
        await agent.step(wrong)


# ── Configuring state storage ────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("specs")
async def test_the_in_memory_storage_is_passed_as_the_page_does():
    """It is useful for testing and does not survive: another one knows nothing."""
    agent = Agent(
        specs_dir="specs/",
        start_node="ChatNode",
        llm=llm,
        state_storage=InMemoryStateStorage(),
    )
    await agent.step("My name is Alice.", session_id="s")
    assert (await agent.step("What is my name?")).output == "Your name is Alice."

    other = Agent(specs_dir="specs/", llm=llm, session_id="s", state_storage=InMemoryStateStorage())
    assert (await other.step("What is my name?")).output == "I do not know."
    assert ".liman_nb" not in names_in_working_directory()


class FileStateStorage(StateStorage):
    """A user's back end: the page's four methods and nothing else, here over JSON files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    async def save_actor_state(self, execution_id, actor_id, state):
        """As on the page."""
        (self.folder / f"{execution_id}.{actor_id}").write_text(json.dumps(state))

    async def load_actor_state(self, execution_id, actor_id):
        """As on the page."""
        return self._load(self.folder / f"{execution_id}.{actor_id}")

    async def save_executor_state(self, execution_id, state):
        """As on the page."""
        (self.folder / execution_id).write_text(json.dumps(state))

    async def load_executor_state(self, execution_id):
        """As on the page."""
        return self._load(self.folder / execution_id)

    def _load(self, path):
        return json.loads(path.read_text()) if path.exists() else None


def test_a_class_with_only_the_four_methods_remembers_across_processes(specs):
    """Implement the abstract class: memory and restart come with it."""
    code = (
        HERE
        + """
import asyncio
from pathlib import Path
from liman_nb import Agent
from tests.test_liman_page import FileStateStorage, llm

agent = Agent(
    specs_dir="specs/", start_node="ChatNode", llm=llm, session_id="s",
    state_storage=FileStateStorage(Path("states")),
)
for text in TEXTS:
    print(asyncio.run(agent.step(text)).output)
"""
    )
    in_new_process(code.replace("TEXTS", '["My name is Alice.", "Hello."]'), specs.parent)
    answer = in_new_process(code.replace("TEXTS", '["What is my name?"]'), specs.parent)
    assert answer == "Your name is Alice."


@pytest.mark.usefixtures("specs")
async def test_the_states_that_a_back_end_is_given_are_those_of_the_page(tmp_path):
    """`NodeActorState` and `ExecutorState` have the fields that the page prints."""
    storage = FileStateStorage(tmp_path / "states")
    agent = Agent("specs/", llm=llm, state_storage=storage, session_id="s")
    result = await agent.step("My name is Alice.")

    actor = await storage.load_actor_state(str(result.execution_id), str(result.node_actor_id))
    assert actor["node_name"] == "ChatNode"
    assert actor["node_type"] == "LLMNode"
    assert actor["has_error"] is False
    assert actor["node_state"]["messages"] == [
        {"role": "user", "content": "My name is Alice."},
        {"role": "assistant", "content": "Nice to meet you."},
    ]
    root = await storage.load_executor_state(str(result.execution_id))
    assert root["status"] == "completed"
    (child,) = root["child_executor_ids"]
    turn = await storage.load_executor_state(child)
    assert turn["node_actor_id"] == str(result.node_actor_id)


@pytest.mark.usefixtures("specs")
async def test_built_in_storages_answer_the_four_methods_too():
    """Code written against Liman's interface reads what an agent wrote."""
    storage = DiskCacheStateStorage()
    agent = Agent("specs/", llm=llm, state_storage=storage, session_id="s")
    result = await agent.step("My name is Alice.")
    actor = await storage.load_actor_state(str(result.execution_id), str(result.node_actor_id))
    assert [m["content"] for m in actor["node_state"]["messages"]] == [
        "My name is Alice.",
        "Nice to meet you.",
    ]
    root = await storage.load_executor_state(str(result.execution_id))
    assert root["status"] == "completed"


# ── Context is not state ─────────────────────────────────────────────────────────────────────────

CONTEXT_SPECS = """
kind: LLMNode
name: ChatNode
prompts:
  system: You work for the organisation {context.org_id} and user {context.user_id}.
tools: [whoami]
edges:
  - {target: remember, when: "context.user_id == context.same_user and context.tier == 'gold'"}
  - {target: fail, when: "context.org_id != null"}
  - {target: never, when: "context.nothing == 1"}
---
kind: ToolNode
name: whoami
func: whoami
auth: {service_account: caller}
---
kind: FunctionNode
name: remember
func: remember
auth: {service_account: caller}
---
kind: FunctionNode
name: fail
func: fail
auth: {service_account: caller}
edges: [{target: mend, when: "$is_error('ValueError')"}]
---
kind: FunctionNode
name: mend
func: mend
---
kind: FunctionNode
name: never
func: mend
---
kind: ServiceAccount
name: caller
context: {strict: true, inject: [user_id, "org: org_id"]}
credentials_provider: vault
---
kind: CredentialsProvider
name: vault
type: bearer
func: vault
"""

CONTEXT = {
    "user_id": "u-123-canary",
    "same_user": "u-123-canary",
    "org_id": "o-456-canary",
    "unused": "z-789-canary",
    "tier": "gold",
}


async def test_context_reaches_nodes_conditions_and_accounts_and_is_stored_nowhere(tmp_path):
    """Every byte on disk is searched for it, after conditions, prompts, tools and failures."""
    seen = {}

    def whoami(context: dict, credentials: object) -> str:
        """Who is calling."""
        seen["tool"] = dict(context), credentials
        return "somebody"

    def remember(text: str, context: dict, state: dict) -> str:
        state["initial"] = context["user_id"][0]
        return "noted"

    def fail(text: str, context: dict) -> str:
        raise ValueError(f"cannot serve {context['user_id']} of {context['org']}")

    def mend(error: dict) -> str:
        return error["message"]

    async def vault(context: dict) -> str:
        return f"token-canary-for-{context['user_id']}"

    asked = []

    def model(request):
        from liman_nb import call

        asked.append(request)
        return [call("whoami")] if len(asked) == 1 else "done"

    agent = Agent(
        CONTEXT_SPECS,
        start_node="ChatNode",
        llm=model,
        state_storage=DiskCacheStateStorage(tmp_path / "store"),
        functions=[whoami, remember, fail, mend, vault],
    )
    result = await agent.step("hello", context=CONTEXT)

    assert asked[0].messages[0]["content"] == (
        "You work for the organisation o-456-canary and user u-123-canary."
    )
    assert seen["tool"] == (
        {"user_id": "u-123-canary", "org": "o-456-canary"},
        "token-canary-for-u-123-canary",
    )
    assert dict(result.outputs) == {
        "remember": "noted",
        "mend": "cannot serve ⟨redacted⟩ of ⟨redacted⟩",
    }
    outcomes = {t.target: t.outcome for t in agent.transitions()}
    assert outcomes == {
        "remember": "fired",
        "fail": "fired",
        "never": "undecided",
        "mend": "fired",
    }
    stored = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert b"noted" in stored
    assert b"canary" not in stored
    shown = [agent, result, agent.tree(), agent.transitions(), agent.graph, agent.yields()]
    assert "canary" not in str([view._repr_mimebundle_() for view in shown])
    assert "canary" not in str(result.errors)


async def test_a_function_that_asks_for_state_keeps_what_it_chose_to_remember():
    """If a node needs something of the context across turns, it stores it in its state."""

    def greet(text: str, context: dict, state: dict) -> str:
        state.setdefault("user_id", context.get("user_id"))
        return f"hello {state['user_id']}"

    specs = """
kind: FunctionNode
name: greet
func: greet
auth: {service_account: {context: {strict: false, inject: [user_id]}}}
"""
    storage = InMemoryStateStorage()
    agent = Agent(specs, functions=[greet], state_storage=storage, session_id="s")
    await agent.step("hi", context={"user_id": "u-123"})
    again = Agent(specs, functions=[greet], state_storage=storage, session_id="s")
    assert (await again.step("hi")).output == "hello u-123"
