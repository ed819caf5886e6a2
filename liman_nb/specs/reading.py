"""From sources to documents: recognised, overlays applied, in one language, validated.

Every document is checked by itself here; how they fit together is checked when they are linked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from liman_nb.errors import Place, Problem, YieldsError
from liman_nb.specs.bundles import choose
from liman_nb.specs.documents import MODELS, NODE_KINDS, Spec
from liman_nb.specs.edges import EDGE_FIELDS, WrittenEdge, read_edges
from liman_nb.specs.findings import Findings
from liman_nb.specs.join_notation import FIELD as WAIT_FOR
from liman_nb.specs.join_notation import WrittenJoin, read_join
from liman_nb.specs.languages import DEFAULT_LANGUAGE, stand_ins
from liman_nb.specs.liman_types import as_arguments, as_yields
from liman_nb.specs.loading import Source, read_sources
from liman_nb.specs.located import Located, Path, in_words, path_text
from liman_nb.specs.mesh import MeshSettings
from liman_nb.specs.not_run import not_run, without_foreign
from liman_nb.specs.overlays import apply_overlays
from liman_nb.specs.recognising import Recogniser
from liman_nb.specs.shape_notation import ShapeReader
from liman_nb.specs.templates import template_names
from liman_nb.specs.validation import validate
from liman_nb.specs.yields import YieldsSchema, parse_yields


@dataclass(frozen=True, slots=True)
class Document:
    """One valid document.

    Attributes:
        spec: its fields.
        edges: its edges, for a node.
        yields: its declared output, for a node that declares one.
        tree: the document with its places, as it was validated.
        join: what it waits for, for a node that waits.
    """

    spec: Spec
    edges: tuple[WrittenEdge, ...]
    yields: YieldsSchema | None
    tree: Located
    join: WrittenJoin | None = None

    @property
    def subject(self) -> str:
        """How problems call it: ``LLMNode chat``."""
        return f"{self.spec.kind} {self.spec.name}"


@dataclass(frozen=True, slots=True)
class Documents:
    """Everything that was read.

    Attributes:
        items: the valid documents, in the order of the sources.
        unread: names of documents that are there and not valid, so that what refers to them is not
            reported as well.
        warnings: what was found that does not stop loading.
        mesh: what mesh documents say about the graph as a whole.
    """

    items: tuple[Document, ...]
    unread: frozenset[str] = frozenset()
    warnings: tuple[Problem, ...] = field(default=(), compare=False)
    mesh: MeshSettings = field(default_factory=MeshSettings)

    def of_kind(self, *kinds: str) -> Iterator[Document]:
        """The documents of some kinds."""
        return (d for d in self.items if d.spec.kind in kinds)


def load_specs(
    source: Source,
    *,
    language: str | None = None,
    fallback_language: str = DEFAULT_LANGUAGE,
    strict: bool = True,
) -> Documents:
    """Read specs. Imports and runs nothing.

    Args:
        source: a folder (all its ``.yaml``, ``.yml``, ``.json`` files), a file, a YAML or JSON
            text, a mapping, or a list of them.
        language: which texts to take, such as ``de`` or ``de-AT``; ``None`` for the fallback's.
        fallback_language: which texts to take where there are none in that language, and the
            language of texts without one.
        strict: whether what can be left out (an unknown field or kind, an overlay without target,
            an edge whose condition does not parse) is an error rather than a warning.

    Raises:
        SpecError: with every error of every document.
        UsageError: a language that is none.
    """
    findings = Findings(strict=strict)
    documents = read_documents(source, findings, language, fallback_language)
    findings.raise_errors()
    return replace(documents, warnings=findings.warnings)


def read_documents(
    source: Source, findings: Findings, language: str | None, fallback_language: str
) -> Documents:
    """Read specs, as :func:`load_specs` does, without raising what is found."""
    languages = stand_ins(language, fallback_language)
    recognised = Recogniser(findings, fallback_language)
    for raw in read_sources(source, findings):
        recognised.add(raw)
    trees = apply_overlays(recognised.trees, recognised.overlays, findings)
    items = []
    for (kind, name), tree in trees.items():
        document = _Checker(kind, name, findings).document(tree, languages)
        if document:
            items.append(document)
    unread = frozenset(recognised.names - {d.spec.name for d in items})
    return Documents(tuple(items), unread, mesh=recognised.mesh)


@dataclass(frozen=True, slots=True)
class _Checker:
    kind: str
    name: str
    findings: Findings

    @property
    def subject(self) -> str:
        return f"{self.kind} {self.name}"

    def document(self, tree: Located, languages: tuple[str, ...]) -> Document | None:
        written = choose(tree, languages, self._error)
        written = written.without(*(k for k, v in written.fields.items() if v.value is None))
        tree = without_foreign(self.kind, written)
        edges: tuple[WrittenEdge, ...] = ()
        if self.kind in NODE_KINDS:
            edges = read_edges(tree, self.name, self.subject, self.findings)
            tree = self._in_common_types(tree).without(*EDGE_FIELDS)
        self._check_prompts(tree)
        self._check_templates(tree)
        spec = validate(MODELS[self.kind], tree, self.subject, self.findings)
        self._check_arguments(tree)
        self._check_inputs(tree)
        yields = self._yields(tree)
        self._check_fallback(tree, yields)
        join = self._join(tree)
        if spec is None:
            return None
        for message, where in not_run(self.kind, written):
            self.findings.warn(message, where.key or where.place, self.subject)
        return Document(spec, edges, yields, tree, join)

    def _error(self, message: str, place: Place, hint: str = "") -> None:
        self.findings.error(message, place, self.subject, hint)

    def _in_common_types(self, tree: Located) -> Located:
        """The document with Liman's notations of types in the common one."""
        fields = dict(tree.fields)
        if self.kind == "ToolNode" and "arguments" in fields:
            fields["arguments"] = as_arguments(fields["arguments"])
        liman = fields.pop("structured_output", None)
        if liman and "yields" in fields:
            message = "'yields' and 'structured_output' are the same; write one of them"
            self._error(message, liman.key or liman.place)
        elif liman:
            fields["yields"] = as_yields(liman)
        return tree.with_value(fields)

    def _yields(self, tree: Located) -> YieldsSchema | None:
        declared = tree.fields.get("yields")
        return parse_yields(declared.plain(), self._at(declared, "yields")) if declared else None

    def _check_fallback(self, tree: Located, yields: YieldsSchema | None) -> None:
        """A person's answer must fit the node's yields, and so must what stands in for one."""
        fallback = tree.fields.get("fallback")
        if self.kind != "HumanNode" or fallback is None or yields is None:
            return
        try:
            yields.validate(fallback.plain())
        except YieldsError as error:
            message = f"fallback does not fit the yields: {'; '.join(error.errors)}"
            self._error(message, fallback.key or fallback.place)

    def _join(self, tree: Located) -> WrittenJoin | None:
        waits = WAIT_FOR in MODELS[self.kind].model_fields
        return read_join(tree, self.subject, self.findings) if waits else None

    def _check_arguments(self, tree: Located) -> None:
        declared = tree.fields.get("arguments")
        if self.kind == "ToolNode" and declared and declared.value is not None:
            report = self._at(declared, "arguments")
            ShapeReader(report, _argument_name_problem).fields(declared.plain())

    def _check_inputs(self, tree: Located) -> None:
        declared = tree.fields.get("inputs")
        if self.kind in NODE_KINDS and declared:
            ShapeReader(self._at(declared, "inputs"), _input_name_problem).fields(declared.plain())

    def _at(self, part: Located, field: str) -> Callable[[Path, str, str], None]:
        """Reports what is wrong inside a field, at its place."""

        def report(path: Path, message: str, hint: str) -> None:
            where = part.at(path)
            place = where.place if len(path) == 0 else where.key or where.place
            self._error(f"{path_text((field, *path))}: {message}", place, hint)

        return report

    def _check_prompts(self, tree: Located) -> None:
        for path, prompt in _leaves(tree.fields.get("prompts"), ("prompts",)):
            if prompt.text is None and prompt.value is not None and len(path) > 1:
                found = in_words(prompt.plain())
                message = f"{path_text(path)}: a text is expected, this is {found}"
                self._error(message, prompt.place)

    def _check_templates(self, tree: Located) -> None:
        """Only a system prompt may name the context: it is rendered for each call, never stored."""
        for path, template in _templates(tree):
            if path == ("prompts", "system") and self.kind == "LLMNode":
                continue
            for name in template_names(template.text or ""):
                if name.split(".")[0] == "context":
                    self._error(
                        f"{path_text(path)} names {{{name}}}; only an LLMNode's system prompt may "
                        "name the context",
                        template.place,
                        "what else is filled in is stored, and the context never is",
                    )


def _argument_name_problem(name: str, _: bool) -> str:
    return "" if name.strip() else "an argument needs a name"


def _input_name_problem(name: str, _: bool) -> str:
    return "" if name.strip() else "an input needs a name"


def _templates(tree: Located) -> Iterator[tuple[Path, Located]]:
    for name in ("prompts", "question", "tool_prompt_template"):
        yield from _leaves(tree.fields.get(name), (name,))


def _leaves(tree: Located | None, path: Path) -> Iterator[tuple[Path, Located]]:
    if tree is None:
        return
    if not tree.fields:
        yield path, tree
    for name, child in tree.fields.items():
        yield from _leaves(child, (*path, name))
