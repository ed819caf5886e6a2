"""Documents of every kind: what they may say, and one sentence for everything they may not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from liman_nb.specs import check_specs, load_specs
from liman_nb.specs.documents import (
    MODELS,
    AuthSpec,
    ContextSpec,
    CredentialsProviderSpec,
    FunctionNodeSpec,
    HumanNodeSpec,
    InlineAccountSpec,
    LLMNodeSpec,
    RetrySpec,
    ServiceAccountSpec,
    ToolNodeSpec,
)
from liman_nb.specs.findings import Findings
from liman_nb.specs.located import locate
from liman_nb.specs.source import Place
from liman_nb.specs.validation import validate


def spec(text: str):
    """The fields of the only document of a text."""
    (document,) = load_specs(text).items
    return document.spec


# ── what a document may say ──────────────────────────────────────────────────────────────────────


def test_an_llm_node_with_every_field():
    """All of them, in one document."""
    assert spec(
        """
kind: LLMNode
name: chat
description: Talks
prompts: {system: Be kind to {name}}
model: small
temperature: 0
max_tokens: 100
tools: [a, ToolNode/b]
yields: {mood: string}
memory: session
history_limit: 20
pre_compose: mine.before
intelligence: after
retry: {attempts: 2, backoff: 1.5, errors: TimeoutError}
auth: {service_account: desk}
wait_for: [x, y]
nodes: [z]
""".replace("Be kind to {name}", '"Be kind to {name}"')
    ) == LLMNodeSpec(
        name="chat",
        description="Talks",
        prompts={"system": "Be kind to {name}"},
        model="small",
        temperature=0,
        max_tokens=100,
        tools=("a", "ToolNode/b"),
        yields={"mood": "string"},
        memory="session",
        history_limit=20,
        pre_compose="mine.before",
        intelligence="after",
        retry=RetrySpec(attempts=2, backoff=1.5, errors=("TimeoutError",)),
        auth=AuthSpec(service_account="desk"),
        wait_for=("x", "y"),
    )


def test_a_tool_node_with_every_field():
    """All of them, in one document."""
    assert spec(
        """
kind: ToolNode
name: weather
description: The weather
func: tools.weather
arguments: [{name: city, type: string}]
triggers: ["Is it cold?"]
tool_prompt_template: "{name} - {description}"
approval: true
on_crash: ask
timeout: 30s
retry: 2
auth: {service_account: {context: {inject: [user_id]}}}
"""
    ) == ToolNodeSpec(
        name="weather",
        description="The weather",
        func="tools.weather",
        arguments=[{"name": "city", "type": "string"}],
        triggers=("Is it cold?",),
        tool_prompt_template="{name} - {description}",
        approval=True,
        on_crash="ask",
        timeout=30.0,
        retry=RetrySpec(attempts=2),
        auth=AuthSpec(service_account=InlineAccountSpec(context=ContextSpec(inject=("user_id",)))),
    )


def test_function_and_human_nodes_with_every_field():
    """`Node` is a FunctionNode, `HITLNode` and `HITL` are HumanNodes."""
    assert spec(
        "kind: Node\nname: f\nfunc: g\nyields: {a: string}\nretry: 5\ntimeout: 0.5\n"
        "auth: {service_account: s}\nwait_for: a and b\n"
    ) == FunctionNodeSpec(
        name="f",
        func="g",
        yields={"a": "string"},
        retry=RetrySpec(attempts=5),
        timeout=0.5,
        auth=AuthSpec(service_account="s"),
        wait_for=("a and b",),
    )
    human = (
        "name: boss\nquestion: Pay?\nyields: {ok: boolean}\ntimeout: 7d\nfallback: {ok: false}\n"
    )
    for kind in ("HumanNode", "HITLNode", "HITL"):
        assert spec(f"kind: {kind}\n{human}") == HumanNodeSpec(
            name="boss",
            question="Pay?",
            yields={"ok": "boolean"},
            timeout=604_800.0,
            fallback={"ok": False},
        )


def test_accounts_and_providers():
    """Every way to name a context value."""
    account = spec(
        """
kind: ServiceAccount
name: desk
context:
  strict: false
  inject: [user_id, organization.id, "alias: user.name", short: user.email]
