"""Random graphs with joins, and random turns through them, decided and applied without a loop."""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, assume
from hypothesis import strategies as st
from join_model import Model

from liman_nb.engine.apply import apply
from liman_nb.engine.decide import RunResult, cancel_row, ended_row, runnable, turn_row
from liman_nb.engine.ids import root_id
from liman_nb.engine.join_plans import Joins
from liman_nb.engine.tree import ENDED, UNKNOWN_TOOL, Executor, Tree
from liman_nb.errors import SpecError
from liman_nb.specs.check import load_graph
from liman_nb.specs.graph import Graph
from liman_nb.state.rows import (
    AnswerRow,
    AskRow,
    CallRecord,
    ErrorRecord,
    QuestionRecord,
    TransitionRecord,
    dump_row,
    load_row,
)

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
"""A random walk takes a while to draw where other tests keep the processor busy."""

NOW = "2026-01-01T00:00:00.000Z"
ROOT = root_id("", "test", "s")
BOOM = ErrorRecord(type="ValueError", message="boom")


def joined(sources: list[str], draw) -> str:
    """A random ``wait_for`` of sources."""
    if len(sources) == 1:
        return sources[0] + draw(st.sampled_from(["", "?"]))
    cut = draw(st.integers(1, len(sources) - 1))
    word = draw(st.sampled_from([" and ", " or "]))
    return f"({joined(sources[:cut], draw)}{word}{joined(sources[cut:], draw)})"


@st.composite
def graphs(draw) -> Graph:
    """Small graphs with edges in any direction, up to three joins, and tools with branches."""
    names = "abcdefg"[: draw(st.integers(3, 7))]
    some = st.sampled_from(names)
    edges = [(draw(st.sampled_from(names[:i])), names[i]) for i in range(1, len(names))]
    joins = draw(st.lists(st.sampled_from(names[1:]), min_size=1, max_size=3, unique=True))
    for join in joins:
        edges += [(source, join) for source in draw(st.lists(some, min_size=1, max_size=2))]
    edges += draw(st.lists(st.tuples(some, some), max_size=4))
    edges = [
        (source, target) for source, target in edges if source != target or target not in joins
    ]
    plain = [n for n in names if n not in joins]
    model = draw(st.sampled_from([None, None, *plain]))
    tools = draw(st.lists(st.sampled_from(plain), max_size=3, unique=True)) if model else []
    documents = []
    for name in names:
        targets = [target for source, target in edges if source == name]
        document = {"kind": "FunctionNode", "name": name, "func": "f", "edges": targets}
        if name == model:
            document = {"kind": "LLMNode", "name": name, "tools": tools, "edges": targets}
        elif name in tools:
            document["kind"] = "ToolNode"
        if name in joins:
            sources = list(dict.fromkeys(s for s, target in edges if target == name))
            document["wait_for"] = joined(draw(st.permutations(sources)), draw)
        documents.append(document)
    entry = draw(st.sampled_from("a" * 9 + names))
    try:
        return load_graph(documents, start_node=entry, supplied_functions=["f"], strict=False)
    except SpecError:  # a tool that leads back to its model, for one
        assume(False)
        raise


def way(tree: Tree, executor: Executor) -> str:
    """The name that the model gives to an executor."""
    if executor.parent in (None, tree.root):
        return "top"
    return f"{way(tree, tree.executors[executor.parent])} {executor.parent_run}/{executor.via}"


