"""Graphs that are hard to draw, as models: written as short lines, without specs."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from liman_nb.views.graph_model import DrawnEdge, DrawnNode, GraphModel
from liman_nb.views.palette import OutcomeWord, StatusWord

Edges = Sequence[tuple[str, str, str]]

CALL = "(call)"
"""In place of a condition: a link from an LLM to a tool."""


def model(
    nodes: Sequence[str],
    edges: Edges = (),
    *,
    statuses: Sequence[StatusWord] = (),
    outcomes: Sequence[OutcomeWord] = (),
    kinds: Sequence[str] = (),
    waits: Mapping[str, str] = MappingProxyType({}),
) -> GraphModel:
    """A graph that starts at its first node. Edges are (source, target, condition)."""
    index = {name: number for number, name in enumerate(nodes)}
    drawn = [
        DrawnNode(
            name,
            kinds[i] if kinds else "LLM",
            is_entry=i == 0,
            status=statuses[i % len(statuses)] if statuses else None,
            waits=waits.get(name, ""),
        )
        for i, name in enumerate(nodes)
    ]
    lines = [
        DrawnEdge(
            index[source],
            index[target],
            "" if condition == CALL else condition,
            outcomes[i % len(outcomes)] if outcomes and condition != CALL else None,
            condition == CALL,
        )
        for i, (source, target, condition) in enumerate(edges)
    ]
    return GraphModel(tuple(drawn), tuple(lines))


def tangle(nodes: int, edges: int, loops: int, seed: int) -> GraphModel:
    """A connected graph with random edges, some of them labelled, and self loops."""
    dice = random.Random(seed)  # noqa: S311 - reproducible, nothing secret
    names = [f"node_{i}" for i in range(nodes)]
    lines = [
        (names[dice.randrange(max(0, i - 8), i)], names[i], _text(dice)) for i in range(1, nodes)
    ]
    while len(lines) < edges:
        source, target = dice.sample(names, 2)
        lines.append((source, target, _text(dice)))
    lines += [(name, name, f"again {i}") for i, name in enumerate(dice.choices(names, k=loops))]
    return model(names, lines)


def _text(dice: random.Random) -> str:
    return dice.choice(["", "ok", "score > 0.5", "customer.tier == 'gold' and amount > 1000"])


_FAN = [f"leaf {i}" for i in range(14)]
_FORTY = "customer.tier == 'gold' and amount > {}00"
_LONG = [
    "長い名前のノードがここにあります長い",
    "Überschriftlängenprüfung der Straße",
    "👩‍👩‍👧‍👦",
    "﷽﷽﷽",
]

HARD: dict[str, GraphModel] = {
    "one node": model(["only"]),
    "one node with a loop": model(["only"], [("only", "only", "x > 3 and not done")]),
    "a loop without a condition": model(["only"], [("only", "only", "")]),
    "five loops on one node": model(
        ["a", "b", "c"],
        [
            ("a", "b", "x"),
            *(("b", "b", f"retries[{i}] < {i} and value != {i}000") for i in range(5)),
            ("b", "c", "done"),
            ("a", "c", ""),
        ],
    ),
    "loops side by side": model(
        ["a", "b", "c", "d"],
        [
            *(("a", name, f"to {name}") for name in "bcd"),
            *((name, name, f"{name} again") for name in "bcd"),
            ("b", "d", "over"),
            ("d", "b", "under"),
        ],
    ),
    "five parallel conditions of forty characters": model(
        ["a", "b"], [("a", "b", _FORTY.format(i)) for i in range(5)]
    ),
    "three parallel edges without conditions": model(["a", "b"], [("a", "b", "")] * 3),
    "fourteen edges out of one node": model(
        ["hub", *_FAN], [("hub", leaf, f"kind == '{leaf}'") for leaf in _FAN]
    ),
    "fourteen edges to nodes with loops": model(
        ["hub", *_FAN],
        [
            *(("hub", leaf, f"kind == '{leaf}'") for leaf in _FAN),
            *((leaf, leaf, f"retry {leaf}") for leaf in _FAN),
            *((leaf, leaf, "and again, if nothing else helps") for leaf in _FAN[:3]),
        ],
    ),
    "fourteen ways there and back": model(
        ["hub", *_FAN, "end"],
        [
            *(("hub", leaf, "") for leaf in _FAN),
            *((leaf, "end", "") for leaf in _FAN),
            ("end", "hub", "again"),
        ],
    ),
    "cycles": model(
        ["a", "b", "c", "d"],
        [
            ("a", "b", "one"),
            ("b", "c", "two"),
            ("c", "d", "three"),
            ("d", "a", "four"),
            ("b", "a", "back"),
            ("c", "a", "further back"),
            ("c", "a", ""),
        ],
    ),
    "disconnected": model(
        ["a", "b", "c", "d", "e"], [("a", "b", "x"), ("c", "d", "y"), ("d", "c", "z")]
    ),
    "tools": model(
        ["chat", *(f"tool_{i}" for i in range(6)), "after"],
        [
            *(("chat", f"tool_{i}", CALL) for i in range(6)),
            ("chat", "after", "done"),
            ("after", "chat", "not ok"),
        ],
        kinds=["LLM", *["tool"] * 6, "function"],
    ),
    "long names in many scripts": model(
        _LONG, [(_LONG[i], _LONG[i + 1], f"{_LONG[i]} == '{_LONG[i + 1]}'") for i in range(3)]
    ),
    "a session": model(
        ["a", "b", "c", "d"],
        [("a", "b", "x > 1"), ("a", "c", "x < 1"), ("b", "d", ""), ("c", "d", "y")],
        statuses=["done", "running", "skipped", "waiting"],
        outcomes=["fired", "not fired", "undecided", "not considered"],
        kinds=["LLM", "function", "person", "tool"],
    ),
    "a join with a loop": model(
        ["a", "b", "c", "join"],
        [
            *(("a", name, "") for name in "bc"),
            *((name, "join", f"{name} is done") for name in "abc"),
            ("join", "b", "again"),
        ],
        waits={"join": "waits for a and (b or c?) and not_so_short_a_name_that_it_fits"},
    ),
    "twenty nodes": tangle(20, 32, 5, seed=1),
    "a hundred nodes": tangle(100, 140, 8, seed=3),
}
