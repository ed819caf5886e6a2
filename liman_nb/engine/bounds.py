"""How much one turn may do before it is ended with an error that names the bound."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of one turn.

    Attributes:
        node_runs: node runs of all nodes together.
        llm_calls_per_node: runs of any one LLM node.
        depth: executors below each other.
        seconds: wall-clock seconds since the turn began or was resumed; ``None`` for no bound.
        concurrent: node runs under way at the same time; more wait.

    A mesh document's ``mesh.max_chain_events`` narrows `node_runs`.
    """

    node_runs: int = 200
    llm_calls_per_node: int = 20
    depth: int = 50
    seconds: float | None = None
    concurrent: int = 16

    def __post_init__(self) -> None:
        for name in ("node_runs", "llm_calls_per_node", "depth", "concurrent"):
            if getattr(self, name) < 1:
                raise ValueError(f"Bounds.{name} must be at least 1, not {getattr(self, name)}")
        if self.seconds is not None and self.seconds <= 0:
            raise ValueError(f"Bounds.seconds must be above 0 or None, not {self.seconds}")
