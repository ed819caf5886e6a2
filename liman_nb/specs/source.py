"""YAML and JSON text to plain data, with the place of every part.

The data types are those of YAML 1.2's core schema (https://yaml.org/spec/1.2.2/#103-core-schema),
a little stricter: ``on``, ``off``, ``yes``, ``no``, dates, ``1_000`` and ``12:30`` are text, and so
is a number with a leading zero such as ``010``, which YAML 1.1 and 1.2 read differently. No tag
makes an object: pyyaml only composes the nodes, and this file turns them into values.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

from yaml.composer import Composer
from yaml.error import Mark, MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner
from yaml.tokens import ScalarToken

from liman_nb.errors import Place, Problem
from liman_nb.specs.findings import Findings
from liman_nb.specs.located import MAX_DEPTH, Located, Scalar, in_words, is_whole
from liman_nb.specs.syntax_words import explain_syntax

MAX_CHARACTERS = 1_000_000
"""Characters of one file or text."""

MAX_WEIGHT = 2_000_000
"""Size of one document with its aliases written out: its characters, and 16 for each value."""

_TAG = "tag:yaml.org,2002:"
_NUMBER_STARTS = list("-+.0123456789")


class _Loader(Reader, Scanner, Parser, Composer, BaseResolver):
    """Composes nodes and constructs nothing."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)
        self._depth = 0
        self._in_plain = False

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        """Compose one node, bounded in depth before Python's own recursion limit is."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise MarkedYAMLError(problem="too deep", problem_mark=self.get_mark())
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def scan_plain(self) -> ScalarToken:
        """Scan a text without quotes. In brackets it may hold a '?', as YAML 1.2 has it.

        pyyaml ends it there, so that ``[Is it cold?]`` and ``{note?: string}`` would not be read.
        """
        self._in_plain = True
        try:
            return super().scan_plain()
        finally:
            self._in_plain = False

    def peek(self, index: int = 0) -> str:
        """The character at an offset; any letter for a '?' inside a text without quotes."""
        character: str = super().peek(index)
        return "x" if character == "?" and self._in_plain else character


_Loader.add_implicit_resolver(
    _TAG + "null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)
_Loader.add_implicit_resolver(
    _TAG + "bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver(
    _TAG + "int",
    re.compile(r"^(?:[-+]?(?:0|[1-9][0-9]{0,99})|0o[0-7]{1,99}|0x[0-9a-fA-F]{1,99})$"),
    _NUMBER_STARTS,
)
_Loader.add_implicit_resolver(
    _TAG + "float",
    re.compile(
        r"^[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+]?[0-9]+)?"
        r"|(?:0|[1-9][0-9]*)[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+]?[0-9]+)?)$"
    ),
    _NUMBER_STARTS,
)


def read_text(text: str, file: str, findings: Findings) -> list[Located]:
    """Read the documents of a YAML or JSON text.

    Args:
        text: the text.
        file: its name in places.
        findings: told of everything that cannot be read.

    Returns:
        The documents that could be read and are not empty, in order.
    """
    if len(text) > MAX_CHARACTERS:
        findings.error(
            f"the text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read",
            Place(file),
        )
        return []
    documents: list[Located | None] = []
    try:
        loader = _Loader(text.removeprefix("\ufeff"))
        while loader.check_node():
            node = loader.get_node()
            if node and not _is_empty(node):
                documents.append(_Builder(file, findings).document(node))
    except ReaderError as error:
        findings.add(_unreadable_character(error, text, file))
    except YAMLError as error:
        findings.add(explain_syntax(error, file))
    else:
        if not documents:
            findings.error("there is no document: it is empty, or only comments", Place(file))
    return [d for d in documents if d]


def _is_empty(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == _TAG + "null"


def _unreadable_character(error: ReaderError, text: str, file: str) -> Problem:
    at = int(error.position)
    line_start = text.rfind("\n", 0, at) + 1
    place = Place(file, text.count("\n", 0, at) + 1, at - line_start + 1)
    code = ord(error.character) if isinstance(error.character, str) else error.character
    return Problem(f"the character U+{code:04X} is not allowed in YAML", place)


def _place(file: str, mark: Mark) -> Place:
    return Place(file, mark.line + 1, mark.column + 1)


class _RefusedError(Exception):
    """The whole document is refused; why is in the findings already."""


@dataclass(frozen=True, slots=True)
class _Built:
    located: Located
    weight: int
    height: int


@dataclass(slots=True)
class _Builder:
    """One document's nodes to values. An alias shares what its anchor became."""

    file: str
    findings: Findings
    built: dict[int, _Built] = field(default_factory=dict)
    under_way: set[int] = field(default_factory=set)

    def document(self, node: Node) -> Located | None:
        try:
            return self._build(node).located
        except _RefusedError:
            return None

    def _build(self, node: Node) -> _Built:
        known = self.built.get(id(node))
        if known:
            return known
        if id(node) in self.under_way:
            raise self._refused(node, "an alias stands inside the very value that it stands for")
        self.under_way.add(id(node))
        built = self._compose(node)
        self.under_way.discard(id(node))
        if built.weight > MAX_WEIGHT:
            raise self._refused(node, f"aliases make this larger than {MAX_WEIGHT:,} characters")
        if built.height > MAX_DEPTH:
            raise self._refused(node, f"aliases nest this deeper than {MAX_DEPTH} levels")
        self.built[id(node)] = built
        return built

    def _refused(self, node: Node, message: str) -> _RefusedError:
        self.findings.error(message, _place(self.file, node.start_mark))
        return _RefusedError()

    def _compose(self, node: Node) -> _Built:
        place = _place(self.file, node.start_mark)
        if isinstance(node, ScalarNode):
            value = self._scalar(node, place)
            return _Built(Located(value, place), 16 + len(node.value), 0)
        self._check_tag(node, place)
        if isinstance(node, SequenceNode):
            items = [self._build(child) for child in node.value]
            return _gathered(Located(tuple(b.located for b in items), place), items)
        children = self._fields(node) if isinstance(node, MappingNode) else {}
        fields = {key: built.located for key, built in children.items()}
        keys = sum(len(key) for key in fields)
        return _gathered(Located(fields, place), list(children.values()), keys)

    def _check_tag(self, node: Node, place: Place) -> None:
        expected = _TAG + ("seq" if isinstance(node, SequenceNode) else "map")
        if node.tag != expected:
            self._refuse_tag(node.tag, place)

    def _refuse_tag(self, tag: str, place: Place) -> None:
        shown = tag.replace(_TAG, "!!")
        self.findings.error(
            f"the tag {shown!r} is refused: a spec holds text, numbers, true, false, null, "
            "lists and mappings, never objects",
            place,
            hint="remove the tag; a text that starts with '!' needs quotes",
        )

    def _fields(self, node: MappingNode) -> dict[str, _Built]:
        fields: dict[str, _Built] = {}
        for key_node, value_node in node.value:
            key, place = self._key(key_node), _place(self.file, key_node.start_mark)
            built = self._build(value_node)
            if key is None:
                continue
            if key in fields:
                first = fields[key].located.key
                self.findings.error(f"the key {key!r} stands twice; the first is at {first}", place)
            else:
                fields[key] = replace(built, located=replace(built.located, key=place))
        return fields

    def _key(self, node: Node) -> str | None:
        place = _place(self.file, node.start_mark)
        if not isinstance(node, ScalarNode):
            what = "a list" if isinstance(node, SequenceNode) else "a mapping"
            self.findings.error(
                f"a key is {what}; keys are text", place, hint="put '{…}' and '[…]' in quotes"
            )
            return None
        if node.tag != _TAG + "str":
            self.findings.error(
                f"the key {node.value or 'null'} is not a text",
                place,
                hint=f'write "{node.value}" in quotes' if node.value else "write a key before ':'",
            )
            return None
        if node.value == "<<" and node.style is None:
            self.findings.error(
                "the merge key '<<' is not read",
                place,
                hint="write the fields out, or add them with an Overlay",
            )
            return None
        return self._text(str(node.value), place)

    def _scalar(self, node: ScalarNode, place: Place) -> Scalar:
        text = str(node.value)
        kind = node.tag.removeprefix(_TAG)
        if kind == "str":
            return self._text(text, place)
        if node.style is None and kind in ("null", "bool", "int", "float"):
            value = _core_value(kind, text)
            if value is not None or kind == "null":
                return value
            self.findings.error(f"{in_words(text)} is not a number that can be held", place)
            return None
        self._refuse_tag(node.tag, place)
        return None

    def _text(self, text: str, place: Place) -> str:
        joined = _joined_surrogates(text)
        if is_whole(joined):
            return joined
        self.findings.error("half of a surrogate pair (\\ud800 to \\udfff) is not a text", place)
        return ""


def _gathered(located: Located, children: list[_Built], extra: int = 0) -> _Built:
    weight = 16 + extra + sum(b.weight for b in children)
    return _Built(located, weight, 1 + max((b.height for b in children), default=0))


def _core_value(kind: str, text: str) -> Scalar:
    """A plain scalar's value; ``None`` for null and for what cannot be held."""
    try:
        match kind:
            case "bool":
                return {"true": True, "false": False}.get(text.lower())
            case "int":
                return int(text, 0)
            case "float":
                return number if math.isfinite(number := float(text)) else None
    except ValueError:
        return None
    return None


def _joined_surrogates(text: str) -> str:
    """JSON writes a character beyond U+FFFF as two escapes; YAML's reader leaves them apart."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
