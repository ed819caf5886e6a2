"""Every form of a document that Liman's documentation and samples use loads as it is."""

from __future__ import annotations

from liman_nb.specs import check_specs, load_graph, load_specs

CONTEXT = """
kind: ServiceAccount
name: Clerk
context:
  strict: true
  inject:
    - user_id: user.id
    - organization.id
    - project.settings.region
credentials_providers:
  - CloudToken
  - StoreKey
"""


def errors(*sources: str, **supplied) -> list[str]:
    """The errors of several sources together."""
    problems = check_specs(list(sources), **supplied)
    return [str(p) for p in problems if p.level == "error"]


def test_a_chat_with_a_tool():
    """Language keys below the prompt, plain descriptions, types by Python's names."""
    graph = load_graph(
        """
kind: LLMNode
name: chat
prompts:
  system:
    en: |
      You answer questions about users.
tools:
  - find_user
---
kind: ToolNode
name: find_user
description: Finds a user by name
func: main.find_user
arguments:
  - name: user_name
    type: str
    description: The name to look for
  - name: limit
    type: float
    required: true
    description:
      en: How many at most
  - name: exact
    type: bool
    optional: true
triggers:
  - please find somebody
""",
        start_node="LLMNode/chat",
    )
    assert graph.entry == "chat"
    assert graph.nodes["find_user"].spec.arguments == [
        {"name": "user_name", "type": "string", "description": "The name to look for"},
        {"name": "limit", "type": "number", "description": "How many at most", "optional": False},
        {"name": "exact", "type": "boolean", "optional": True},
    ]


def test_edges_with_every_sort_of_condition():
    """Also with functions, by name."""
    text = """
kind: LLMNode
name: start
prompts: {system: {en: Sort}}
nodes:
  - target: done
    when: status == 'complete'
  - target: again
    when: failed and (retry_count < 3 or priority == 'high')
  - target: check
    when: rules.validate
  - target: broken
    when: $is_error('UnauthorizedError') or $is_error("TimeoutError")
  - target: vip
    when: user.tier == 'enterprise' and (urgent == true or complaint == true)
"""
    targets = [
        f"kind: Node\nname: {n}\nfunc: main.{n}\n"
        for n in ("done", "again", "check", "broken", "vip")
    ]
    assert errors(text, *targets) == []
    graph = load_graph([text, *targets], allow_imports=["rules"])
    assert [e.function for e in graph.nodes["start"].edges] == [
        None,
        None,
        "rules.validate",
        None,
        None,
    ]


def test_nodes_that_lead_to_llm_nodes():
    """`llm_nodes`, `to` with kinds, `ref`."""
    assert (
        errors(
            "kind: Node\nname: a\nfunc: m.f\nllm_nodes: [b]\nnodes: []\n",
            "kind: FunctionNode\nname: c\nto: [LLMNode/b, {ref: Node/a, when: 'true'}]\n",
            "kind: LLMNode\nname: b\nprompts: {system: hi}\n",
            "kind: HITLNode\nname: d\nfunc: m.f\nto: [LLMNode/b]\n",
            start_node="c",
        )
        == []
    )


def test_an_overlay_adds_edges_to_a_tool():
    """A tool whose result goes on to a handler."""
    graph = load_graph(
        [
            "kind: LLMNode\nname: chat\ntools: [Api__get]\n",
            "kind: ToolNode\nname: Api__get\ndescription: {en: Gets}\nfunc: gen.id_1.get\n",
            "kind: Node\nname: handler\n",
            "kind: Overlay\nto: ToolNode:Api__get\nstrategy: merge\nnodes:\n"
            "  - target: handler\n    when: status_code != 200\n",
        ],
        start_node="chat",
    )
    assert [e.target for e in graph.nodes["Api__get"].edges] == ["handler"]


def test_nested_prompts_with_language_keys_at_several_depths():
    """Each text has the languages it has; what is missing falls back alone."""
    text = """
kind: LLMNode
name: a
prompts:
  system:
    en: You help.
  notes:
    intro:
      en: Hello
      ru: Привет
    bye:
      de: Tschüss
"""
    found = {
        language: load_specs(text, language=language).items[0].spec.prompts
        for language in ("en", "ru", "de")
    }
    assert found["en"] == {"system": "You help.", "notes": {"intro": "Hello", "bye": "Tschüss"}}
    assert found["ru"]["notes"]["intro"] == "Привет"
    assert found["de"] == {"system": "You help.", "notes": {"intro": "Hello", "bye": "Tschüss"}}


def test_service_accounts_by_name_and_in_place():
    """With providers that are registered in code."""
    graph = load_graph(
        [
            CONTEXT,
            "kind: LLMNode\nname: a\nauth:\n  service_account: Clerk\ntools: [t]\n",
            "kind: ToolNode\nname: t\nauth:\n  service_account:\n    context:\n"
            "      inject: [user_id]\n    credentials_provider: CloudToken\n",
            "kind: CredentialsProvider\nname: StoreKey\ntype: aws\nfunc: main.store_key\n",
        ],
        supplied_functions=["CloudToken"],
    )
    assert graph.warnings == ()
    assert graph.nodes["a"].service_account.providers == ("CloudToken", "StoreKey")
    assert graph.nodes["t"].service_account.name == "t.auth"
    assert set(graph.credentials_providers) == {"CloudToken", "StoreKey"}


def test_a_structured_output_in_both_notations():
    """Plain types, lists, nested objects, optional fields, and descriptions in languages."""
    text = """
kind: LLMNode
name: extractor
structured_output:
  title: str
  year: int
  price: float
  cast: [str]
  info:
    famous: bool
    editions?: [int]
  author:
    type: str
    description: {en: Who wrote it, ru: Автор}
  tags:
    type: [str]
    optional: true
"""
    (document,) = load_specs(text).items
    assert document.yields.field_names == (
        "title", "year", "price", "cast", "info", "author", "tags",
    )  # fmt: skip
    value = {
        "title": "T",
        "year": 1,
        "price": 1.5,
        "cast": ["a"],
        "info": {"famous": True},
        "author": "A",
    }
    assert document.yields.validate(value) == value
    assert document.spec.yields["author"] == {"type": "string", "description": "Who wrote it"}


def test_a_mistake_in_a_structured_output_points_to_its_line():
    """Through the rewriting."""
    (problem,) = check_specs("kind: LLMNode\nname: a\nstructured_output:\n  info:\n    x: strr\n")
    assert (problem.place.line, problem.place.column) == (5, 5)


def test_fields_of_plugins_that_the_documentation_shows():
    """They load and are named."""
    text = "kind: ToolNode\nname: t\nmetrics: {enabled: true}\nrate_limiter: {burst_limit: 10}\n"
    assert errors(text, "kind: LLMNode\nname: a\ntools: [t]\n") == []
