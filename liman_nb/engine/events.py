"""What happens during a turn, as it happens. Nothing depends on an event for its correctness."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

EventKind = Literal[
    "turn_started", "node_started", "token", "attempt", "suspended", "node_ended", "turn_ended"
]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        kind: ``turn_started``, ``node_started``, ``token`` (a piece of an LLM's text), ``attempt``
            (a run is tried again), ``suspended`` (a person is asked), ``node_ended`` (committed),
            ``turn_ended``.
        session_id: the session's text id.
        turn: number of the turn.
        node: the node's name; empty for events of the turn itself.
        executor: the executor's id; empty for events of the turn itself.
        text: the piece of text of a ``token``, the reason of an ``attempt``, the question of a
            ``suspended``.
        status: the executor's or the turn's status, where it ended.
        output: what the node or the turn produced.
    """

    kind: EventKind
    session_id: str
    turn: int
    node: str = ""
    executor: str = ""
    text: str = ""
    status: str = ""
    output: Any = None


Listener = Callable[[Event], None]
"""Called on the event loop's thread; it must return at once and not raise."""


class Listeners:
    """Whoever wants the events."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def any(self) -> bool:
        """Whether anybody does."""
        return bool(self._listeners)

    def add(self, listener: Listener) -> Callable[[], None]:
        """Tell a listener from now on; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, event: Event) -> None:
        """Tell all of them. A turn never depends on who listens: exceptions become warnings."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - a listener's own code
                with contextlib.suppress(Warning):  # where warnings are errors
                    warnings.warn(
                        f"a listener failed on {event.kind}: {type(error).__name__}: {error}",
                        stacklevel=2,
                    )
