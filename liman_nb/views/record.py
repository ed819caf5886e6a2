"""The static record of an agent's session, and of one turn: what is worth keeping, on one card."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from liman_nb.engine.pending import open_questions
from liman_nb.engine.tree import Tree
from liman_nb.specs.graph import Graph
from liman_nb.views.bundles import View
from liman_nb.views.conversation import TURNS_LIMIT, Conversation, conversation
from liman_nb.views.elements import (
    card,
    count,
    folded,
    header,
    more,
    part,
    section,
    status_chip,
    tag,
    text_block,
)
from liman_nb.views.escape import one_line
from liman_nb.views.graph_view import GraphView
from liman_nb.views.history import lineage_text
from liman_nb.views.messages import MessagesView
from liman_nb.views.moments import stamp
from liman_nb.views.palette import StatusWord
from liman_nb.views.pending import PendingView
from liman_nb.views.statuses import session_status
from liman_nb.views.transitions import TransitionsView
from liman_nb.views.tree_view import TreeView
from liman_nb.views.yields import YieldsView

_NODES_LIMIT = 30
_MESSAGES_LIMIT = 10
_MESSAGE_CAP = 1_500
_WARNINGS_LIMIT = 20


class AgentView(View):
    """An agent and its opened session."""

    def __init__(
        self,
        name: str,
        graph: Graph,
        tree: Tree,
        *,
        recorded: datetime | None = None,
        running: Collection[str] = (),
    ) -> None:
        """Take a session as it is now.

        Args:
            name: the agent's name.
            graph: the checked specs.
            tree: the opened session; empty before its first turn.
            recorded: now; shown, since a saved record may be read much later.
            running: ids of the executors that run at this moment.
        """
        self._head = _head(name, tree, recorded, running)
        self._pending = PendingView(open_questions(tree, running))
        self._graph = GraphView(graph, tree, running)
        self._session = _session(graph, tree, running) if tree.turns else None
        self._warnings = tuple(map(str, graph.warnings))

    def text(self) -> str:
        """The head, what is asked, what was said in the latest turns, and the tree.

        Before the first turn, the graph.
        """
        asked = [self._pending.text()] if self._pending else []
        body = self._session.text() if self._session else self._graph.text()
        warnings = (f"warning: {w}" for w in self._warnings)
        return "\n".join([self._head.text(), *asked, body, *warnings])

    def html(self) -> Markup:
        """A card with what is asked, the graph and, after the first turn, all about the session."""
        graph = section("Graph", self._graph.body(), is_open=True)
        session = self._session.parts() if self._session else ()
        head = (self._head.html(), *_asked(self._pending))
        return card(*head, graph, *session, *_warnings(self._warnings))


class UnreadableView(View):
    """An agent whose opened session cannot be read: its graph, and what is wrong."""

    def __init__(self, name: str, graph: Graph, problem: str) -> None:
        """Take what is known.

        Args:
            name: the agent's name.
            graph: the checked specs.
            problem: why the session cannot be read.
        """
        self._name, self._graph, self._problem = one_line(name), GraphView(graph), problem

    def text(self) -> str:
        """The problem, and the graph."""
        return f"{self._name} - session not readable: {self._problem}\n{self._graph.text()}"

    def html(self) -> Markup:
        """A card with the same."""
        problem = text_block(f"The session cannot be read: {self._problem}")
        graph = section("Graph", self._graph.body(), is_open=True)
        return card(header(self._name, Markup(""), ""), part(problem), graph)


class ResultView(View):
    """One turn, the latest of its session."""

    def __init__(
        self, name: str, graph: Graph, tree: Tree, *, recorded: datetime | None = None
    ) -> None:
        """Take the latest turn as it is now.

        Args:
            name: the agent's name.
            graph: the checked specs.
            tree: the session; it has a turn.
            recorded: now; shown, since a saved record may be read much later.
        """
        self._head = _head(name, tree, recorded, (), latest_only=True)
        self._pending = PendingView(open_questions(tree))
        self._graph = GraphView(graph, tree)
        self._session = _session(graph, tree, (), latest_only=True)

    def text(self) -> str:
        """The head, what is asked, what was said, and the turn's executors."""
        asked = [self._pending.text()] if self._pending else []
        return "\n".join([self._head.text(), *asked, self._session.text()])

    def html(self) -> Markup:
        """A card with what is asked, what was said and, folded, how it came about."""
        said, *others = self._session.parts()
        head = (self._head.html(), *_asked(self._pending))
        return card(*head, said, section("Graph", self._graph.body()), *others)