credentials_providers: [bearer, aws]
"""
    )
    assert account == ServiceAccountSpec(
        name="desk",
        context=ContextSpec(
            strict=False,
            inject=("user_id", "organization.id", "alias: user.name", {"short": "user.email"}),
        ),
        credentials_providers=("bearer", "aws"),
    )
    assert account.providers == ("bearer", "aws")
    one = spec("kind: ServiceAccount\nname: desk\ncredentials_provider: bearer\n")
    assert one.providers == ("bearer",)
    provider = spec("kind: CredentialsProvider\nname: bearer\ntype: bearer\nfunc: main.token\n")
    assert provider == CredentialsProviderSpec(name="bearer", type="bearer", func="main.token")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("30s", 30), ("1.5 m", 90), ("2h", 7200), ("1d", 86400), ("4", 4), ("0.5", 0.5)],
)
def test_a_duration_is_a_number_of_seconds_or_has_a_unit(written, seconds):
    """Seconds, minutes, hours, days."""
    assert spec(f"kind: ToolNode\nname: t\ntimeout: {written}\n").timeout == seconds


def test_a_prompt_that_is_a_text_is_the_system_prompt():
    """Also in several languages."""
    assert spec("kind: LLMNode\nname: a\nprompts: Hello\n").system == "Hello"
    assert spec("kind: LLMNode\nname: a\nprompts: {en: Hello, de: Hallo}\n").system == "Hello"


def test_an_empty_field_is_an_absent_one():
    """What is left when its entries are commented out."""
    assert spec("kind: LLMNode\nname: a\ntools:\nprompts:\nedges:\nyields:\n") == LLMNodeSpec(
        name="a"
    )


def test_documents_are_frozen():
    """Nobody changes a spec after it was checked."""
    document = spec("kind: LLMNode\nname: a\n")
    with pytest.raises(ValidationError):
        document.name = "b"


@pytest.mark.parametrize("name", ["a", "_x", "Chat-2", "Prüfer", "x" * 64])
def test_names(name):
    """A letter of any script, or an underscore; then also digits and hyphens."""
    assert spec(f"kind: LLMNode\nname: {name}\n").name == name


# ── what a document may not say ──────────────────────────────────────────────────────────────────

LLM = "kind: LLMNode\nname: a\n"
TOOL = "kind: ToolNode\nname: t\n"


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("[{name: a, type: strin}]", "arguments[0].type: "),
        ("[{type: string}]", "arguments[0]: "),
        ("[{name: a, type: string, colour: red}]", "arguments[0].colour: "),
        ("[{name: a, type: object, properties: [{name: b, type: nope}]}]",
         "arguments[0].properties[0].type: "),
        ("[{name: a, type: array, items: {type: nope}}]", "arguments[0].items.type: "),
        ("[{name: a, enum: [x], default: y}]", "arguments[0].default: "),
        ("5", "arguments: "),
    ],
)  # fmt: skip
def test_mistakes_in_arguments_point_into_them(written, path):
    """What may stand there is the business of the notation of types."""
    errors = [
        p for p in check_specs(f"{TOOL}arguments: {written}\n---\n{LLM}") if p.level == "error"
    ]
    assert [e.message[: len(path)] for e in errors] == [path]
    assert errors[0].place.line == 3
    assert errors[0].subject == "ToolNode t"


def test_mistakes_in_yields_point_into_them():
    """A reserved name, in yields and in Liman's notation of them."""
    for field in ("yields", "structured_output"):
        (problem,) = check_specs(f"{LLM}{field}: {{a: string, context: string}}\n")
        assert (problem.place.line, problem.place.column) == (3, len(field) + 15)
        assert problem.message.startswith("yields.context: ")


def test_several_mistakes_of_one_document_are_found_together():
    """In the order of their lines."""
    text = f"{LLM}temperature: hot\nfoo: 1\nmemory: none\nto: [{{when: x}}]\nmax_tokens: -1\n"
    assert [p.place.line for p in check_specs(text) if p.level == "error"] == [3, 4, 6, 7]


def test_without_strictness_unknown_fields_and_kinds_are_left_out():
    """With a warning each; mistakes in known fields stay errors."""
    account = "auth: {service_account: {context: {inject: [a]}, y: 1}}"
    text = f"{LLM}foo: 1\nretry: {{attempts: 2, x: 1}}\n{account}\n---\nkind: Foo\nname: b\n"
    documents = load_specs(text, strict=False)
    inline = InlineAccountSpec(context=ContextSpec(inject=("a",)))
    assert documents.items[0].spec == LLMNodeSpec(
        name="a", retry=RetrySpec(attempts=2), auth=AuthSpec(service_account=inline)
    )
    assert [str(w) for w in documents.warnings] == [
        "<specs>:3:1: LLMNode a: unknown field 'foo'",
        "<specs>:4:22: LLMNode a: unknown field 'retry.x'",
        "<specs>:5:50: LLMNode a: unknown field 'auth.service_account.y'",
        "<specs>:7:7: unknown kind 'Foo'; the kinds are 'LLMNode', 'ToolNode', 'FunctionNode', "
        "'HumanNode', 'ServiceAccount', 'CredentialsProvider', 'Overlay'",
    ]
    assert documents.unread == {"b"}


FIELDS = sorted(
    {field for model in MODELS.values() for field in model.model_fields} - {"kind", "name"}
)
INNER = [
    *("attempts", "backoff", "errors", "service_account", "context", "inject", "strict"),
    *("name", "system", "credentials_provider", "x"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.floats(-2, 2) | st.text(max_size=3)
    | st.sampled_from(["a.b", "30s", "actor", "none"]),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(INNER), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(MODELS)), st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5)
)
def test_every_misfit_has_a_sentence_of_its_own(kind, fields):
    """No error type of pydantic is without words, and none of pydantic's own words is shown."""
    findings = Findings()
    written = {"kind": kind, "name": "a", **fields}
    tree = locate(written, Place("f"), lambda *_: None)
    model = validate(MODELS[kind], tree, "x", findings)
    assert (model is None) == bool(findings.problems)
    for problem in findings.problems:
        assert "is not allowed here" not in problem.message
        assert "Input should" not in problem.message


@given(
    st.sampled_from(sorted(MODELS)), st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5)
)
def test_any_document_is_checked_without_an_exception(kind, fields):
    """Whatever stands in its fields."""
    problems = check_specs([{"kind": kind, "name": "a", **fields}])
    assert all(p.message for p in problems)
