"""Raw documents sorted by kind and name: what is known, what is an overlay, what stands twice."""

from __future__ import annotations

from dataclasses import dataclass, field

from liman_nb.errors import Place
from liman_nb.specs.bundles import Report, spread
from liman_nb.specs.documents import MODELS, NODE_KINDS
from liman_nb.specs.findings import Findings, did_you_mean, listed
from liman_nb.specs.loading import RawDocument
from liman_nb.specs.located import Located, in_words
from liman_nb.specs.mesh import MeshSettings, is_mesh, read_agents, read_settings
from liman_nb.specs.overlays import Overlay, read_overlay
from liman_nb.specs.references import (
    KIND_ALIASES,
    NAME_RULE,
    TOOL_NAME_RULE,
    a_kind,
    is_name,
    true_kind,
)
from liman_nb.specs.validation import IN_CODE

Key = tuple[str, str]
"""Kind and name of a document."""


@dataclass(slots=True)
class Recogniser:
    """Sorts documents by kind and name.

    Attributes:
        findings: where problems go.
        language: the language of texts without one.
        trees: the documents that are no overlays.
        overlays: the overlays.
        seen: kind and name of everything that has both, and where it stands.
        kindless: names of documents whose kind is missing or unknown.
        mesh: what mesh documents say about the graph as a whole.
    """

    findings: Findings
    language: str
    trees: dict[Key, Located] = field(default_factory=dict)
    overlays: list[Overlay] = field(default_factory=list)
    seen: dict[Key, Place] = field(default_factory=dict)
    kindless: set[str] = field(default_factory=set)
    mesh: MeshSettings = field(default_factory=MeshSettings)

    @property
    def names(self) -> set[str]:
        """The names of all documents, whether they are valid or not."""
        return {name for _, name in self.seen} | self.kindless

    def add(self, raw: RawDocument) -> None:
        """Add a document, or report why it is none."""
        tree = raw.tree
        if not tree.is_mapping:
            message = (
                f"a document is a mapping with 'kind' and 'name', this is {in_words(tree.plain())}"
            )
            self.findings.error(message, tree.place)
            return
        if is_mesh(tree):
            self._add_mesh(tree)
            return
        kind = self._kind(tree)
        if kind == "Overlay":
            tree = spread(tree, raw.language or self.language, self._report("Overlay"))
            overlay = read_overlay(tree, raw.order, self.findings)
            self.overlays += [overlay] if overlay else []
        elif kind:
            self._add_named(kind, tree)
        else:
            self._add_kindless(tree)

    def _add_mesh(self, tree: Located) -> None:
        self.mesh = self.mesh.with_more(read_settings(tree, self.findings))
        for node in read_agents(tree, self.findings):
            kind = node.fields.get("kind")
            if kind and kind.text:
                self._add_named(kind.text, node)
            else:
                self._add_kindless(node)

    def _add_kindless(self, tree: Located) -> None:
        name = tree.fields.get("name")
        if name and name.text:
            self.kindless.add(name.text)

    def _kind(self, tree: Located) -> str:
        """The document's kind; empty if it has none that is known."""
        kind = tree.fields.get("kind")
        if kind is None:
            self._no_kind(tree)
            return ""
        if kind.text is None:
            message = f"kind: a text is expected, this is {in_words(kind.plain())}"
            self.findings.error(message, kind.place)
            return ""
        true = true_kind(kind.text)
        if true in MODELS or true == "Overlay":
            return true
        known = [*MODELS, "Overlay", *KIND_ALIASES]
        hint = did_you_mean(kind.text, known) or f"the kinds are {listed([*MODELS, 'Overlay'])}"
        if "agents" in tree.fields:
            hint = "a mesh document has 'agents' and no 'kind'"
        self.findings.refuse(f"unknown kind {kind.text!r}", kind.place, hint=hint)
        return ""

    def _no_kind(self, tree: Located) -> None:
        misplaced = [name for name in tree.fields if name in IN_CODE]
        for name in misplaced:
            place = tree.fields[name].key or tree.place
            self.findings.error(f"unknown field {name!r}", place, hint=IN_CODE[name])
        if not misplaced:
            hint = f"start with one of {listed([*MODELS, 'Overlay'])}, or with 'agents'"
            self.findings.error("this document has no 'kind'", tree.place, hint=hint)

    def _add_named(self, kind: str, tree: Located) -> None:
        name = tree.fields.get("name")
        if name is None or name.value is None:
            self.findings.error("this document has no 'name'", tree.place, kind)
            return
        if name.text is None:
            message = f"name: a text is expected, this is {in_words(name.plain())}"
            self.findings.error(message, name.place, kind, "put it in quotes")
            return
        if not is_name(name.text, kind):
            rule = TOOL_NAME_RULE if kind == "ToolNode" else NAME_RULE
            self.findings.error(f"the name {name.text!r} is not allowed", name.place, kind, rule)
        if self._is_new(kind, name.text, name.place):
            subject = f"{kind} {name.text}"
            written = {**tree.fields, "kind": tree.fields["kind"].with_value(kind)}
            self.trees[kind, name.text] = spread(
                tree.with_value(written), self.language, self._report(subject)
            )

    def _is_new(self, kind: str, name: str, place: Place) -> bool:
        """Whether no document has this name; all nodes share their names."""
        rivals = NODE_KINDS if kind in NODE_KINDS else (kind,)
        for rival in rivals:
            first = self.seen.get((rival, name))
            if first:
                which = f"another {rival}" if rival == kind else a_kind(rival)
                message = f"{which} has the name {name!r} too; it is at {first}"
                self.findings.error(message, place, f"{kind} {name}")
                return False
        self.seen[kind, name] = place
        return True

    def _report(self, subject: str) -> Report:
        return lambda message, place, hint: self.findings.error(message, place, subject, hint)
