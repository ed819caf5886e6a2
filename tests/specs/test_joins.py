"""What a node waits for: how it is written, when it is fulfilled, and what becomes of it."""

from __future__ import annotations

import pickle
from itertools import product
from types import MappingProxyType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from liman_nb.errors import JoinSyntaxError, Place, SpecError
from liman_nb.specs import check_specs, load_graph
from liman_nb.specs.join_notation import MAX_CHARACTERS, MAX_DEPTH, MAX_SOURCES, parse_rule
from liman_nb.specs.joins import AllOf, AnyOf, Join, Rule, Source, source_names, verdict
from liman_nb.specs.references import Reference

A, B, C, D = (Source(name) for name in "abcd")
NAMES = "abcd"


def rule(text: str) -> Rule:
    """The rule of a text."""
    return parse_rule(text)[0]


def fan(wait_for: str, join: str = "kind: LLMNode\nname: j\n") -> str:
    """A start that leads to `a`, `b` and `c`, each of which leads to the join `j`."""
    workers = "".join(f"---\n{{kind: Node, name: {n}, edges: [j]}}\n" for n in "abc")
    start = f"{{kind: LLMNode, name: start, edges: [a, b, c]}}\n{workers}"
    return f"{start}---\n{join}wait_for: {wait_for}\n"


def joined(wait_for: str) -> Join:
    """The join of a graph whose node waits so."""
    join = load_graph(fan(wait_for)).nodes["j"].join
    assert join is not None
    return join


# ── the notation ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("a?", Source("a", optional=True)),
        (" a ? ", Source("a", optional=True)),
        ("a and b", AllOf((A, B))),
        ("a or b", AnyOf((A, B))),
        ("a and (b or c?)", AllOf((A, AnyOf((B, Source("c", optional=True)))))),
        ("a or b and c", AnyOf((A, AllOf((B, C))))),
        ("a and b or c", AnyOf((AllOf((A, B)), C))),
        ("(a or b) and c", AllOf((AnyOf((A, B)), C))),
        ("a AND b Or c", AnyOf((AllOf((A, B)), C))),
        ("a&&b||c", AnyOf((AllOf((A, B)), C))),
        ("a\n  and\n  b", AllOf((A, B))),
        ("((a))", A),
        ("a and (b and (c and d))", AllOf((A, B, C, D))),
        ("a or (b or c) or d", AnyOf((A, B, C, D))),
        ("a and a", AllOf((A, A))),
        ("draft-2 and größe_", AllOf((Source("draft-2"), Source("größe_")))),
        ("and-then and orbit", AllOf((Source("and-then"), Source("orbit")))),
        ("2fast or -x", AnyOf((Source("2fast"), Source("-x")))),
        ("LLMNode/a and ToolNode:b?", AllOf((A, Source("b", optional=True)))),
        ("Node / a", A),
        ("LLMNode/and and LLMNode/or", AllOf((Source("and"), Source("or")))),
    ],
)
def test_how_a_rule_is_written(text, tree):
    """`or` binds weaker than `and`; a name may have its kind; brackets that change nothing go."""
    assert rule(text) == tree


