"""The loop of one turn: start what may run, wait in one place, commit what happened.

Nothing is decided here: `decide.py` says what may run, `perform.py` runs it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial

from liman_nb.engine.decide import RunResult, ended_row, exceeded, runnable
from liman_nb.engine.events import Event
from liman_nb.engine.inside import begin_run, waiting_turns
from liman_nb.engine.joins import deadlines, overdue_joins
from liman_nb.engine.perform import perform
from liman_nb.engine.questions import asks_beforehand, crash_question, overdue
from liman_nb.engine.run import CallTime, NodeRun, Runtime
from liman_nb.engine.times import stamp
from liman_nb.engine.tracing import run_span
from liman_nb.engine.tree import Tree
from liman_nb.errors import BoundExceeded, EngineError, NodeError
from liman_nb.state.json_values import copied
from liman_nb.state.rows import AnyRow, AskRow, ExpireRow

GRACE = 0.5
"""Seconds that cancelled runs get to end. A sync function's thread cannot be stopped: after that
time it is left behind, and what it returns is discarded."""

Commit = Callable[[Iterable[AnyRow]], Awaitable[None]]


class Drive:
    """One call of step or resume: node runs under way, and those that ended but are not stored.

    Args:
        runtime: what all sessions of the agent share.
        tree: the session; changed by `commit` only.
        call_time: context and credentials of this call.
        commit: applies rows to the tree and stores them. It takes them one by one, so a row may be
            made of what the rows before it did to the tree.
    """

    def __init__(self, runtime: Runtime, tree: Tree, call_time: CallTime, commit: Commit) -> None:
        self._runtime = runtime
        self._tree = tree
        self._call_time = call_time
        self._commit = commit
        self._running: dict[str, asyncio.Task[RunResult]] = {}
        self._begun: set[str] = set()
        self._ended: list[tuple[str, RunResult]] = []
        self._wake = asyncio.Event()
        self._defect: BaseException | None = None
        self._waiting = waiting_turns() | {self}

    @property
    def running(self) -> tuple[str, ...]:
        """The ids of the executors that run at this moment."""
        return tuple(self._running)

    async def run(self) -> None:
        """Run until nothing may run any more.

        Raises:
            asyncio.CancelledError: the caller was cancelled; runs under way are cancelled too.
            StorageError: a commit failed; runs under way are cancelled.
            EngineError: a defect of this package.
        """
        seconds = self._runtime.bounds.seconds
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                await self._loop()
        except TimeoutError:
            if seconds is None or not scope.expired():
                raise  # the storage's own
            await self._cancel_running()
            await self._fail_the_rest(seconds)
        finally:
            await self._cancel_running()

    async def _loop(self) -> None:
        while True:
            await self._start()
            if not self._ended:
                if await self._give_up_waiting():
                    continue
                if not self._running:
                    return
                await self._wait()
            if self._defect is not None:
                raise EngineError("a node run could not be performed") from self._defect
            await self._commit_ended()

    async def _give_up_waiting(self) -> bool:
        """Do without answers and branches that were waited for long enough; whether there were any.

        Questions are looked at when nothing runs any more, since a turn does not wait for people.
        """
        now = self._runtime.now()
        rows: list[AnyRow] = [] if self._running else [*overdue(self._tree, now)]
        if joins := overdue_joins(self._runtime.joins, self._tree, stamp(now)):
            rows.append(ExpireRow(kind="expire", at=stamp(now), joins=joins))
        if rows:
            await self._commit(rows)
        return bool(rows)

    async def _wait(self) -> None:
        """Until a run ends, or a join has waited long enough."""
        self._wake.clear()
        ends = deadlines(self._runtime.joins, self._tree).values()
        if not ends:
            await self._wake.wait()
            return
        left = datetime.fromisoformat(min(ends)) - self._runtime.now()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), max(left.total_seconds(), 0.001))

    async def _start(self) -> None:
        """Start what may run, each run in a task: one that ignores its end is left behind."""
        ready = runnable(
            self._tree,
            self._runtime.callables.exclusive,
            self._running,
            self._runtime.bounds.concurrent,
            self._runtime.callables.at_most,
        )
        self._begun.update(ready)
        await self._ask_beforehand(ready)
        for identity in ready:
            work = self._perform(identity, under_way=len(self._running))
            task = asyncio.create_task(work)
            self._running[identity] = task
            task.add_done_callback(partial(self._has_ended, identity))

    async def _ask_beforehand(self, ready: list[str]) -> None:
        """Leave a question for the case that the process ends in the middle of a call."""
        graph, now = self._runtime.graph, stamp(self._runtime.now())
        executors = [self._tree.executors[identity] for identity in ready]
        rows = [
            AskRow(kind="ask", at=now, executor=e.id, question=crash_question(e))
            for e in executors
            if asks_beforehand(graph, e)
        ]
        if rows:
            await self._commit(rows)

    def _run(self, identity: str) -> NodeRun:
        executor = self._tree.executors[identity]
        return NodeRun(self._runtime, self._tree, executor, self._call_time)

    async def _perform(self, identity: str, under_way: int) -> RunResult:
        begin_run(self._waiting)
        run = self._run(identity)
        over = exceeded(self._tree, run.executor, self._runtime.bounds, under_way)
        with run_span(run.executor) as note:
            if over is None:
                result = await perform(run)
            else:
                result = RunResult(error=run.error_record(over))
            note(result)
        return result

    def _has_ended(self, identity: str, task: asyncio.Task[RunResult]) -> None:
        error = None if task.cancelled() else task.exception()
        if self._running.get(identity) is not task:
            return  # left behind
        if task.cancelled() or isinstance(error, GeneratorExit):
            gone = NodeError("what it called ended the task that it ran in")
            record = self._run(identity).error_record(gone)
            self._ended.append((identity, RunResult(error=record)))
        elif error is None:
            self._ended.append((identity, task.result()))
        else:
            self._defect = self._defect or error
        self._wake.set()

    async def _commit_ended(self) -> None:
        """Commit every run that has ended by now."""
        ended, self._ended = self._ended, []
        now = stamp(self._runtime.now())
        for identity, _ in ended:
            self._running.pop(identity, None)
        await self._commit(self._row(identity, result, now) for identity, result in ended)
        for identity, _ in ended:
            self._tell(identity)

    def _row(self, identity: str, result: RunResult, now: str) -> AnyRow:
        graph, joins = self._runtime.graph, self._runtime.joins
        return ended_row(graph, joins, self._tree, self._tree.executors[identity], result, now)

    def _tell(self, identity: str) -> None:
        if not self._runtime.listened():
            return
        executor = self._tree.executors[identity]
        asked = executor.question
        self._runtime.emit(
            Event(
                "suspended" if asked else "node_ended",
                self._tree.session_id,
                executor.turn,
                node=executor.node,
                executor=identity,
                text=asked.text if asked else "",
                status=executor.status,
                output=copied(executor.output),
            )
        )

    async def _fail_the_rest(self, seconds: float) -> None:
        """Out of time: every run under way or still to come fails with the bound's name."""
        error = BoundExceeded(
            f"the bound seconds={seconds:g} is reached in turn {len(self._tree.turns)} of session "
            f"{self._tree.session_id!r}; what ran was cancelled. If it needs longer, pass "
            f"Agent(bounds=Bounds(seconds=…))",
            "seconds",
            seconds,
        )
        while failing := [*self._cut_short(), *self._tree.idle]:
            for identity in failing:
                record = self._run(identity).error_record(error)
                self._ended.append((identity, RunResult(error=record)))
            await self._commit_ended()

    def _cut_short(self) -> list[str]:
        """The executors whose calls began here with a question beforehand, which still stands."""
        asked = [self._tree.executors[i] for i in self._tree.asking if i in self._begun]
        return [e.id for e in asked if e.question and e.question.kind == "crash"]

    async def _cancel_running(self) -> None:
        tasks = [task for task in self._running.values() if not task.get_loop().is_closed()]
        self._running.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE)
        self._ended.clear()
