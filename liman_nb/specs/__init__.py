"""Specs: documents, conditions, yields, loading, and the graph they form. Runs no user code."""

from liman_nb.specs.check import check_specs, load_graph
from liman_nb.specs.documents import SuppliedTool
from liman_nb.specs.graph import Edge, Graph, Node
from liman_nb.specs.linking import build_graph
from liman_nb.specs.reading import Document, Documents, load_specs

__all__ = [
    "Document",
    "Documents",
    "Edge",
    "Graph",
    "Node",
    "SuppliedTool",
    "build_graph",
    "check_specs",
    "load_graph",
    "load_specs",
]
