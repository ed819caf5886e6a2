"""An agent of a mesh document as the document of a node, every value at its place.

``agent_type`` says the kind, the fields that have another name here get that name, and what only
LeafMesh's platform acts on is named and left out. Everything else is the node's own and is checked
as in any other document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from liman_nb.specs.documents import MODELS
from liman_nb.specs.edges import EDGE_FIELDS
from liman_nb.specs.findings import Findings, did_you_mean, listed
from liman_nb.specs.located import Located, in_words
from liman_nb.specs.platform import AGENT, not_ours
from liman_nb.specs.validation import IN_CODE

AGENT_TYPES: Mapping[str, str] = {
    "llm": "LLMNode",
    "programmatic": "FunctionNode",
    "external": "FunctionNode",
    "human": "HumanNode",
}
"""The kind of node that an agent of each type is."""

SPELLINGS: Mapping[str, Mapping[str, str]] = {
    "LLMNode": {"prompt": "prompts"},
    "FunctionNode": {},
    "HumanNode": {
        "human_prompt_template": "question",
        "human_timeout_seconds": "timeout",
        "fallback_response": "fallback",
    },
}
"""By kind: an agent's word for a field of the node."""

_FALLBACK_FLAG = "fallback_on_timeout"
_OWN_WORDS: Mapping[str, tuple[str, ...]] = {"HumanNode": (_FALLBACK_FLAG,)}
"""By kind: an agent's fields that decide over others."""

_NO_KIND = f"write 'agent_type' with one of {listed(AGENT_TYPES)}"


def as_node(agent: Located, name: str, findings: Findings) -> Located:
    """The document of the node that an agent is.

    Args:
        agent: its fields, ``name`` among them.
        name: its name.
        findings: told of what the mesh form itself does not allow, and of what is not run.

    Returns:
        The document; without ``kind`` if the agent's type is none.
    """
    kind = _kind(agent, name, findings)
    if kind is None:
        return agent.without("kind")
    return _Reader(str(kind.value), name, findings).document(agent, kind)


def _kind(agent: Located, name: str, findings: Findings) -> Located | None:
    written = agent.fields.get("agent_type")
    if written is None or written.value is None:
        return Located("LLMNode", agent.place)
    agent_type = written.text or ""
    if agent_type in AGENT_TYPES:
        return written.with_value(AGENT_TYPES[agent_type])
    hint = did_you_mean(agent_type, AGENT_TYPES)
    message = f"agent_type: one of {listed(AGENT_TYPES)} is expected, this is "
    findings.error(message + in_words(written.plain()), written.place, f"agent {name}", hint)
    return None


def _words(kind: str) -> tuple[str, ...]:
    """The fields that an agent of a kind may have and its node acts on."""
    model = (field for field in MODELS[kind].model_fields if field != "kind")
    own = (*SPELLINGS[kind], *_OWN_WORDS.get(kind, ()))
    return (*own, *model, "structured_output", *EDGE_FIELDS)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one agent of a kind and name."""

    kind: str
    name: str
    findings: Findings

    def document(self, agent: Located, kind: Located) -> Located:
        fields: dict[str, Located] = {"kind": kind}
        for word, written in agent.without("agent_type").fields.items():
            field, value = self._in_node_words(word, written)
            if field and field in fields:
                self._twice(word, field, written)
            elif field:
                fields[field] = value
        self._settle_fallback(fields)
        if self.kind == "LLMNode":
            fields.setdefault("memory", Located("session", agent.place))
        return agent.with_value(fields)

    def _in_node_words(self, field: str, value: Located) -> tuple[str, Located]:
        """The node's field and its value; no field for what is left out."""
        if value.value is None and field in (*SPELLINGS[self.kind], "memory"):
            return "", value
        if field == "memory" and not (self.kind == "LLMNode" and value.text is not None):
            if value.value is not False:
                self._not_ours(field, value)
            return "", value
        if field == "prompt" and self.kind == "LLMNode":
            return "prompts", value.with_value({"system": value})
        if field in SPELLINGS[self.kind]:
            return SPELLINGS[self.kind][field], value
        if field in _words(self.kind):
            return field, value
        if field in AGENT:
            self._not_ours(field, value)
        else:
            self._unknown(field, value)
        return "", value

    def _settle_fallback(self, fields: dict[str, Located]) -> None:
        """Whether the fallback counts, as ``fallback_on_timeout`` says."""
        flag = fields.pop(_FALLBACK_FLAG, None)
        if flag is None or flag.value is None:
            return
        if not isinstance(flag.value, bool):
            found = in_words(flag.plain())
            message = f"{_FALLBACK_FLAG}: true or false is expected, this is {found}"
            self.findings.error(message, flag.place, self._subject)
        elif not flag.value:
            fields.pop("fallback", None)
        elif "fallback" not in fields:
            message = f"{_FALLBACK_FLAG} is true, and there is no 'fallback_response'"
            hint = "without one, a question that nobody answers in time fails"
            place = flag.key or flag.place
            self.findings.warn(message, place, self._subject, hint)

    def _unknown(self, field: str, value: Located) -> None:
        owners = [t for t, kind in AGENT_TYPES.items() if field in _words(kind)]
        hint = IN_CODE.get(field, "")
        if field == "kind":
            hint = _NO_KIND
        elif owners:
            hint = f"it is a field of agents whose agent_type is {' or '.join(map(repr, owners))}"
        hint = hint or did_you_mean(field, (*_words(self.kind), *AGENT, "agent_type"))
        place = value.key or value.place
        self.findings.refuse(f"unknown field {field!r}", place, self._subject, hint)

    def _not_ours(self, field: str, value: Located) -> None:
        place = value.key or value.place
        self.findings.warn(not_ours(field, AGENT[field]), place, self._subject)

    @property
    def _subject(self) -> str:
        return f"{self.kind} {self.name}"

    def _twice(self, word: str, field: str, value: Located) -> None:
        other = next((w for w, f in SPELLINGS[self.kind].items() if f == field), field)
        both = f"'{field}' and '{other if word == field else word}'"
        place = value.key or value.place
        self.findings.error(f"{both} are the same", place, self._subject, "write one of them")