def test_a_name_with_its_kind_is_a_reference():
    """Every one, as often as it is written; other words for a kind are resolved."""
    assert parse_rule("Node/a or (b and LLMNode/a)")[1] == (
        Reference("a", "FunctionNode"),
        Reference("b"),
        Reference("a", "LLMNode"),
    )


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "the text ends where a node's name is expected", 0),
        ("a and", "the text ends where a node's name is expected", 5),
        ("a and (b or (c and d)", "the '(' at character 7 is never closed", 21),
        ("()", "a node's name is expected here, not ')'", 1),
        ("a)", "')' closes nothing", 1),
        ("a b", "'and', 'or' or the end is expected here, not 'b'", 2),
        ("(a my-b)", "'and', 'or' or ')' is expected here, not 'my-b'", 3),
        (
            "a or or b",
            "a node's name is expected here, not 'or'; a node of that name is written ",
            5,
        ),
        ("NOT a", "a node's name is expected here, not 'NOT'; a node is waited for, or is op", 0),
        ("a and !b", "a node's name is expected here, not '!'; a node is waited for, or is op", 6),
        ("a, b", "'and', 'or' or the end is expected here, not ','; write 'and' between names", 1),
        ("a & b", "'and', 'or' or the end is expected here, not '&'; write and, or &&", 2),
        ("a ||| b", "a node's name is expected here, not '|'; write or, or ||", 4),
        ("'a' and b", "a node's name is expected here, not '''; names stand without quotes", 0),
        ("(a or b)?", "'and', 'or' or the end is expected here, not '?'; a '?' stands once", 8),
        ("a??", "'and', 'or' or the end is expected here, not '?'; a '?' stands once", 2),
        ("?a", "a node's name is expected here, not '?'; a '?' stands once", 0),
        ("[a, b]", "a node's name is expected here, not '['; brackets are ( )", 0),
        ("{a}", "a node's name is expected here, not '{'; names stand without braces", 0),
        ("a" * 50 + " " + "b" * 50, f"the end is expected here, not '{'b' * 40}…'", 51),
    ],
)
def test_what_is_no_rule(text, message, position):
    """One sentence with what to write instead, and a caret under the first wrong character."""
    with pytest.raises(JoinSyntaxError) as caught:
        parse_rule(text, Place("a.yaml", 3, 11))
    (problem,) = caught.value.problems
    first, shown, caret = str(problem).splitlines()
    assert first.startswith("a.yaml:3:11: ")
    assert message in first
    assert caught.value.position == position
    assert shown[caret.index("^") :][:1] == text[position : position + 1]
    assert caret.strip() == "^"


@given(st.text(alphabet="ab-/:? ()&|,'\n\x00é", max_size=30))
@example("\u00b2")
@example("a ſ b")
def test_any_text_is_a_rule_or_one_error(text):
    """Never another exception; the caret stays within the text or behind it."""
    try:
        found, references = parse_rule(text)
    except JoinSyntaxError as error:
        position = error.position
    else:
        position = 0
        assert [r.name for r in references] == list(source_names(found))
    assert 0 <= position <= len(text)


