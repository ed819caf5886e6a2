"""One session opened in this process: its turns, and the commits that make them durable.

A row is applied to the tree, committed, and only then do its effects start. `drive.py` has the
loop; this file has what callers do with a session and what they may not do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from liman_nb.engine.apply import apply
from liman_nb.engine.decide import cancel_row, turn_row
from liman_nb.engine.drive import Drive
from liman_nb.engine.events import Event, EventKind
from liman_nb.engine.loading import load_tree
from liman_nb.engine.queue import Turnstile
from liman_nb.engine.run import CallTime, Runtime, stamp
from liman_nb.engine.states import touched
from liman_nb.engine.tree import ENDED, Tree
from liman_nb.errors import (
    ContextMissing,
    EngineError,
    OpenTurn,
    Problem,
    SpecChanged,
    StorageError,
)
from liman_nb.state.journal import JournalStorage
from liman_nb.state.json_values import check_json
from liman_nb.state.rows import CancelRow, RunRow, TurnRow
from liman_nb.state.storage import Commit
from liman_nb.tools.calling import LeftRunning
from liman_nb.tools.credentials import TurnCredentials

T = TypeVar("T")

OnOpenTurn = Literal["ask", "resume", "abandon"]


class Session:
    """A session's tree and its turns.

    Args:
        runtime: what all sessions of the agent share.
        tree: the session as it is stored.
    """

    def __init__(self, runtime: Runtime, tree: Tree) -> None:
        self.runtime = runtime
        self.tree = tree
        self.queue = Turnstile()
        self._stale = False
        self._stop: Callable[[], None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the last turn has not ended."""
        return bool(self.tree.turns) and self.tree.status not in ENDED

    @property
    def is_running(self) -> bool:
        """Whether a turn is under way in this process."""
        return self._stop is not None

    async def step(
        self, entry: str, value: Any, context: Mapping[str, Any], on_open: OnOpenTurn = "ask"
    ) -> int:
        """Run one turn and return its number. It may have failed or been stopped: see the tree.

        Args:
            entry: name of the node to enter at.
            value: its input, JSON-able.
            context: call-time data, never stored.
            on_open: what to do with a last turn that was interrupted: ``ask`` raises, ``resume``
                finishes it first, ``abandon`` closes it.

        Raises:
            OpenTurn: the last turn has not ended.
            NotStorable: the input would not come back equal from JSON.
            StorageError: the storage failed; the session is loaded again before its next turn.
            asyncio.CancelledError: the caller's task was cancelled; the turn is stored cancelled.
        """
        async with self.queue:
            await self._refresh()
            await self._close_open_turn(on_open, context)
            check_json(value, "input")
            now = stamp(self.runtime.now())
            row = turn_row(self.runtime.graph, self.tree, entry, value, list(context), now)
            return await self._turn(context, row)

    async def resume(self, context: Mapping[str, Any]) -> int:
        """Go on with an open turn: what was committed is skipped, everything else runs.

        Raises:
            OpenTurn: no turn is open.
            ContextMissing: context keys that the turn was begun with are not supplied.
            SpecChanged: the turn was begun with another graph.
            StorageError: as for `step`.
            asyncio.CancelledError: as for `step`.
        """
        async with self.queue:
            await self._refresh()
            self._check_resumable(context)
            return await self._turn(context)

    async def abandon(self, reason: str) -> None:
        """Close an open turn without finishing it; nothing happens when none is open."""
        async with self.queue:
            await self._refresh()
            await self._cancel(reason)

    def stop(self) -> bool:
        """End the turn under way, from any thread; whether there was one."""
        stop = self._stop
        if stop is not None:
            stop()
        return stop is not None

    # ── what may not be done ─────────────────────────────────────────────────────────────────────

    async def _close_open_turn(self, how: OnOpenTurn, context: Mapping[str, Any]) -> None:
        if not self.is_open:
            return
        if how == "abandon":
            await self._cancel("given up for another turn")
        elif how == "resume":
            self._check_resumable(context)
            await self._turn(context)
        else:
            self._refuse_open_turn()

    def _refuse_open_turn(self) -> None:
        waiting = sorted({self.tree.executors[i].node for i in self.tree.idle})
        raise OpenTurn(
            f"session {self.tree.session_id!r}: turn {len(self.tree.turns)} was interrupted with "
            f"{', '.join(waiting)} still to run. Go on with it: await agent.resume(); or give it "
            f"up: await agent.abandon()"
        )

    def _check_resumable(self, context: Mapping[str, Any]) -> None:
        session_id = self.tree.session_id
        if not self.is_open:
            raise OpenTurn(f"session {session_id!r} has no open turn to resume; use agent.step()")
        turn = self.tree.turns[-1]
        missing = [key for key in turn.context_keys if key not in context]
        if missing:
            raise ContextMissing(
                f"session {session_id!r}: turn {turn.number} was begun with the context keys "
                f"{', '.join(turn.context_keys)}. Context is never stored, so pass "
                f"{', '.join(missing)} again: await agent.resume(context={{…}})"
            )
        if turn.graph != self.runtime.graph.fingerprint:
            raise SpecChanged(
                [
                    Problem(
                        f"turn {turn.number} of session {session_id!r} was begun with other specs",
                        hint="load those again to resume it, or give it up: await agent.abandon()",
                    )
                ]
            )

    # ── a turn ───────────────────────────────────────────────────────────────────────────────────

    async def _turn(self, context: Mapping[str, Any], first: TurnRow | None = None) -> int:
        stop = _Stop()
        self._stop = stop
        call_time = CallTime(context, TurnCredentials())
        drive = Drive(self.runtime, self.tree, call_time, self._commit)
        try:
            if first is not None:
                await self._commit([first])
            self._tell("turn_started", "running")
            await drive.run()
        except asyncio.CancelledError:
            await to_the_end(self._cancel(stop.reason + _still_running(call_time.left_running)))
            if not stop.take_back():
                raise
        except StorageError:
            await self._reload_if_possible()
            raise
        finally:
            call_time.credentials.close()
            stop.over = True
            self._stop = None
        self._check_ended()
        self._tell("turn_ended", self.tree.status)
        return len(self.tree.turns)

    async def _cancel(self, reason: str) -> None:
        if self.is_open:
            await self._commit([cancel_row(reason, stamp(self.runtime.now()))])

    def _check_ended(self) -> None:
        if self.is_open:
            raise EngineError(
                f"session {self.tree.session_id!r}: nothing may run and turn "
                f"{len(self.tree.turns)} has not ended. This is a defect of liman_nb; "
                f"agent.tree() shows where"
            )

    def _tell(self, kind: EventKind, status: str) -> None:
        tree = self.tree
        event = Event(
            kind,
            tree.session_id,
            len(tree.turns),
            status=status,
            output=tree.executors[tree.root].output,
        )
        self.runtime.emit(event)

    # ── commits ──────────────────────────────────────────────────────────────────────────────────

    async def _commit(self, rows: Sequence[TurnRow | RunRow | CancelRow]) -> None:
        """Apply and store: in one transaction where the storage keeps a journal."""
        if isinstance(self.runtime.storage, JournalStorage):
            await self._commit_together(rows)
        else:
            for row in rows:
                await self._commit_together([row])

    async def _commit_together(self, rows: Sequence[TurnRow | RunRow | CancelRow]) -> None:
        tree, first = self.tree, self.tree.seq
        self._stale = True
        changes = [apply(tree, row) for row in rows]
        commit = Commit(tree.root, first, tuple(rows), lambda: touched(tree, rows[-1], changes[-1]))
        cancelled = await to_the_end(self.runtime.storage.commit(commit))
        self._stale = False
        if cancelled:
            raise asyncio.CancelledError

    async def _refresh(self) -> None:
        """After a failed commit the tree may be ahead of the storage: load it again."""
        if self._stale:
            storage, tree = self.runtime.storage, self.tree
            self.tree = await load_tree(storage, tree.root, tree.session_id)
            self._stale = False

    async def _reload_if_possible(self) -> None:
        """Show what is stored; where that fails too, the next call tries again and says so."""
        try:
            await self._refresh()
        except StorageError:
            self._stale = True


class _Stop:
    """Ends a turn from any thread by cancelling the task that drives it."""

    def __init__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise EngineError("a turn must run in a task of an event loop")
        self._task = task
        self._loop = asyncio.get_running_loop()
        self._asked = False
        self.over = False

    def __call__(self) -> None:
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if not self.over and not self._asked:
            self._asked = True
            self._task.cancel()

    @property
    def reason(self) -> str:
        return "stopped by the caller" if self._asked else "cancelled"

    def take_back(self) -> bool:
        """Whether the cancellation was ours alone; then the task goes on."""
        return self._asked and self._task.uncancel() == 0


def _still_running(left: Sequence[LeftRunning]) -> str:
    names = sorted({one.function for one in left if one.running})
    if not names:
        return ""
    return f"; {', '.join(names)} may still run in a thread, and what it returns is discarded"


async def to_the_end(work: Awaitable[T]) -> bool:
    """Await to the end even if cancelled meanwhile; whether that happened.

    Raises:
        Exception: what the work raised.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
        except Exception:  # noqa: BLE001 - raised below
            break
    task.result()
    return cancelled
