"""What joins do, written down once more from the rules and as naively as possible.

Everything is looked at again after every event: dominators by taking nodes out, reach by walking,
joins until nothing changes. Executors have the names of the ways that lead to them.
"""

from dataclasses import dataclass, field

from liman_nb.specs.graph import Graph
from liman_nb.specs.joins import AllOf, Rule, Source


def holds(rule: Rule, arrived: set[str], gone: set[str]) -> bool | None:
    """Kleene's logic: a source that arrived is true, one that is gone false, unless optional."""
    if isinstance(rule, Source):
        if rule.name in arrived:
            return True
        return rule.optional if rule.name in gone else None
    parts = [holds(part, arrived, gone) for part in rule.parts]
    if isinstance(rule, AllOf):
        return False if False in parts else (None if None in parts else True)
    return True if True in parts else (None if None in parts else False)


@dataclass
class Place:
    """An executor."""

    name: str
    node: str
    above: "Place | None"
    of_run: int
    runs: int = 0
    open: bool = True
    stranger: bool = False


@dataclass
class Waiting:
    """A join that something has arrived at."""

    fork: Place
    run: int
    node: str
    arrived: dict[str, str] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)
    outcome: str = "waits"


class Model:
    """A turn through a graph.

    Args:
        graph: the graph.
        entry: name of the node it enters at.
    """

    def __init__(self, graph: Graph, entry: str) -> None:
        self.graph, self.entry = graph, entry
        self.ways = {n.name: [*(e.target for e in n.edges), *n.tools] for n in graph.nodes.values()}
        self.top = Place("top", entry, None, 1)
        self.places = {"top": self.top}
        self.joins: dict[tuple[str, int, str], Waiting] = {}

    # ── the graph ────────────────────────────────────────────────────────────────────────────────

    def _reached(self, start: str, without: set[str]) -> set[str]:
        if start in without:
            return set()
        found, todo = {start}, [start]
        while todo:
            for target in self.ways[todo.pop()]:
                if target not in found and target not in without:
                    found.add(target)
                    todo.append(target)
        return found

    def fork_node(self, join: str) -> str:
        """The node nearest to the sources that stands on every way from the entry to each."""
        everything = self._reached(self.entry, set())
        sources = [s for s in self.graph.nodes[join].join.sources if s in everything]
        common = [
            n
            for n in everything
            if all(s == n or s not in self._reached(self.entry, {n}) for s in sources)
        ]
        nearest = [
            n
            for n in common
            if all(m == n or n not in self._reached(self.entry, {m}) for m in common)
        ]
        (one,) = nearest
        return one

    # ── what happens ─────────────────────────────────────────────────────────────────────────────

    def ran(self, name: str, fired: list[tuple[str, str]], calls: list[tuple[str, str]]) -> None:
        """An executor ran: edges (id and target) fired, or tools (via and name) were called."""
        place = self.places[name]
        place.runs += 1
        for via, target in calls:
            stranger = target not in self.graph.nodes[place.node].tools
            self._begin(place, place.runs, via, target).stranger = stranger
        for via, target in fired:
            if self.graph.nodes[target].join is None:
                self._begin(place, place.runs, via, target)
        place.open = bool(calls)
        for target in dict.fromkeys(target for _, target in fired):
            if self.graph.nodes[target].join is not None:
                self._arrive(place, target)
        while self._something_follows():
            pass

    def _begin(self, above: Place, run: int, via: str, node: str) -> Place:
        name = f"{above.name} {run}/{via}"
        assert name not in self.places, "it starts twice"
        self.places[name] = Place(name, node, above, run)
        return self.places[name]

    def _arrive(self, place: Place, join: str) -> None:
        fork, run, node = place, place.runs, self.fork_node(join)
        while fork.node != node and fork.above is not None:
            fork, run = fork.above, fork.of_run
        waiting = self.joins.setdefault((fork.name, run, join), Waiting(fork, run, join))
        if waiting.outcome != "waits" or place.node in waiting.arrived:
            waiting.late.append(place.name)
        else:
            waiting.arrived[place.node] = place.name

    # ── what follows ─────────────────────────────────────────────────────────────────────────────

    def _something_follows(self) -> bool:
        waiting = [w for w in self.joins.values() if w.outcome == "waits"]
        for one in waiting:
            rule = self.graph.nodes[one.node].join.rule
            verdict = holds(rule, set(one.arrived), self._gone(one))
            if verdict is not None:
                self._settle(one, verdict)
                return True
        stuck = [w for w in waiting if not any(self._below(w, p) for p in self._open())]
        for one in stuck:
            if self._could_start(one):
                self._settle(one, True)
                return True
        for one in stuck:
            self._settle(one, False)
        return bool(stuck)

    def _settle(self, one: Waiting, starts: bool) -> None:
        one.outcome = "started" if starts else "halted"
        if starts:
            self._begin(one.fork, one.run, f"join:{one.node}", one.node)

    def _could_start(self, one: Waiting) -> bool:
        join = self.graph.nodes[one.node].join
        missing = set(join.sources) - set(one.arrived)
        return holds(join.rule, set(one.arrived), missing) is True

    def _open(self) -> list[Place]:
        return [p for p in self.places.values() if p.open and not p.stranger]

    def _below(self, one: Waiting, place: Place) -> bool:
        """Whether a place belongs to a branch of the join's fork, not to a later round of it."""
        while place.above is not None and place.node != one.fork.node:
            if place.above is one.fork and place.of_run == one.run:
                return True
            place = place.above
        return False

    def _gone(self, one: Waiting) -> set[str]:
        """The sources that nothing open below the fork can reach any more."""
        closed = {one.node, self.fork_node(one.node)}
        starts = [p.node for p in self._open() if self._below(one, p)]
        for other in self.joins.values():
            if other is not one and other.outcome == "waits":
                same = other.fork is one.fork and other.run == one.run
                if same or self._below(one, other.fork):
                    starts.append(other.node)
        reached = set().union(*(self._reached(s, closed) for s in starts))
        return set(self.graph.nodes[one.node].join.sources) - reached - set(one.arrived)