@dataclass(repr=False)
class Walk:
    """A turn under way, in the engine's tree and in the model."""

    graph: Graph
    tree: Tree = field(default_factory=lambda: Tree("s", ROOT))
    rows: list = field(default_factory=list)
    story: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.joins = Joins(self.graph)
        self.model = Model(self.graph, self.graph.entry)
        self.exclusive = {n.name for n in self.graph.nodes.values() if n.kind == "LLMNode"}
        self.add(turn_row(self.graph, self.tree, self.graph.entry, "hi", NOW))

    def add(self, row) -> None:
        """Apply a row as it comes out of a journal."""
        row = load_row(dump_row(row))
        apply(self.tree, row)
        self.rows.append(row)

    def ready(self) -> list[str]:
        """What may run."""
        return runnable(self.tree, self.exclusive, [], 99)

    @property
    def is_open(self) -> bool:
        """Whether the turn has not ended."""
        return self.tree.status not in ENDED

    def may_ask(self, identity: str) -> bool:
        """Whether it is a tool or a function: a model asks nobody."""
        return self.tree.executors[identity].node_type in ("ToolNode", "FunctionNode")

    def ask(self, identity: str, state: dict | None, kind: str = "function") -> None:
        """An executor asks a person; joins see no difference to one that still runs."""
        question = QuestionRecord(kind=kind, text="?")
        self.add(AskRow(kind="ask", at=NOW, executor=identity, question=question, state=state))

    def answer(self, identity: str) -> None:
        """A person answers."""
        self.add(AnswerRow(kind="answer", at=NOW, executor=identity, value="!"))

    def run(self, identity: str, *targets: str, calls: tuple[str, ...] = (), fails=False) -> None:
        """A run that ends with these edges fired, or these calls made."""
        executor = self.tree.executors[identity]
        name, left = way(self.tree, executor), list(targets)
        edges = self.graph.nodes[executor.node].edges
        transitions = []
        for edge in edges if not calls else ():
            fires = edge.target in left
            if fires:
                left.remove(edge.target)
            outcome = "fired" if fires else "not fired"
            transitions.append(TransitionRecord(edge=edge.id, target=edge.target, outcome=outcome))
        records = tuple(CallRecord(id=f"c{i}", name=n) for i, n in enumerate(calls))
        result = RunResult(
            output=None if calls or fails else executor.node,
            error=BOOM if fails else None,
            calls=records,
            transitions=tuple(transitions),
        )
        self.add(ended_row(self.graph, self.joins, self.tree, executor, result, NOW))
        fired = [(t.edge, t.target) for t in transitions if t.outcome == "fired"]
        self.model.ran(name, fired, [(f"{i}:c{i}", n) for i, n in enumerate(calls)])
        self.story.append(f"{name} ({executor.node}): {', '.join(calls or targets) or 'ends'}")

    def __repr__(self) -> str:
        nodes = [
            f"{n.name}{' waits for ' + n.join.text if n.join else ''} -> "
            f"{', '.join(e.target for e in n.edges)}{' calls ' if n.tools else ''}"
            f"{', '.join(n.tools)}"
            for n in self.graph.nodes.values()
        ]
        return "\n".join([*nodes, f"entered at {self.graph.entry}", *self.story])

    def compare(self) -> None:
        """Engine and model agree on what exists, what is open, and on every join."""
        tree = self.tree
        ways = {e.id: way(tree, e) for e in tree.executors.values() if e.id != tree.root}
        joins = {
            (ways[fork], run, node): (
                {s: ways[i] for s, i in join.arrived.items()},
                [ways[i] for i in join.late],
                join.outcome,
            )
            for (fork, run, node), join in tree.turns[-1].joins.items()
        }
        model = self.model
        self._same(joins, {k: (w.arrived, w.late, w.outcome) for k, w in model.joins.items()})
        self._same(sorted(ways.values()), sorted(model.places))
        may_run = {*tree.idle, *tree.asking, *tree.held.values()}
        self._same({ways[i] for i in may_run}, {p.name for p in model.places.values() if p.open})

    def _same(self, found: object, expected: object) -> None:
        assert found == expected, f"\n{self}\nfound {found}\nexpected {expected}"


@st.composite
def walks(draw, most: int = 25) -> Walk:
    """A random graph and a random turn through it, compared with the model after every run."""
    walk = Walk(draw(graphs()))
    while walk.is_open:
        if draw(st.integers(0, 60)) == 0:
            walk.add(cancel_row("stopped", NOW))
            break
        identity = draw(st.sampled_from([*walk.ready(), *walk.tree.asking]))
        if identity in walk.tree.asking:
            walk.answer(identity)
        elif walk.may_ask(identity) and draw(st.integers(0, 9)) == 0:
            walk.ask(identity, draw(st.sampled_from([None, {"n": 1}])))
        else:
            _take(draw, walk, identity, tired=len(walk.rows) > most)
        walk.compare()
    return walk


def _take(draw, walk: Walk, identity: str, *, tired: bool) -> None:
    """A run of an executor, with random ends."""
    executor, nodes = walk.tree.executors[identity], walk.graph.nodes
    node, stranger = nodes[executor.node], executor.node_type == UNKNOWN_TOOL
    if walk.may_ask(identity) and draw(st.integers(0, 9)) == 0:
        walk.ask(identity, None, kind="crash")
    if node.kind == "LLMNode" and not stranger and not tired and executor.runs < 2:
        names = st.sampled_from([*node.tools * 5, *nodes])
        if calls := draw(st.lists(names, max_size=3)):
            return walk.run(identity, calls=tuple(calls))
    targets = [] if stranger else [e.target for e in node.edges]
    fires = [t for t in targets if (nodes[t].join or not tired) and draw(st.integers(0, 4))]
    return walk.run(identity, *fires, fails=draw(st.integers(0, 5)) == 0)