@dataclass(frozen=True, slots=True)
class _Head:
    """The agent's name with the session's id; the latest turn's status; some facts in words."""

    title: str
    status: StatusWord
    facts: str

    def text(self) -> str:
        return f"{self.title} - {self.status.upper()} ({self.facts})"

    def html(self) -> Markup:
        return header(self.title, status_chip(self.status), self.facts)


@dataclass(frozen=True, slots=True)
class _Session:
    """What a record keeps of a session, or of its latest turn."""

    said: Conversation
    tree: TreeView
    transitions: TransitionsView
    yields: YieldsView
    messages: tuple[MessagesView, ...]

    def text(self) -> str:
        return f"{self.said.text()}\n{self.tree.text()}"

    def parts(self) -> Iterator[Markup]:
        yield section("Conversation", self.said.html(), is_open=True)
        yield section(f"Executors ({self.tree.total:,})", self.tree.body())
        yield section(f"Why: transitions ({len(self.transitions):,})", self.transitions.body())
        if self.messages:
            yield section("Messages by node", *_histories(self.messages))
        if self.yields:
            yield section(f"Yields ({len(self.yields):,})", self.yields.body())


def _session(
    graph: Graph, tree: Tree, running: Collection[str], *, latest_only: bool = False
) -> _Session:
    turn = tree.turns[-1].number if latest_only else None
    actors = () if latest_only else [a for a in tree.actors.values() if a.messages]
    return _Session(
        conversation(tree, 1 if latest_only else TURNS_LIMIT, running),
        TreeView(tree, running, latest_only=latest_only, graph=graph),
        TransitionsView(tree, turn, graph=graph),
        YieldsView(graph, tree, turn),
        tuple(MessagesView(actor.node, actor.messages) for actor in actors),
    )


def _asked(pending: PendingView) -> Iterator[Markup]:
    """What waits for a person: right at the top, and always in sight."""
    if pending:
        yield part(pending.body())


def _warnings(warnings: Sequence[str]) -> Iterator[Markup]:
    """What loads and is probably not meant; open, since nothing else shows it."""
    if warnings:
        title = f"Warnings about the specs ({len(warnings):,})"
        shown = [text_block(w) for w in warnings[:_WARNINGS_LIMIT]]
        rest = more(len(warnings) - _WARNINGS_LIMIT, "warnings; agent.check() lists them")
        yield section(title, *shown, rest, is_open=True)


def _histories(views: Sequence[MessagesView]) -> Iterator[Markup]:
    for view in views[:_NODES_LIMIT]:
        title = f"{one_line(view.node)} ({len(view):,})"
        body = tag("div", view.body(_MESSAGES_LIMIT, _MESSAGE_CAP), style="padding:6px 0 0 14px")
        yield folded(title, body, style="padding:2px 0")
    yield more(len(views) - _NODES_LIMIT, "more nodes")


def _head(
    name: str,
    tree: Tree,
    recorded: datetime | None,
    running: Collection[str],
    *,
    latest_only: bool = False,
) -> _Head:
    when = [lineage_text(tree), f"recorded {stamp(recorded)}" if recorded else ""]
    if not tree.turns:
        return _Head(one_line(name), "waiting", " · ".join(filter(None, ["no turn yet", *when])))
    turns = tree.turns[-1:] if latest_only else tree.turns
    executors = [e for e in tree.executors.values() if e.id != tree.root]
    members = [e for e in executors if e.turn >= turns[0].number]
    title = f"{one_line(name)}/{one_line(tree.session_id)}"
    facts = [
        f"turn {turns[0].number:,}" if latest_only else count(len(turns), "turn"),
        count(sum(turn.runs for turn in turns), "node run"),
        count(sum(e.input_tokens + e.output_tokens for e in members), "token"),
        *when,
    ]
    return _Head(title, session_status(tree, running), " · ".join(filter(None, facts)))
