"""Mesh documents: ``agents:`` without a kind, read agent by agent as the documents of nodes.

Beside the agents stand ``entry_points`` (where a turn may start) and ``mesh`` (its bounds). Whether
the agents that entry points name exist is checked when the graph is linked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from liman_nb.errors import Place
from liman_nb.specs.agents import as_node
from liman_nb.specs.findings import Findings, did_you_mean
from liman_nb.specs.located import Located, in_words
from liman_nb.specs.not_run import words_for
from liman_nb.specs.platform import DOCUMENT, MESH, not_ours
from liman_nb.specs.references import Reference, parse_reference
from liman_nb.specs.validation import IN_CODE

AGENTS = "agents"
"""The field that makes a mapping a mesh document."""

_ENTRY_POINTS = "entry_points"
_BLOCK = "mesh"
_MAX_EVENTS = "max_chain_events"
_OF_ENTRY_POINT = ("name", "target", "description", "condition")
_ALWAYS = ("always", "true", True, None)


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A place where a turn may start.

    Attributes:
        name: what it is called.
        target: the node that a turn starts at there.
        place: where it is written.
    """

    name: str
    target: Reference
    place: Place


@dataclass(frozen=True, slots=True)
class MeshSettings:
    """What mesh documents say about the graph as a whole.

    Attributes:
        entry_points: where a turn may start, in order; empty if nothing is said.
        max_node_runs: the bound of node runs in one turn; ``None`` if nothing is said.
    """

    entry_points: tuple[EntryPoint, ...] = ()
    max_node_runs: int | None = None

    def with_more(self, other: MeshSettings) -> MeshSettings:
        """These of one document and those of another: all entry points, and the lower bound."""
        bounds = [n for n in (self.max_node_runs, other.max_node_runs) if n is not None]
        points = (*self.entry_points, *other.entry_points)
        return MeshSettings(points, min(bounds, default=None))


def is_mesh(tree: Located) -> bool:
    """Whether a document is a mesh document."""
    return AGENTS in tree.fields and "kind" not in tree.fields


def read_agents(tree: Located, findings: Findings) -> Iterator[Located]:
    """The document of each agent; without ``kind``, for one whose type is none.

    Args:
        tree: a mesh document.
        findings: told of every agent that cannot be read.
    """
    agents = tree.fields[AGENTS]
    if not (agents.fields or agents.items):
        message = f"{AGENTS}: agents by name are expected, this is {_in_words(agents)}"
        findings.error(message, agents.place)
    for name, agent in agents.fields.items():
        if described := _mapping(name, agent, findings):
            yield as_node(_named(name, agent, described, findings), name, findings)
    for number, agent in enumerate(agents.items):
        if described := _mapping(f"{AGENTS}[{number}]", agent, findings):
            given = described.fields.get("name")
            shown = (given and given.text) or f"{AGENTS}[{number}]"
            yield as_node(described, shown, findings)


def _in_words(agents: Located) -> str:
    empty = agents.is_mapping or agents.is_list
    return f"{in_words(agents.plain())} without any" if empty else in_words(agents.plain())


def _mapping(shown: str, agent: Located, findings: Findings) -> Located | None:
    """The agent's fields; nothing at all stands for none."""
    if agent.is_mapping:
        return agent
    if agent.value is None:
        return agent.with_value({})
    message = f"an agent is a mapping, this is {in_words(agent.plain())}"
    findings.error(message, agent.place, f"agent {shown}")
    return None


def _named(key: str, agent: Located, described: Located, findings: Findings) -> Located:
    """The agent with the name that its key gives it, at its key's place."""
    place = agent.key or agent.place
    name = described.fields.get("name")
    if name is not None and name.value is not None and name.value != key:
        message = f"the key of this agent, at {place}, is {key!r}, and its name {name.plain()!r}"
        hint = "write the same name twice, or leave 'name' out"
        findings.error(message, name.place, f"agent {key}", hint)
    fields = {"name": Located(key, place, place), **described.without("name").fields}
    return Located(fields, place, agent.key)


# ── what stands beside the agents ────────────────────────────────────────────────────────────────


def read_settings(tree: Located, findings: Findings) -> MeshSettings:
    """What a mesh document says beside its agents.

    Args:
        tree: a mesh document.
        findings: told of what is wrong, unknown, or not run.
    """
    own = (AGENTS, _ENTRY_POINTS, _BLOCK)
    for name, value in tree.without(*own).fields.items():
        _check_field(name, value, DOCUMENT, own, findings)
    points = tuple(_entry_points(tree.fields.get(_ENTRY_POINTS), findings))
    return MeshSettings(points, _max_node_runs(tree.fields.get(_BLOCK), findings))


def _check_field(
    name: str,
    value: Located,
    platform: Mapping[str, str],
    own: tuple[str, ...],
    findings: Findings,
    within: str = "",
) -> None:
    """Say what becomes of a field that is not one of `own`."""
    place = value.key or value.place
    if name in platform:
        findings.warn(not_ours(within + name, platform[name]), place)
    else:
        hint = IN_CODE.get(name) or did_you_mean(name, [*own, *platform])
        report = findings.error if name in IN_CODE else findings.refuse
        report(f"unknown field {within + name!r}", place, hint=hint)


def _entry_points(written: Located | None, findings: Findings) -> Iterator[EntryPoint]:
    if written is None or written.value is None:
        return
    if not written.is_list:
        found = in_words(written.plain())
        message = f"{_ENTRY_POINTS}: a list of {{name, target}} is expected, this is {found}"
        findings.error(message, written.place)
    for number, item in enumerate(written.items):
        shown = f"{_ENTRY_POINTS}[{number}]"
        fields = item.fields
        for key in fields.keys() - set(_OF_ENTRY_POINT):
            _check_field(key, fields[key], {}, _OF_ENTRY_POINT, findings, f"{shown}.")
        if fields and "target" not in fields:
            findings.error(f"{shown} has no 'target'", item.place, hint="name the agent")
            continue
        target = _text(fields.get("target", item), f"{shown}.target", findings)
        if target is None:
            continue
        reference = parse_reference(target)
        name = _text(fields["name"], f"{shown}.name", findings) if "name" in fields else None
        _check_condition(fields.get("condition"), shown, findings)
        yield EntryPoint(name or reference.name, reference, item.place)


def _text(value: Located, shown: str, findings: Findings) -> str | None:
    if value.text and value.text.strip():
        return value.text
    message = f"{shown}: a name is expected, this is {in_words(value.plain())}"
    findings.error(message, value.place)
    return None


def _check_condition(condition: Located | None, shown: str, findings: Findings) -> None:
    if condition and condition.plain() not in _ALWAYS:
        message = words_for(f"{shown}.condition", "the caller says where a turn starts")
        findings.warn(message, condition.key or condition.place)


def _max_node_runs(block: Located | None, findings: Findings) -> int | None:
    if block is None or block.value is None:
        return None
    if not block.is_mapping:
        found = in_words(block.plain())
        findings.error(f"{_BLOCK}: a mapping is expected, this is {found}", block.place)
    for name, value in block.without(_MAX_EVENTS).fields.items():
        _check_field(name, value, MESH, (_MAX_EVENTS,), findings, f"{_BLOCK}.")
    written = block.fields.get(_MAX_EVENTS)
    if written is None or written.value is None:
        return None
    bound = written.value
    if not isinstance(bound, int) or isinstance(bound, bool) or bound < 1:
        expected = "a whole number of at least 1 is expected"
        message = f"{_BLOCK}.{_MAX_EVENTS}: {expected}, this is {in_words(written.plain())}"
        findings.error(message, written.place)
        return None
    return bound
