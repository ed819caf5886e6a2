"""Overlays: documents that change other documents, without a copy of them.

Applied by folder depth, then by file name. ``strategy: merge`` (the default) goes field by field:
mappings are merged; a list gets the overlay's items that it does not have yet, and those with the
``name`` or ``id`` of one of its own are merged into that one; everything else is replaced; an empty
value removes the field. ``strategy: replace`` keeps nothing but kind and name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from liman_nb.specs.findings import Findings, did_you_mean
from liman_nb.specs.located import Located, in_words
from liman_nb.specs.references import Reference, parse_reference

STRATEGIES = ("merge", "replace")
_OWN_FIELDS = ("kind", "name", "to", "strategy")
_KEYS_OF_ITEMS = ("name", "id")

LISTS = ("nodes", "llm_nodes", "edges", "can_call", "to", "tools")
"""Fields that are lists also when a single item is written."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """An overlay that can be applied.

    Attributes:
        target: the document it changes.
        replaces: whether nothing is kept of the target but its kind and name.
        changes: the fields it sets.
        tree: the overlay as written.
        order: its position: folder depth, source, file, position in the file.
    """

    target: Reference
    replaces: bool
    changes: Located
    tree: Located
    order: tuple[int, int, str, int]


def read_overlay(
    tree: Located, order: tuple[int, int, str, int], findings: Findings
) -> Overlay | None:
    """An overlay document, or ``None`` if it cannot be applied; why is in the findings."""
    to = tree.fields.get("to")
    if to is None or not to.text or not parse_reference(to.text).kind:
        findings.error(
            "an overlay says in 'to' what it changes",
            (to or tree).place,
            "Overlay",
            "write for example 'to: LLMNode:chat'",
        )
        return None
    target = parse_reference(to.text)
    strategy = tree.fields.get("strategy")
    written = strategy.value if strategy else "merge"
    if written in STRATEGIES:
        replaces = written == "replace"
        return Overlay(target, replaces, tree.without(*_OWN_FIELDS), tree, order)
    findings.error(
        f"strategy: 'merge' or 'replace' is expected, this is {in_words(written)}",
        strategy.place if strategy else tree.place,
        f"Overlay {target}",
    )
    return None


def apply_overlays(
    documents: Mapping[tuple[str, str], Located], overlays: Iterable[Overlay], findings: Findings
) -> dict[tuple[str, str], Located]:
    """The documents with every overlay applied.

    Args:
        documents: by kind and name.
        overlays: in any order.
        findings: told of overlays whose target does not exist.
    """
    changed = dict(documents)
    for overlay in sorted(overlays, key=lambda o: o.order):
        target = (overlay.target.kind, overlay.target.name)
        if target in changed:
            changed[target] = _apply(changed[target], overlay)
        else:
            known = [f"{kind}:{name}" for kind, name in documents]
            written = f"{target[0]}:{target[1]}"
            findings.refuse(
                f"there is no {written!r} to change",
                overlay.tree.fields["to"].place,
                "Overlay",
                did_you_mean(written, known),
            )
    return changed


def _apply(document: Located, overlay: Overlay) -> Located:
    if overlay.replaces:
        kept = {k: v for k, v in document.fields.items() if k in ("kind", "name")}
        return overlay.tree.with_value({**kept, **overlay.changes.fields})
    return _merged(_with_lists(document), _with_lists(overlay.changes))


def _with_lists(document: Located) -> Located:
    return document.with_value(
        {
            name: _as_list(value) if name in LISTS else value
            for name, value in document.fields.items()
        }
    )


def _as_list(value: Located) -> Located:
    single = value.value is not None and not value.is_list
    return value.with_value((replace(value, key=None),)) if single else value


def _merged(old: Located, new: Located) -> Located:
    if old.is_mapping and new.is_mapping:
        fields = dict(old.fields)
        for name, value in new.fields.items():
            if value.value is None:
                fields.pop(name, None)
            else:
                fields[name] = _merged(fields[name], value) if name in fields else value
        return old.with_value(fields)
    if old.is_list and new.is_list:
        return old.with_value(_merged_items(old.items, new.items))
    return new


def _merged_items(old: tuple[Located, ...], new: tuple[Located, ...]) -> tuple[Located, ...]:
    items = list(old)
    for item in new:
        same = _position(item, items)
        if same is None:
            items.append(item)
        elif item.is_mapping:
            items[same] = _merged(items[same], item)
    return tuple(items)


def _position(item: Located, items: list[Located]) -> int | None:
    """Where the item with this content, or with this ``name`` or ``id``, stands already."""
    for position, other in enumerate(items):
        if other.plain() == item.plain() or any(_same(item, other, k) for k in _KEYS_OF_ITEMS):
            return position
    return None


def _same(one: Located, other: Located, key: str) -> bool:
    mine, its = one.fields.get(key), other.fields.get(key)
    return mine is not None and its is not None and mine.value == its.value
