"""Plays a scenario with an agent: its models, tools and functions, its caller, its people.

Every model, tool and function writes down that it was called, before it does anything.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any

from liman_nb import Agent, StateStorage, Suspend
from liman_nb.engine.ids import root_id
from liman_nb.engine.tree import ENDED, Tree
from liman_nb.errors import SessionConflict, TurnFailed
from liman_nb.models.llm import Reply, Request, ToolCall
from sweep.effects import Effects, Kind
from sweep.scenarios import Scenario
from sweep.storages import LEASE_LIFE, PATIENCE

NAME, SESSION = "sweep", "s"
ROOT = root_id("", NAME, SESSION)
CONTEXT = {"user": "u"}

_executor: ContextVar[str] = ContextVar("executor")
"""The executor whose run goes on in this task: models are not told."""


class Play:
    """One process's part of a scenario.

    Args:
        scenario: what is played.
        storage: where it is stored.
        effects: where calls are written down.
    """

    def __init__(self, scenario: Scenario, storage: StateStorage, effects: Effects) -> None:
        self._scenario, self._effects = scenario, effects
        self.agent = Agent(
            scenario.specs,
            start_node=scenario.start,
            llm=self._model,
            tools=tools_of(self),
            functions=functions_of(self),
            state_storage=storage,
            session_id=SESSION,
            name=NAME,
        )
        self.agent.listen(lambda event: _executor.set(event.executor))

    async def to_the_end(self) -> None:
        """Go on from wherever the session is, until all turns are over."""
        await self.agent.open(SESSION)
        while await self._go_on():
            pass

    async def _go_on(self) -> bool:
        """Do what a caller does next; whether there was anything.

        A session that a killed process still holds is tried again until it is free.
        """
        tried = asyncio.timeout(PATIENCE)
        async with tried:
            while True:
                try:
                    return await self._next()
                except SessionConflict:
                    await asyncio.sleep(LEASE_LIFE / 4)

    # ── the caller ───────────────────────────────────────────────────────────────────────────────

    async def _next(self) -> bool:
        turns, status, interrupted = self._look(
            lambda tree: (len(tree.turns), tree.status, bool(tree.idle))
        )
        inputs = self._scenario.inputs
        with suppress(*[TurnFailed] * self._scenario.fails):
            if not turns or status in ENDED:
                if turns == len(inputs):
                    return False
                await self.agent.step(inputs[turns], context=CONTEXT)
            elif interrupted:
                await self.agent.resume(context=CONTEXT)
            elif turns in self._scenario.abandons:
                await self.agent.abandon()
            else:
                question = min(self.agent.pending(), key=lambda question: question.node)
                answer = self._scenario.answers[question.node]
                await self.agent.resume(answer, question=question, context=CONTEXT)
        return True

    def _look(self, make: Callable[[Tree], Any]) -> Any:
        return self.agent._read(None, lambda tree, running: make(tree))

    # ── the order of things ──────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def effect(self, kind: Kind, executor: str, number: int = 0) -> AsyncIterator[None]:
        """An effect on the world: it is written down when it begins, and then takes its time.

        The order in which runs end is part of what is stored. So each one that is not meant to end
        at once with others ends when those before it have, whatever the processor does.
        """
        node, turn = self._look(
            lambda tree: (tree.executors[executor].node, tree.executors[executor].turn)
        )
        self._effects.begun(kind, node, executor, number)
        if turn not in self._scenario.at_once:
            while not self._look(lambda tree: elders_settled(tree, executor)):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.0005)
        yield

    async def _model(self, request: Request) -> Reply:
        said = [message for message in request.messages if message["role"] != "system"]
        asked = max(i for i, message in enumerate(said) if message["role"] == "user")
        number = sum(message["role"] == "assistant" for message in said[asked:])
        async with self.effect("model", _executor.get(), number):
            rounds = self._scenario.rounds if request.tools else ()
            if number < len(rounds):
                calls = [
                    ToolCall(f"c{position}", name, json.dumps(arguments))
                    for position, (name, arguments) in enumerate(rounds[number])
                ]
                return Reply(text=f"round {number}", tool_calls=calls)
            return Reply(text=f"{len(said)} messages, the last one is {said[-1]['content']}")


def elders_settled(tree: Tree, executor: str) -> bool:
    """Whether nothing may run below the siblings that were started before this executor."""
    own = tree.executors[executor]
    siblings = tree.executors[own.parent or tree.root].children
    waiting = siblings[: siblings.index(executor)]
    while waiting:
        elder = tree.executors[waiting.pop()]
        if elder.status == "idle":
            return False
        waiting += elder.children
    return True


def functions_of(play: Play) -> list[Callable[..., Any]]:
    """The functions that the scenarios name."""

    async def echo(value: Any, call_id: str) -> Any:
        """Hand on the input."""
        async with play.effect("function", call_id):
            return value

    async def count(value: Any, call_id: str, state: dict[str, Any]) -> dict[str, int]:
        """Count the runs of this node."""
        async with play.effect("function", call_id):
            state["n"] = state.get("n", 0) + 1
            return {"n": state["n"]}

    async def least(value: Any, call_id: str) -> dict[str, int]:
        """The least number of those that come together."""
        async with play.effect("function", call_id):
            return {"n": min(source["n"] for source in value.values())}

    async def boom(value: Any, call_id: str) -> None:
        """Fail."""
        async with play.effect("function", call_id):
            raise ValueError("broke")

    return [echo, count, least, boom]


def tools_of(play: Play) -> list[Callable[..., Any]]:
    """The tools that the scenarios name."""

    async def add(a: int, b: int, call_id: str) -> int:
        """Add."""
        async with play.effect("tool", call_id):
            return a + b

    async def multiply(a: int, b: int, call_id: str) -> dict[str, int]:
        """Multiply."""
        async with play.effect("tool", call_id):
            return {"product": a * b}

    async def broken(why: str, call_id: str) -> str:
        """Fail."""
        async with play.effect("tool", call_id):
            raise RuntimeError(why)

    async def consult(about: str, call_id: str, answer: str | None = None) -> str:
        """Ask a person."""
        async with play.effect("tool", call_id, number=int(answer is not None)):
            if answer is None:
                raise Suspend(f"Which {about}?", schema=str)
            return f"{answer} {about}"

    async def wire(amount: int, call_id: str) -> str:
        """Send money, if a person allows it."""
        async with play.effect("tool", call_id):
            return f"wired {amount}"

    async def pay(amount: int, call_id: str) -> str:
        """Pay, and never twice."""
        async with play.effect("tool", call_id):
            return "paid"

    return [add, multiply, broken, consult, wire, pay]
