"""The record of a session and of a turn: one card with everything worth keeping."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from html_check import images_of, problems, text_of
from view_examples import Play, refund_asked, refund_done, refund_graph, refund_play

from liman_nb.engine.tree import Tree
from liman_nb.specs import load_graph
from liman_nb.views import AgentView, ResultView
from liman_nb.views.conversation import conversation

NOW = datetime(2026, 11, 30, 14, 49, 24, tzinfo=UTC)


def agent(play: Play, **more) -> AgentView:
    """The record of a session."""
    return AgentView("refund-desk", play.graph, play.tree, recorded=NOW, **more)


def test_the_head_tells_who_how_and_when():
    """Name and session, status in icon, word and colour, counts, time of recording."""
    text = text_of(agent(refund_done()).html())

    assert text.startswith(
        "refund-desk/case-1042✓ done"
        "1 turn · 10 node runs · 1,554 tokens · recorded 2026-11-30 14:49:24 UTC"
    )


def test_the_sections_are_the_graph_and_everything_about_the_session():
    """In the order of reading; the graph and the conversation are open."""
    html = agent(refund_done()).html()
    text = text_of(html)
    titles = [
        "Graph",
        "Conversation",
        "Executors (10)",
        "Why: transitions (13)",
        "Messages by node",
        "Yields (5)",
    ]

    positions = [text.index(title) for title in titles]
    assert positions == sorted(positions)
    assert problems(html) == []
    assert len(images_of(html)) == 1
    # open: graph, conversation, the latest turn within executors, warnings
    assert html.count('open="open"') == 4


def test_before_the_first_turn_the_graph_is_shown():
    """An agent in a cell shows what it is made of."""
    graph = refund_graph()
    view = AgentView("refund-desk", graph, Play(graph).tree)

    assert text_of(view.html()).startswith("refund-desk○ waitingno turn yetGraph")
    assert str(view).splitlines()[0] == "refund-desk - WAITING (no turn yet)"
    assert "triage (LLM)" in str(view)
    assert "Conversation" not in text_of(view.html())


def test_the_text_is_the_conversation_and_the_tree():
    """For terminals."""
    lines = str(agent(refund_done())).splitlines()

    assert lines[1] == "you: My jar arrived broken (order A-1042). I want my money back."
    assert "send: Sent, 148.00 EUR refunded." in lines
    assert any(line.startswith("Root Executor (") for line in lines)


def test_a_running_session_is_shown_running():
    """While any node runs."""
    play = refund_play()
    text = text_of(agent(play, running=set(play.tree.idle)).html())

    assert "refund-desk/case-1042◐ running" in text


def test_a_result_shows_its_own_turn():
    """What was said, and folded under it how it came about."""
    play = refund_done().turn("Thanks").run("intake", "x", ("triage", "not fired", {}, ""))
    html = ResultView("refund-desk", play.graph, play.tree, recorded=NOW).html()
    text = text_of(html)

    assert problems(html) == []
    assert "turn 2 · 1 node run · 0 tokens" in text
    assert "Thanks" in text
    assert "My jar" not in text
    assert text.index("Conversation") < text.index("Graph")
    assert "Messages by node" not in text


def test_a_conversation_has_the_ends_of_each_turn():
    """What nodes told each other on the way is left to their messages."""
    said = conversation(refund_done().tree)

    assert [(entry.who, entry.role) for entry in said.entries] == [
        ("you", "user"),
        ("policy", "assistant"),
        ("approve", "question"),
        ("you", "user"),
        ("send", "assistant"),
    ]


@pytest.mark.parametrize(
    ("first_ended", "order"),
    [("2026-11-30T14:00:09.9Z", ["one", "two"]), ("2026-11-30T14:00:10.1Z", ["two", "one"])],
)
def test_ends_are_told_as_they_came_to_the_second_that_is_shown(first_ended, order):
    """Within a second, branches are told in the order in which they began."""
    specs = "kind: FunctionNode\nname: {}\nfunc: f\nnodes: {}\n---\n"
    text = (
        specs.format("fork", "[one, two]") + specs.format("one", "[]") + specs.format("two", "[]")
    )
    play = Play(load_graph(text, start_node="fork", supplied_functions=["f"])).turn("hi")
    play.run("fork", 1, ("one", "fired", {}, ""), ("two", "fired", {}, ""))
    play.run("one", 1).run("two", 2)
    ended = {"one": first_ended, "two": "2026-11-30T14:00:09.1Z"}
    for executor in play.tree.executors.values():
        executor.ended_at = ended.get(executor.node, executor.ended_at)

    assert [entry.who for entry in conversation(play.tree).entries] == ["you", *order]


def test_what_is_asked_stands_at_the_top():
    """On the agent's card and on the result's, in HTML and in text, with the line that answers."""
    play = refund_asked()
    result = ResultView("refund-desk", play.graph, play.tree, recorded=NOW)

    for view in (agent(play), result):
        text, lines = text_of(view.html()), str(view).splitlines()
        assert problems(view.html()) == []
        assert text.startswith("refund-desk/case-1042◆ needs you")
        assert text.index("Refund 148.0 EUR?") < min(text.index("Graph"), text.index("Conversat"))
        assert "await agent.resume(True)" in text
        assert " - NEEDS YOU (" in lines[0]
        assert lines[1:4] == [
            "◆ approve asks: Refund 148.0 EUR?",
            "  approved: true or false",
            "  → await agent.resume(True)",
        ]
    assert "await agent.resume" not in text_of(agent(refund_done()).html())
    assert "await agent.resume" not in text_of(agent(play, running=play.tree.asking).html())


def test_questions_and_answers_are_part_of_the_conversation():
    """A question stands where it was answered, an open one at the end."""
    assert [(e.who, e.role, e.text) for e in conversation(refund_done().tree).entries[2:4]] == [
        ("approve", "question", "Refund 148.0 EUR?"),
        ("you", "user", '{"approved": true}'),
    ]
    open_ = conversation(refund_asked().tree)
    assert (open_.entries[-1].who, open_.entries[-1].text) == ("approve", "Refund 148.0 EUR?")
    assert open_.text().endswith("approve asks: Refund 148.0 EUR?")
    assert "approve asksRefund 148.0 EUR?" in text_of(open_.html())
    running = conversation(refund_asked().tree, running=refund_asked().tree.asking)
    assert [e.role for e in running.entries] == ["user", "assistant"]


def test_a_question_of_a_tool_call_is_part_of_the_conversation():
    """Though what tools say is left to the answers they led to."""
    specs = "kind: LLMNode\nname: chat\ntools: [pay]\n---\n"
    specs += "kind: ToolNode\nname: pay\ndescription: Pay.\nfunc: f\napproval: true"
    play = Play(load_graph(specs, start_node="chat", supplied_functions=["f"])).turn("hi")
    play.calls("chat", None, ("1", "pay", "{}")).ask("pay", "May it?", {}, kind="approval")
    play.answer("pay", {"approved": True}).run("pay", "paid").run("chat", "bye")

    assert [(e.who, e.role) for e in conversation(play.tree).entries] == [
        ("you", "user"),
        ("pay", "question"),
        ("you", "user"),
        ("chat", "assistant"),
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"late": True}, 'The deadline passed. The fallback was used: {"approved": false}'),
        ({"late": True, "missing": True}, "The deadline passed, and there was no fallback."),
    ],
)
def test_a_question_that_nobody_answered_tells_what_came_in_its_place(more, said):
    """The fallback, or nothing."""
    value = None if "missing" in more else {"approved": False}
    play = refund_asked().answer("approve", value, **more)
    entry = conversation(play.tree).entries[-1]

    assert (entry.who, entry.text) == ("no answer", said)


def test_tool_calls_are_folded_under_the_answer_they_led_to():
    """With arguments and results, failed ones too."""
    specs = "kind: LLMNode\nname: chat\ntools: [look]\n---\n"
    specs += "kind: ToolNode\nname: look\ndescription: Look.\nfunc: f"
    play = Play(load_graph(specs, start_node="chat", supplied_functions=["f"])).turn("hi")
    play.calls("chat", None, ("1", "look", '{"a": 1}'), ("2", "look", "{}"))
    play.run("look", "found").run("look", error=("ToolError", "nothing there")).run("chat", "bye")
    (_, answer) = conversation(play.tree).entries

    assert answer.text == "bye"
    assert [(c.name, c.arguments, c.result) for c in answer.calls] == [
        ("look", '{"a": 1}', "found"),
        ("look", "{}", "ToolError: nothing there"),
    ]
    shown = text_of(conversation(play.tree).html())
    assert 'tool look({"a": 1}) → found' in shown
    assert "tool look({}) → ToolError: nothing there" in shown


def test_failures_and_cancelled_turns_are_part_of_the_conversation():
    """A person reads why there is no answer."""
    play = Play(load_graph("kind: FunctionNode\nname: echo\nfunc: f", supplied_functions=["f"]))
    play.turn("one").run("echo", error=("ValueError", "no")).turn("two").cancel("stopped by hand")

    assert [(e.who, e.text) for e in conversation(play.tree).entries] == [
        ("you", "one"),
        ("echo", "ValueError: no"),
        ("you", "two"),
        ("cancelled", "stopped by hand"),
    ]


def test_a_long_session_shows_its_latest_turns():
    """A thousand turns make a small record, with a count."""
    play = Play(load_graph("kind: FunctionNode\nname: echo\nfunc: f", supplied_functions=["f"]))
    for number in range(1_000):
        play.turn(f"say {number}").run("echo", f"said {number}")
    html = agent(play).html()

    assert "… 980 earlier turns" in text_of(html)
    assert "said 999" in text_of(html)
    assert len(html) < 400_000


def test_a_turn_with_many_ends_shows_the_latest():
    """However many branches a turn has, the record stays small."""
    specs = "kind: LLMNode\nname: chat\ntools: [look]\nnodes: [last]\n---\n"
    specs += "kind: ToolNode\nname: look\ndescription: Look.\nfunc: f\n---\n"
    specs += "kind: FunctionNode\nname: last\nfunc: f\n"
    graph = load_graph(specs, start_node="chat", supplied_functions=["f"])
    play = Play(graph)
    for number in range(20):
        play.turn(f"say {number}")
        play.calls("chat", None, *((f"{i}", "look", "{}") for i in range(30)))
        for _ in range(30):
            play.run("look", "found")
        play.run("chat", "x" * 9_000, ("last", "not fired", {}, ""))
    play.turn("again").cancel("enough").turn("again").cancel("enough")
    html = agent(play).html()

    assert "… 2 earlier turns" in text_of(html)
    assert "… 10 more tool calls" in text_of(html)
    assert len(html) < 1_000_000


def test_the_messages_of_every_model_are_kept():
    """Folded by node."""
    text = text_of(agent(refund_done()).html())

    assert "triage (4)" in text
    assert "draft (2)" in text


def test_the_record_is_a_snapshot():
    """A later turn does not change what was shown."""
    play = refund_done()
    view = agent(play)
    before = str(view), view.html()

    play.turn("And now?").run("intake", "x", ("triage", "fired", {}, ""))

    assert (str(view), view.html()) == before


def test_warnings_about_the_specs_stand_on_the_agent_s_card():
    """What loads and is probably not meant is seen without asking for it."""
    specs = """
kind: LLMNode
name: grader
yields: {score: integer}
edges: [{target: next, when: scor > 1}]
---
kind: LLMNode
name: next
"""
    view = AgentView("grader", load_graph(specs), Tree("", ""))

    assert "did you mean 'score'" in str(view)
    assert "Warnings about the specs (1)" in text_of(view.html())
    assert "did you mean 'score'" in text_of(view.html())
    assert problems(view.html()) == []
