"""An agent that asks people, for tests that end its process: `askers.py DIRECTORY COMMAND …`.

Commands: ``step TEXT``, ``resume``, ``resume JSON``; each prints status and pending questions, or
the error. Tools write what they do into files beside the storage.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from liman_nb import Agent, DiskCacheStateStorage, Suspend
from liman_nb.errors import LimanError
from liman_nb.models.llm import Reply, ToolCall

HERE = Path(__file__).parent

SPECS = """
kind: LLMNode
name: chat
tools: [order, pay, refund, look]
---
{kind: ToolNode, name: order}
---
{kind: ToolNode, name: pay, on_crash: ask}
---
{kind: ToolNode, name: refund, on_crash: ask, approval: true}
---
{kind: ToolNode, name: look}
"""


def model(request) -> Reply:
    """Calls what the user names, then tells what came of it."""
    if request.messages[-1]["role"] == "tool":
        return Reply(text=" | ".join(m["content"] for m in request.messages if m["role"] == "tool"))
    names = request.messages[-1]["content"].split()
    return Reply(tool_calls=[ToolCall(name, name, '{"amount": 3}') for name in names])


class Asker:
    """An agent over a directory. A file ``die`` there ends the process in the middle of `pay`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.agent = Agent(
            SPECS,
            llm=model,
            tools=[self.order, self.pay, self.refund, self.look],
            state_storage=storage(directory),
            name="asker",
            session_id="s",
        )

    def _note(self, what: str) -> None:
        with (self.directory / "done").open("a") as file:
            file.write(what + "\n")

    def order(self, amount: int, state: dict, answer: str | None = None) -> str:
        """Order something, after a question."""
        state["asked"] = state.get("asked", 0) + 1
        if answer is None:
            raise Suspend(f"Really {amount}?", schema=bool)
        return f"ordered {amount}: {answer}, in call {state['asked']}"

    def pay(self, amount: int) -> str:
        """Pay."""
        self._note("pay")
        self._die_if_told("pay")
        return f"paid {amount}"

    async def refund(self, amount: int) -> str:
        """Pay back."""
        self._note("refund")
        self._die_if_told("refund")
        return f"paid back {amount}"

    def look(self, amount: int) -> str:
        """Look."""
        self._note("look")
        return f"looked {amount}"

    def _die_if_told(self, word: str) -> None:
        if (self.directory / "die").exists() and (self.directory / "die").read_text() == word:
            os.kill(os.getpid(), signal.SIGKILL)


class DiesBeforeAsking(DiskCacheStateStorage):
    """Ends the process when a question is to be stored."""

    async def commit(self, commit) -> None:
        """Store, or die."""
        if any(row.kind == "ask" for row in commit.rows):
            os.kill(os.getpid(), signal.SIGKILL)
        await super().commit(commit)


def storage(directory: Path) -> DiskCacheStateStorage:
    """The storage that a file ``die`` asks for."""
    die = directory / "die"
    told = die.read_text() if die.exists() else ""
    kind = DiesBeforeAsking if told == "before asking" else DiskCacheStateStorage
    return kind(directory / "store")


def in_process(directory: Path, *command: str, die: str = "") -> dict:
    """Run a command in a new process; what it prints. One that dies prints nothing."""
    (directory / "die").write_text(die)
    done = subprocess.run(
        [sys.executable, "-W", "error", __file__, str(directory), *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(HERE.parent.parent)},
    )
    assert done.returncode == (-signal.SIGKILL if die else 0), done.stderr
    return json.loads(done.stdout) if done.stdout else {}


def done(directory: Path) -> list[str]:
    """What the tools did."""
    path = directory / "done"
    return path.read_text().split() if path.exists() else []


async def _main(directory: Path, command: str, *arguments: str) -> dict:
    agent = Asker(directory).agent
    try:
        if command == "step":
            result = await agent.step(*arguments)
        else:
            result = await agent.resume(*map(json.loads, arguments))
    except LimanError as error:
        return {"error": type(error).__name__, "text": str(error)}
    return {
        "status": result.status,
        "output": result.output if result.status == "completed" else None,
        "pending": [[question.node, question.kind] for question in result.pending],
    }


if __name__ == "__main__":
    json.dump(asyncio.run(_main(Path(sys.argv[1]), *sys.argv[2:])), sys.stdout)
