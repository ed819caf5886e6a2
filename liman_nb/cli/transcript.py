"""What is printed of a turn while it runs: what each node says, one node at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from liman_nb.cli.terminal import say
from liman_nb.engine.events import Event
from liman_nb.result import StepResult


@dataclass(slots=True)
class _Voice:
    """What one executor says.

    Attributes:
        node: its node's name.
        unsaid: text that is not printed yet.
        in_line: whether its line has begun.
        has_ended: whether nothing more comes.
    """

    node: str
    unsaid: str = ""
    in_line: bool = False
    has_ended: bool = False


class Transcript:
    """Prints what nodes say as they say it.

    Nodes may speak at the same time. The one that began first is heard as it speaks; the others
    are heard after it, so that no two texts are mixed.

    Attributes:
        has_begun: whether a turn has.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self._voices: dict[str, _Voice] = {}
        self._heard: set[str] = set()
        self._told: list[tuple[str, Any]] = []

    def hear(self, event: Event) -> None:
        """Print what an event says, now or when its turn comes."""
        self.has_begun = True
        match event.kind:
            case "token":
                self._speak(event)
            case "attempt":
                self._again(event)
            case "node_ended" if event.executor in self._voices:
                self._voices[event.executor].has_ended = True
                self._print()

    def end(self, result: StepResult | None) -> None:
        """Print what is left, and the outputs of nodes that were not heard.

        A turn that waited for a person may go on and end again.
        """
        for voice in self._voices.values():
            voice.has_ended = True
        self._print()
        for node, value in result.outputs if result else ():
            is_new = node not in self._heard and (node, value) not in self._told
            if is_new and value is not None:
                say(f"{node}: {_shown(value)}")
                self._told.append((node, value))

    def _speak(self, event: Event) -> None:
        voice = self._voices.setdefault(event.executor, _Voice(event.node))
        voice.unsaid += event.text
        self._heard.add(event.node)
        self._print()

    def _again(self, event: Event) -> None:
        """A run is tried again: what it said does not count, and it begins a new line."""
        for voice in self._voices.values():
            _end_line(voice)
        if event.executor in self._voices:
            self._voices[event.executor].unsaid = ""
        say(f"[{event.node} tries again after {event.text}]", err=True)

    def _print(self) -> None:
        """Print the first voice and, as far as those before them have ended, the next ones."""
        while self._voices:
            executor, voice = next(iter(self._voices.items()))
            _say_unsaid(voice)
            if not voice.has_ended:
                return
            _end_line(voice)
            del self._voices[executor]


def _say_unsaid(voice: _Voice) -> None:
    if voice.unsaid:
        label = "" if voice.in_line else f"{voice.node}: "
        say(label + voice.unsaid, end=False)
        voice.unsaid, voice.in_line = "", True


def _end_line(voice: _Voice) -> None:
    if voice.in_line:
        say()
        voice.in_line = False


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
