"""One session opened in this process: its turns, and the commits that make them durable.

A row is applied to the tree, committed, and only then do its effects start. `drive.py` has the
loop; this file has what callers do with a session and what they may not do.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from liman_nb.engine.answering import answer_row
from liman_nb.engine.apply import apply
from liman_nb.engine.decide import cancel_row, turn_row
from liman_nb.engine.drive import Drive
from liman_nb.engine.events import Event, EventKind
from liman_nb.engine.forking import Copy
from liman_nb.engine.inside import waiting_turns
from liman_nb.engine.lease import Leased, SessionLease
from liman_nb.engine.loading import load_tree
from liman_nb.engine.open_turns import check_resumable, still_open
from liman_nb.engine.queue import Turnstile
from liman_nb.engine.run import CallTime, Runtime
from liman_nb.engine.states import touched, whole
from liman_nb.engine.stopping import Stop, still_running, to_the_end
from liman_nb.engine.times import stamp
from liman_nb.engine.tracing import turn_span
from liman_nb.engine.tree import ENDED, Changes, Tree
from liman_nb.errors import (
    EngineError,
    StorageError,
    UsageError,
)
from liman_nb.state.journal import JournalStorage
from liman_nb.state.json_values import copied, read_back
from liman_nb.state.rows import AnyRow
from liman_nb.state.storage import Commit, StateStorage
from liman_nb.tools.credentials import TurnCredentials

T = TypeVar("T")

OnOpenTurn = Literal["ask", "resume", "abandon"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer.

    Attributes:
        value: JSON-able.
        question: id of the question, or name of the node that asks; ``None`` for the only one.
    """

    value: Any
    question: str | None = None


