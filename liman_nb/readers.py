"""What is read of an agent's sessions: each method gives a view and runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, overload

from liman_nb.engine.pending import open_questions
from liman_nb.engine.tree import Tree
from liman_nb.errors import UsageError
from liman_nb.inspection import explanation, session_view, sessions_page
from liman_nb.portal import Portal
from liman_nb.reception import Reception
from liman_nb.views.explanation import ExplanationView
from liman_nb.views.graph_view import GraphView
from liman_nb.views.history import HistoryView
from liman_nb.views.messages import MessagesView
from liman_nb.views.pending import PendingView
from liman_nb.views.session_view import SessionView
from liman_nb.views.sessions_view import SessionsView
from liman_nb.views.transitions import TransitionsView
from liman_nb.views.tree_view import TreeView
from liman_nb.views.yields import YieldsView
from liman_nb.workshop import Workshop

T = TypeVar("T")


class Readers:
    """The reading half of :class:`liman_nb.Agent`, synchronous and callable at any time.

    Without a ``session_id`` they read the opened session. They show what this kernel knows of it;
    ``await agent.open(session_id)`` takes what another kernel has stored since.
    """

    _workshop: Workshop
    _reception: Reception
    _portal: Portal

    @property
    def graph(self) -> GraphView:
        """The graph, with the opened session's latest statuses and outcomes."""
        graph = self._workshop.graph
        return self._read(None, lambda tree, running: GraphView(graph, tree, running))

    def tree(self, *, session_id: str | None = None) -> TreeView:
        """The executor tree of a session."""
        graph = self._workshop.graph
        return self._read(session_id, lambda *now: TreeView(*now, graph=graph))

    def messages(self, node: str, *, session_id: str | None = None) -> MessagesView:
        """The message history of an LLM node.

        Raises:
            UsageError: no such node.
        """
        name = self._workshop.node(node).name

        def view(tree: Tree, _: Collection[str]) -> MessagesView:
            actor = tree.actors.get(name)
            return MessagesView(name, actor.messages if actor else [])

        return self._read(session_id, view)

    def yields(self, *, session_id: str | None = None) -> YieldsView:
        """The latest structured output of each node that declares one."""
        graph = self._workshop.graph
        return self._read(session_id, lambda tree, _: YieldsView(graph, tree))

    def transitions(self, *, session_id: str | None = None) -> TransitionsView:
        """Every edge considered: its condition, the values it read, its outcome, and why."""
        graph = self._workshop.graph
        return self._read(session_id, lambda tree, _: TransitionsView(tree, graph=graph))

    def history(self, session_id: str | None = None) -> HistoryView:
        """The turns of a session and where it was forked from. Runs nothing."""
        return self._read(session_id, HistoryView)

    def session(self, session_id: str | None = None) -> SessionView:
        """A session's complete picture, in the words of LeafMesh's page on sessions.

        Conversation, yields, mesh communications, coordination analyses and decisions, as
        attributes; ``.to_dict()`` and ``.to_pandas()`` give them all. All but the conversation
        expire after the storage's ``record_ttl``; the view says how many have.

        Args:
            session_id: the session; the opened one when absent.

        Raises:
            StorageError: the storage cannot be read.
        """
        return self._read(session_id, partial(session_view, self._workshop))

    def sessions(self, *, page: int = 1, per_page: int = 20) -> SessionsView:
        """The sessions in the storage, the last used first; those of other agents are marked.

        For their status, the sessions of this agent that are on the page are read, which counts as
        a use where unused sessions expire.

        Args:
            page: which page, 1-based.
            per_page: sessions on a page, at most 1,000.

        Raises:
            UsageError: a page that cannot be, or a storage that cannot list its sessions.
            StorageError: the storage cannot be read.
        """
        return self._portal.run(sessions_page(self._workshop, page, per_page))

    @overload
    def explain(
        self, node: str, *, session_id: str | None = None, turn: int | None = None
    ) -> ExplanationView: ...
    @overload
    def explain(
        self, session_id: str, node: str, *, turn: int | None = None
    ) -> ExplanationView: ...
    def explain(
        self,
        *names: str,
        node: str | None = None,
        session_id: str | None = None,
        turn: int | None = None,
    ) -> ExplanationView:
        """Why each edge of a node fired, did not, or could not be decided.

        Call it with the node, or with the session and the node: ``explain("solver")``,
        ``explain("user_123", "solver")``.

        Args:
            names: the node's name; before it, if two are given, the session's id.
            node: the node's name.
            session_id: the session; the opened one when absent.
            turn: number of the turn, 1-based; the latest when absent.

        Raises:
            UsageError: no such node or turn, or other names than these.
            StorageError: the storage cannot be read.
        """
        *session, asked = (*names, *([] if node is None else [node])) or ("",)
        if not asked or len(session) + (session_id is not None) > 1:
            raise UsageError("explain(node), explain(node, session_id=…) or explain(session, node)")
        made = partial(explanation, self._workshop, node=asked, turn=turn)
        return self._read(session[0] if session else session_id, made)

    def pending(self, *, session_id: str | None = None) -> PendingView:
        """The questions of a session that wait for a person, in the order of asking."""
        return self._read(session_id, lambda *now: PendingView(open_questions(*now)))

    def requests(self, node: str, *, session_id: str | None = None) -> Sequence[Mapping[str, Any]]:
        """The exact requests sent to an LLM node's model by this object, oldest first.

        They are kept in memory only: a system prompt may hold values of the call's context.

        Raises:
            UsageError: no such node.
        """
        name = self._workshop.node(node).name
        known = self._reception.known(session_id)
        return self._workshop.requests.of(known.root, name) if known else []

    def _read(self, session_id: str | None, make: Callable[[Tree, Collection[str]], T]) -> T:
        """Something made of a session: of the opened one, or of one loaded for the purpose."""
        known = self._reception.known(session_id)
        if known is None:
            return make(Tree("", ""), ())
        session = self._workshop.sessions.opened(known.root)
        if session is None:
            session = self._portal.run(self._workshop.sessions.open(known.id, known.root))
        return session.read(make)
