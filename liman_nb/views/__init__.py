"""What is shown: static HTML, text and drawings. Everything foreign is escaped in one place."""

from liman_nb.views.bundles import View, ViewWarning
from liman_nb.views.explanation import ExplanationView
from liman_nb.views.graph_view import GraphView
from liman_nb.views.history import HistoryView, TurnInfo
from liman_nb.views.messages import MessagesView
from liman_nb.views.pending import PendingView
from liman_nb.views.record import AgentView, ResultView
from liman_nb.views.session_view import SessionView
from liman_nb.views.sessions_view import SessionRow, SessionsView
from liman_nb.views.transitions import Transition, TransitionsView
from liman_nb.views.tree_view import TreeView
from liman_nb.views.yields import YieldsView

__all__ = [
    "AgentView",
    "ExplanationView",
    "GraphView",
    "HistoryView",
    "MessagesView",
    "PendingView",
    "ResultView",
    "SessionRow",
    "SessionView",
    "SessionsView",
    "Transition",
    "TransitionsView",
    "TreeView",
    "TurnInfo",
    "View",
    "ViewWarning",
    "YieldsView",
]