class Session:
    """A session's tree and its turns.

    Each turn brings the runtime that it runs with, so that specs may be loaded again while turns
    run or wait.

    Args:
        storage: where it is stored.
        tree: the session as it is stored.
    """

    def __init__(self, storage: StateStorage, tree: Tree) -> None:
        self.tree = tree
        self.queue = Turnstile()
        self._storage = storage
        self._lease = SessionLease(storage)
        self._reading = threading.Lock()
        self._stale = False
        self._drive: Drive | None = None
        self._stop: Callable[[], None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the last turn has not ended."""
        return self.tree.is_open

    @property
    def is_only_here(self) -> bool:
        """Whether it is known to be a fork and is not stored, since it has no turn yet."""
        return self.tree.lineage is not None and not self.tree.turns

    def read(self, make: Callable[[Tree, Collection[str]], T]) -> T:
        """Something made of the tree and of the ids of the executors that run at this moment.

        From any thread: the tree does not change meanwhile.
        """
        with self._reading:
            return make(self.tree, self._drive.running if self._drive else ())

    async def step(
        self,
        runtime: Runtime,
        entry: str,
        value: Any,
        context: Mapping[str, Any],
        on_open: OnOpenTurn = "ask",
    ) -> int:
        """Run one turn and return its number. What it came to stands in the tree.

        It may have failed, been stopped, or wait for a person.

        When the call is stopped while it still finishes an interrupted turn, there is no other, and
        the number is that one's.

        Args:
            runtime: what it runs with.
            entry: name of the node to enter at.
            value: its input, JSON-able.
            context: call-time data, never stored.
            on_open: what to do with a last turn that was interrupted or waits for a person: ``ask``
                raises, ``resume`` finishes it first if it can, ``abandon`` closes it.

        Raises:
            OpenTurn: the last turn has not ended, or waits for a person after it was resumed.
            NotStorable: the input would not come back equal from JSON.
            UsageError: the call comes from a function of the turn under way.
            SessionConflict: another writer has a turn in the session; nothing was run or stored.
            StorageError: the storage failed, and the session was loaded again.
            asyncio.CancelledError: the caller's task was cancelled; the turn is stored cancelled.
        """
        value = read_back(value, "input")
        self._refuse_waiting_for_itself()
        async with self._line(), self._leased() as lease:
            await self._refresh(lease.rows)
            if not await self._close_open_turn(runtime, on_open, context):
                return len(self.tree.turns)
            now = stamp(runtime.now())
            attached = list(runtime.callables.attached)
            row = turn_row(
                runtime.graph,
                self.tree,
                entry,
                value,
                now,
                context_keys=list(context),
                attached=attached,
            )
            return await self._turn(runtime, context, row)

    async def resume(
        self, runtime: Runtime, context: Mapping[str, Any], answer: Answer | None = None
    ) -> int:
        """Go on with an open turn: what was committed is skipped, everything else runs.

        Questions whose deadline has passed get their fallback; the others wait on.

        Args:
            runtime: what it runs with.
            context: call-time data, never stored.
            answer: the answer to an open question.

        Raises:
            OpenTurn: no turn is open.
            AnswerInvalid: the answer does not fit; its question stays open.
            UsageError: no such question.
            ContextMissing: context keys that the turn was begun with are not supplied.
            SpecChanged: the turn was begun with another graph.
            LimanError: as for `step`.
            asyncio.CancelledError: as for `step`.
        """
        self._refuse_waiting_for_itself()
        async with self._line(), self._leased() as lease:
            await self._refresh(lease.rows)
            check_resumable(runtime, self.tree, context)
            if answer is None:
                return await self._turn(runtime, context)
            row = answer_row(runtime.graph, self.tree, answer.question, answer.value, runtime.now())
            return await self._turn(runtime, context, row)

    async def abandon(self, now: datetime, reason: str) -> None:
        """Close an open turn without finishing it; nothing happens when none is open.

        Args:
            now: the current time, UTC.
            reason: why, in words.
        """
        self._refuse_waiting_for_itself()
        async with self._line(), self._leased() as lease:
            await self._refresh(lease.rows)
            await self._cancel(now, reason)

    def stop(self) -> bool:
        """End the turn under way, from any thread; whether there was one."""
        stop = self._stop
        if stop is not None:
            stop()
        return stop is not None

    # ── a session that is copied ─────────────────────────────────────────────────────────────────

    async def begin(self, copy: Copy) -> None:
        """Begin as a copy of another session, in one commit where the storage keeps a journal.

        Raises:
            UsageError: the session has turns already, or one begins.
            StorageError: the storage failed.
        """
        if self._line().held:  # never wait: it may be for a loop that waits for this call
            raise self._in_use()
        async with self._line(), self._leased() as lease:
            await self._refresh(lease.rows)
            if self.tree.turns:
                raise self._in_use()
            if copy.rows:
                await self._commit(copy.rows)
            elif copy.tree is not None:
                await self._replace(copy.tree)
            else:
                self.tree.lineage = copy.lineage

    def _in_use(self) -> UsageError:
        return UsageError(
            f"there is a session {self.tree.session_id!r} already, and it stays as it is: give "
            f"another id, or none"
        )

    async def changed_elsewhere(self) -> None:
        """Show what is stored, which was changed by other means.

        A turn under way is left alone: its next commit finds out.
        """
        if not self._line().held:
            async with self._line():
                self._stale = True
                await self._refresh()

    # ── what may not be done ─────────────────────────────────────────────────────────────────────

    def _refuse_waiting_for_itself(self) -> None:
        if self._drive is not None and self._drive in waiting_turns():
            raise UsageError(
                f"session {self.tree.session_id!r}: a function of its turn under way asked "
                f"for a turn of the same session, which cannot begin before that one has ended. "
                f"Give it another session_id, or ask after the turn"
            )

    def _line(self) -> Turnstile:
        """Where callers wait for their turn."""
        if self.queue.is_deserted:
            self.queue = Turnstile()
        return self.queue

    def _leased(self) -> Leased:
        """The right to write to the session: no other kernel has a turn in it meanwhile."""
        return self._lease.of(self.tree.root, self.tree.session_id)

    async def _close_open_turn(
        self, runtime: Runtime, how: OnOpenTurn, context: Mapping[str, Any]
    ) -> bool:
        """Whether another turn may begin; not when this call was stopped meanwhile."""
        if not self.is_open:
            return True
        if how == "abandon":
            await self._cancel(runtime.now(), "given up for another turn")
            return True
        if how == "resume":
            check_resumable(runtime, self.tree, context)
            await self._turn(runtime, context)
            if self.tree.status in ENDED:
                return self.tree.status != "cancelled"
        raise still_open(self.tree)

    # ── a turn ───────────────────────────────────────────────────────────────────────────────────

    async def _turn(
        self, runtime: Runtime, context: Mapping[str, Any], first: AnyRow | None = None
    ) -> int:
        stop = self._stop = Stop()
        call_time = CallTime(context, TurnCredentials())
        drive = self._drive = Drive(runtime, self.tree, call_time, self._commit)
        try:
            if first is not None:
                await self._commit([first])
            self._tell(runtime, "turn_started", "running")
            with turn_span(self.tree):
                await drive.run()
        except asyncio.CancelledError:
            was_ours = stop.take_back()
            why = "stopped by the caller" if was_ours else "cancelled"
            reason = why + still_running(call_time.left_running)
            cancelled_again = await to_the_end(self._cancel(runtime.now(), reason))
            if cancelled_again or not was_ours:
                self._tell(runtime, "turn_ended", self.tree.status)
                raise
        finally:
            call_time.credentials.close()
            stop.end()
            if self._stop is stop:  # not after another turn, where this one's loop was closed
                self._stop = self._drive = None
        self._check_ended()
        self._tell(runtime, "turn_ended", self.tree.status)
        return len(self.tree.turns)

    async def _cancel(self, at: datetime, reason: str) -> None:
        await self._refresh()
        if self.is_open:
            await self._commit([cancel_row(reason, stamp(at))])

    def _check_ended(self) -> None:
        if self.is_open and not self.tree.asking:
            raise EngineError(
                f"session {self.tree.session_id!r}: nothing may run and turn "
                f"{len(self.tree.turns)} has not ended. This is a defect of liman_nb; "
                f"agent.tree() shows where"
            )

    def _tell(self, runtime: Runtime, kind: EventKind, status: str) -> None:
        if not runtime.listened():
            return
        tree = self.tree
        output = copied(tree.executors[tree.root].output) if tree.executors else None
        runtime.emit(Event(kind, tree.session_id, len(tree.turns), status=status, output=output))

    # ── commits ──────────────────────────────────────────────────────────────────────────────────

    async def _commit(self, rows: Iterable[AnyRow]) -> None:
        """Apply and store: in one transaction where the storage keeps a journal.

        A row may be made when it is asked for, of the tree as the rows before it have left it.
        """
        if isinstance(self._storage, JournalStorage):
            await self._commit_together(rows)
        else:
            for row in rows:
                await self._commit_together([row])

    async def _commit_together(self, rows: Iterable[AnyRow]) -> None:
        tree, applied = self.tree, list[tuple[AnyRow, Changes]]()

        def change() -> Commit:
            first = tree.seq
            applied.extend((row, apply(tree, row)) for row in rows)
            done = tuple(row for row, _ in applied)
            return Commit(
                tree.root,
                first,
                done,
                lambda: touched(tree, *applied[-1]),
                open=tree.is_open,
                lease=self._lease.held,
            )

        await self._store(change)

    async def _replace(self, tree: Tree) -> None:
        """Store a whole tree, where no journal is kept."""

        def change() -> Commit:
            self.tree = tree
            return Commit(
                tree.root, 0, (), lambda: whole(tree), open=tree.is_open, lease=self._lease.held
            )

        await self._store(change)

    async def _store(self, change: Callable[[], Commit]) -> None:
        """Change and store. After a failure the tree may be ahead of the storage: it is loaded."""
        self._stale = True
        try:
            with self._reading:
                commit = change()
            cancelled = await to_the_end(self._storage.commit(commit))
        except BaseException as error:
            await to_the_end(self._reload_if_possible())
            if isinstance(error, asyncio.CancelledError):
                raise StorageError(f"{self._storage!r} gave up a commit by itself") from error
            raise
        self._stale = False
        if cancelled:
            raise asyncio.CancelledError

    async def _refresh(self, stored: int | None = None) -> None:
        """Load the session again if its tree may be ahead of the storage, or is not of its length.

        Args:
            stored: how many rows the storage has; ``None`` if that is not known.
        """
        if self._stale or stored not in (None, self.tree.seq):
            tree = self.tree
            loaded = await load_tree(self._storage, tree.root, tree.session_id)
            if not loaded.turns:
                loaded.lineage = tree.lineage
            self.tree = loaded
            self._stale = False

    async def _reload_if_possible(self) -> None:
        """Show what is stored; where that fails too, the next call tries again and says so."""
        with contextlib.suppress(Exception):
            await self._refresh()