def test_a_rule_has_a_bounded_size_and_depth():
    """A text at the bounds is read; one beyond them is an error where it is too much."""
    deep = "(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH
    nested = "(a and (b or " * (MAX_DEPTH // 2) + "c" + "))" * (MAX_DEPTH // 2)
    wide = "a".ljust(MAX_CHARACTERS)
    assert rule(deep) == rule(wide) == A
    assert verdict(rule(nested), {"a"}, {"b", "c"}) is False
    for text, position, message in (
        (f"({deep})", MAX_DEPTH, "at most 64 levels deep"),
        (f"{wide} ", MAX_CHARACTERS, "at most 4,000 characters are read, these are 4,001"),
    ):
        with pytest.raises(JoinSyntaxError, match=message) as caught:
            rule(text)
        assert caught.value.position == position


def test_a_list_is_bounded_as_a_whole():
    """However many texts it has."""
    many = "[" + ", ".join(["a and b and c"] * (MAX_SOURCES // 3 + 1)) + "]"
    (error,) = check_specs(fan(many))
    assert "wait_for: at most 500 nodes can be named, these are 501" in str(error)


# ── when it is fulfilled ─────────────────────────────────────────────────────────────────────────

leaves = st.builds(Source, st.sampled_from(NAMES), st.booleans())


def _branches(parts: st.SearchStrategy[Rule]) -> st.SearchStrategy[Rule]:
    several = st.lists(parts, min_size=2, max_size=4).map(tuple)
    return st.builds(AllOf, several) | st.builds(AnyOf, several)


rules = st.recursive(leaves, _branches, max_leaves=12)
states = st.fixed_dictionaries(
    {name: st.sampled_from(["arrived", "gone", "open"]) for name in NAMES}
)


def judged(a_rule: Rule, state: dict[str, str]) -> bool | None:
    """The verdict when every source is in some state."""
    of = {word: {n for n, s in state.items() if s == word} for word in ("arrived", "gone")}
    return verdict(a_rule, of["arrived"], of["gone"])


def python(a_rule: Rule) -> str:
    """The rule as a Python expression over dictionaries of numbers: 0 no, 1 open, 2 yes."""
    match a_rule:
        case Source(name, optional):
            return f"{'optional' if optional else 'plain'}[{name!r}]"
        case AllOf(parts):
            return f"min({', '.join(map(python, parts))},)"
        case AnyOf(parts):
            return f"max({', '.join(map(python, parts))},)"


@given(rules, states)
def test_a_verdict_is_that_of_kleene_s_tables(a_rule, state):
    """With false below unknown below true, `and` is the least and `or` the greatest part."""
    plain = {name: {"arrived": 2, "gone": 0, "open": 1}[s] for name, s in state.items()}
    optional = {name: {"arrived": 2, "gone": 2, "open": 1}[s] for name, s in state.items()}
    number = eval(python(a_rule), {"plain": plain, "optional": optional})  # noqa: S307 - ours
    assert judged(a_rule, state) is {0: False, 1: None, 2: True}[number]


@given(rules, states)
def test_a_verdict_is_never_taken_back(a_rule, state):
    """Once fulfilled or lost, a rule stays so whatever arrives or goes: every way is tried."""
    now = judged(a_rule, state)
    still_open = [name for name, s in state.items() if s == "open"]
    ends = [
        judged(a_rule, {**state, **dict(zip(still_open, ends, strict=True))})
        for ends in product(["arrived", "gone"], repeat=len(still_open))
    ]
    assert None not in ends
    assert now is None or set(ends) == {now}


@given(rules, states, st.sampled_from(NAMES))
def test_an_arrival_never_makes_a_rule_less_true(a_rule, state, name):
    """Arriving is at least as good as being gone, and that as being open."""
    order = {False: 0, None: 1, True: 2}
    arrived, gone = (judged(a_rule, {**state, name: s}) for s in ("arrived", "gone"))
    assert order[arrived] >= order[gone]


@pytest.mark.parametrize(
    ("text", "arrived", "gone", "found"),
    [
        ("a", "", "", None),
        ("a", "a", "", True),
        ("a", "", "a", False),
        ("a", "a", "a", True),
        ("a?", "", "", None),
        ("a?", "", "a", True),
        ("a and b", "a", "", None),
        ("a and b", "", "b", False),
        ("a or b", "b", "", True),
        ("a or b", "", "b", None),
        ("a or b", "", "ab", False),
        ("a and (b or c?)", "a", "bc", True),
        ("a? and b?", "a", "", None),
        ("a? and b?", "a", "b", True),
        ("a", "x", "y", None),
    ],
)
def test_what_is_enough(text, arrived, gone, found):
    """One lost part of an `and`, one fulfilled part of an `or`; `a? and b?` waits for both."""
    assert verdict(rule(text), frozenset(arrived), frozenset(gone)) is found


# ── in a graph ───────────────────────────────────────────────────────────────────────────────────


def test_a_node_has_its_join():
    """Its text, its rule, and its sources in order of first mention; other nodes have none."""
    graph = load_graph(fan("c and (b or  a?) and c"))
    assert graph.nodes["j"].join == Join(
        "c and (b or a?) and c", rule("c and (b or a?) and c"), ("c", "b", "a")
    )
    assert {name for name, node in graph.nodes.items() if node.join} == {"j"}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("[a, b, c]", "a and b and c"),
        ("[a, b or c?]", "a and (b or c?)"),
        ("[a and b, c]", "a and b and c"),
        ("[a or b or c]", "a or b or c"),
        ("a and b and c", "a and b and c"),
    ],
)
def test_a_list_means_all_of_its_items(written, text):
    """Each a name or a rule of its own."""
    join = joined(written)
    assert join.text == text
    assert join.rule == rule(text)
    assert join.sources == ("a", "b", "c")


def test_one_name_alone():
    """A join of one source runs once for its first arrival."""
    text = "{kind: LLMNode, name: s, to: j}\n---\n{kind: Node, name: j, wait_for: s}"
    assert load_graph(text).nodes["j"].join == Join("s", Source("s"), ("s",))


def test_a_join_is_a_value():
    """It can be compared, hashed, and sent to another process, with the graph or alone."""
    join = joined("a and (b or c?)")
    assert pickle.loads(pickle.dumps(join)) == join  # noqa: S301 - our own
    assert len({join, joined("a and (b or c?)"), joined("a and b and c?")}) == 2
    graph = load_graph(fan("a and (b or c?)"))
    copy = pickle.loads(pickle.dumps(graph))  # noqa: S301 - our own
    assert copy == graph
    assert isinstance(copy.nodes, MappingProxyType)
    with pytest.raises(AttributeError):
        join.text = "b"


def test_what_is_waited_for_is_part_of_the_fingerprint():
    """An open turn must not go on under another rule."""
    texts = ["a and b and c", "a and b and c?", "a or b or c", "a or b and c"]
    assert len({load_graph(fan(text)).fingerprint for text in texts}) == 4


def test_a_tool_may_be_waited_for():
    """One that only a model calls, and whose edge leads to the join."""
    text = (
        "{kind: LLMNode, name: s, tools: [t], edges: [a]}\n---\n"
        "{kind: ToolNode, name: t, edges: [j]}\n---\n{kind: Node, name: a, edges: [j]}\n---\n"
        "{kind: LLMNode, name: j, wait_for: ToolNode/t and a}"
    )
    assert check_specs(text) == []


def test_a_join_may_wait_for_a_join():
    """Rules nest over nodes."""
    last = "{kind: Node, name: end, wait_for: j and c}\n"
    text = fan("a and b").replace("name: c, edges: [j]", "name: c, edges: [end]")
    text = text.replace("name: j\n", "name: j\nedges: [end]\n") + f"---\n{last}"
    assert check_specs(text) == []


def test_without_strictness_a_join_is_still_never_left_out():
    """It would be another graph."""
    for wait_for in ("a and and b", "a and b and x"):
        with pytest.raises(SpecError, match="wait_for"):
            load_graph(fan(wait_for), strict=False)


def test_a_source_of_an_unknown_kind_does_not_exist():
    """Without strictness such a document is left out, and then its node cannot arrive."""
    text = fan("a and b and c").replace("{kind: Node, name: a", "{kind: Nodule, name: a")
    with pytest.raises(SpecError, match="wait_for names 'a', and there is no such node"):
        load_graph(text, strict=False)


def test_an_edge_that_cannot_be_read_is_reported_alone():
    """Not also as an edge that is missing."""
    text = fan("a and b and c").replace(
        "name: a, edges: [j]", "name: a, edges: [{ref: j, when: (}]"
    )
    (problem,) = check_specs(text)
    assert problem.subject == "FunctionNode a"


def test_a_source_that_cannot_be_read_is_reported_alone():
    """Not also as a node that does not exist."""
    text = fan("a and b and c").replace("name: a,", "name: a, colour: red,")
    (problem,) = check_specs(text, start_node="start")
    assert "unknown field 'colour'" in str(problem)


# ── where a turn starts ──────────────────────────────────────────────────────────────────────────

RING = "{{kind: LLMNode, name: j, edges: [a, b], wait_for: a and b}}\n---\n{}\n---\n{}"
WORKERS = ("{kind: Node, name: a, edges: [j]}", "{kind: Node, name: b, edges: [j]}")


def test_a_turn_may_start_at_a_join_that_is_named():
    """It runs at once; what it leads to comes back to it."""
    graph = load_graph(RING.format(*WORKERS), start_node="j")
    assert (graph.entry, graph.warnings) == ("j", ())


def test_a_join_is_never_taken_as_the_start_by_itself():
    """Though it is the only LLMNode."""
    (problem,) = check_specs(RING.format(*WORKERS))
    assert str(problem) == (
        "it is not clear at which node a turn starts; pass start_node= with one of 'j', 'a', 'b'"
    )


def test_a_graph_in_which_every_node_waits():
    """There is nothing a turn could start at."""
    text = (
        "{kind: LLMNode, name: j, edges: [k], wait_for: k}\n---\n"
        "{kind: LLMNode, name: k, edges: [j], wait_for: j}"
    )
    (problem,) = check_specs(text)
    assert str(problem) == (
        "a turn could start only at nodes that wait for others: 'j', 'k'; add a node that waits "
        "for nothing, or name one with start_node= to run it at once"
    )
