"""Specs checked as a whole: every error and every warning at once, or the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from liman_nb.errors import Problem
from liman_nb.specs.documents import SuppliedTool
from liman_nb.specs.findings import Findings
from liman_nb.specs.graph import Graph
from liman_nb.specs.languages import DEFAULT_LANGUAGE
from liman_nb.specs.linking import Supplied, link
from liman_nb.specs.loading import Source
from liman_nb.specs.reading import read_documents


def check_specs(
    source: Source,
    *,
    language: str | None = None,
    fallback_language: str = DEFAULT_LANGUAGE,
    start_node: str | None = None,
    supplied_tools: Sequence[SuppliedTool] = (),
    supplied_functions: Iterable[str] = (),
    allow_imports: Sequence[str] = (),
) -> list[Problem]:
    """Every error and warning of some specs, by file and line. Imports and runs nothing.

    Takes what :func:`liman_nb.specs.reading.load_specs` and
    :func:`liman_nb.specs.linking.build_graph` take.

    Raises:
        UsageError: a language that is none.
    """
    findings = Findings()
    supplied = Supplied(start_node, supplied_tools, frozenset(supplied_functions), allow_imports)
    documents = read_documents(source, findings, language, fallback_language)
    link(documents, supplied, findings)
    return list(findings.problems)


def load_graph(  # noqa: PLR0913 - what an agent is made with, passed on
    source: Source,
    *,
    language: str | None = None,
    fallback_language: str = DEFAULT_LANGUAGE,
    start_node: str | None = None,
    supplied_tools: Sequence[SuppliedTool] = (),
    supplied_functions: Iterable[str] = (),
    allow_imports: Sequence[str] = (),
    strict: bool = True,
) -> Graph:
    """Read and link specs in one go, so that the errors of both steps are reported together.

    Takes what :func:`liman_nb.specs.reading.load_specs` and
    :func:`liman_nb.specs.linking.build_graph` take.

    Raises:
        SpecError: with every error.
        UsageError: a language that is none.
    """
    findings = Findings(strict=strict)
    supplied = Supplied(start_node, supplied_tools, frozenset(supplied_functions), allow_imports)
    documents = read_documents(source, findings, language, fallback_language)
    graph = link(documents, supplied, findings)
    findings.raise_errors()
    assert graph is not None, "no graph and no error"
    return replace(graph, warnings=findings.warnings)
