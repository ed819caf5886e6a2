"""The loop of one turn: start what may run, wait in one place, commit what happened.

Nothing is decided here: `decide.py` says what may run, `perform.py` runs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from liman_nb.engine.decide import RunResult, exceeded, run_row, runnable
from liman_nb.engine.events import Event
from liman_nb.engine.perform import perform
from liman_nb.engine.run import CallTime, NodeRun, Runtime, stamp
from liman_nb.engine.tree import Tree
from liman_nb.errors import BoundExceeded, EngineError
from liman_nb.state.rows import RunRow

GRACE = 0.5
"""Seconds that cancelled runs get to end. A sync function's thread cannot be stopped: after that
time it is left behind, and what it returns is discarded."""

CommitRuns = Callable[[Sequence[RunRow]], Awaitable[None]]


class Drive:
    """One call of step or resume: node runs under way, and those that ended but are not stored.

    Args:
        runtime: what all sessions of the agent share.
        tree: the session; changed by `commit` only.
        call_time: context and credentials of this call.
        commit: applies rows to the tree and stores them.
    """

    def __init__(
        self, runtime: Runtime, tree: Tree, call_time: CallTime, commit: CommitRuns
    ) -> None:
        self._runtime = runtime
        self._tree = tree
        self._call_time = call_time
        self._commit = commit
        self._running: dict[str, asyncio.Task[RunResult]] = {}
        self._ended: list[tuple[str, RunResult]] = []
        self._wake = asyncio.Event()
        self._defect: BaseException | None = None

    async def run(self) -> None:
        """Run until nothing may run any more.

        Raises:
            asyncio.CancelledError: the caller was cancelled; runs under way are cancelled too.
            StorageError: a commit failed; runs under way are cancelled.
            EngineError: a defect of this package.
        """
        seconds = self._runtime.bounds.seconds
        try:
            async with asyncio.timeout(seconds):
                await self._loop()
        except TimeoutError:
            await self._cancel_running()
            await self._fail_the_rest(seconds or 0)
        finally:
            await self._cancel_running()

    async def _loop(self) -> None:
        while True:
            alone = self._start()
            if alone is not None:
                self._ended.append((alone, await self._perform(alone, under_way=0)))
            elif not self._ended:
                if not self._running:
                    return
                self._wake.clear()
                await self._wake.wait()
            if self._defect is not None:
                raise EngineError("a node run could not be performed") from self._defect
            await self._commit_ended()

    def _start(self) -> str | None:
        """Start what may run. A run that would be alone is returned instead: it needs no task."""
        ready = runnable(
            self._tree,
            self._runtime.callables.exclusive,
            self._running,
            self._runtime.bounds.concurrent,
        )
        if len(ready) == 1 and not self._running and not self._ended:
            return ready[0]
        for identity in ready:
            work = self._perform(identity, under_way=len(self._running))
            task = asyncio.create_task(work)
            self._running[identity] = task
            task.add_done_callback(partial(self._has_ended, identity))
        return None

    async def _perform(self, identity: str, under_way: int) -> RunResult:
        executor = self._tree.executors[identity]
        run = NodeRun(self._runtime, self._tree, executor, self._call_time)
        over = exceeded(self._tree, executor, self._runtime.bounds, under_way)
        return await perform(run) if over is None else RunResult(error=run.error_record(over))

    def _has_ended(self, identity: str, task: asyncio.Task[RunResult]) -> None:
        if not task.cancelled():
            self._defect = self._defect or task.exception()
            if task.exception() is None:
                self._ended.append((identity, task.result()))
        self._wake.set()

    async def _commit_ended(self) -> None:
        """Commit every run that has ended by now."""
        ended, self._ended = self._ended, []
        graph, now = self._runtime.graph, stamp(self._runtime.now())
        for identity, _ in ended:
            self._running.pop(identity, None)
        await self._commit(
            [run_row(graph, self._tree.executors[i], result, now) for i, result in ended]
        )
        for identity, _ in ended:
            self._tell(identity)

    def _tell(self, identity: str) -> None:
        executor = self._tree.executors[identity]
        self._runtime.emit(
            Event(
                "node_ended",
                self._tree.session_id,
                executor.turn,
                node=executor.node,
                executor=identity,
                status=executor.status,
                output=executor.output,
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
        while self._tree.idle:
            for identity in list(self._tree.idle):
                executor = self._tree.executors[identity]
                run = NodeRun(self._runtime, self._tree, executor, self._call_time)
                self._ended.append((identity, RunResult(error=run.error_record(error))))
            await self._commit_ended()

    async def _cancel_running(self) -> None:
        tasks = list(self._running.values())
        self._running.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE)
        self._ended.clear()
