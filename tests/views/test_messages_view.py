"""A node's messages: a sequence for programs, a conversation for people."""

from __future__ import annotations

from html_check import problems, text_of
from view_examples import refund_done

from liman_nb.views import MessagesView
from liman_nb.views.messages import ShownCall, ShownMessage, shown_messages


def call(identity: str, name: str = "look", arguments: str = "{}") -> dict:
    """A tool call of an assistant's message."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def asked(*calls: dict, content: str | None = None) -> dict:
    """An assistant's message with tool calls."""
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(identity: str, content: str) -> dict:
    """A tool's message."""
    return {"role": "tool", "tool_call_id": identity, "content": content}


def test_it_is_a_sequence_of_messages():
    """Length, indices, slices, iteration give the dictionaries themselves."""
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    view = MessagesView("chat", messages)

    assert len(view) == 2
    assert view[-1] == {"role": "assistant", "content": "hello"}
    assert view[:1] == [{"role": "user", "content": "hi"}]
    assert list(view) == messages
    assert view.node == "chat"


def test_it_is_a_copy():
    """Neither the history's growth nor a change deep inside is seen."""
    messages = [asked(call("1"))]
    view = MessagesView("chat", messages)

    messages[0]["tool_calls"][0]["function"]["name"] = "changed"
    messages.append({"role": "user", "content": "later"})

    assert len(view) == 1
    assert view[0]["tool_calls"][0]["function"]["name"] == "look"


def test_results_are_put_to_their_calls():
    """By id, whatever their order."""
    (message,) = shown_messages(
        [
            asked(call("1", "one"), call("2", "two"), content="hm"),
            result("2", "b"),
            result("1", "a"),
        ]
    )

    assert message == ShownMessage(
        "assistant", "hm", (ShownCall("one", "{}", "a"), ShownCall("two", "{}", "b"))
    )


def test_ids_that_repeat_later_are_not_confused():
    """A model may number its calls anew in every reply."""
    shown = list(
        shown_messages([asked(call("1")), result("1", "a"), asked(call("1")), result("1", "b")])
    )

    assert [message.calls[0].result for message in shown] == ["a", "b"]


def test_a_result_without_a_call_is_shown_by_itself():
    """Nothing of a history is hidden."""
    shown = list(shown_messages([asked(call("1")), result("9", "stray"), result("1", "late")]))

    assert [(m.role, m.text) for m in shown] == [
        ("assistant", ""),
        ("tool", "stray"),
        ("tool", "late"),
    ]
    assert shown[0].calls[0].result is None


def test_content_in_parts_is_read():
    """Text parts as text, others as JSON."""
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}]
    (message,) = shown_messages([{"role": "user", "content": parts}])

    assert message.text == 'see\n{"type": "image_url", "image_url": {"url": "x"}}'


def test_odd_messages_are_shown_and_not_refused():
    """A stored history may hold anything."""
    odd = [
        {},
        {"role": 3, "content": 7},
        asked({}, {"id": None, "function": None}),
        {"tool_calls": []},
    ]

    view = MessagesView("chat", odd)

    assert len(list(shown_messages(odd))) == 4
    assert problems(view.html()) == []
    assert str(view).startswith("Messages of chat (4)")


def test_the_text_is_a_transcript():
    """Calls and results under the message that made them."""
    play = refund_done()

    assert str(MessagesView("triage", play.tree.actors["triage"].messages)).splitlines() == [
        "Messages of triage (4)",
        'user: {"text": "My jar arrived broken", "lang": "en"}',
        "assistant:",
        '  get_order({"order": "A-1042"})',
        '  → {"order":"A-1042","amount":148.0,"age_days":9}',
        'assistant: {"intent": "refund", "confidence": 0.71, "resolved": false}',
    ]


def test_the_html_folds_calls_with_arguments_and_result():
    """Arguments as readable JSON."""
    play = refund_done()
    html = MessagesView("triage", play.tree.actors["triage"].messages).html()

    assert problems(html) == []
    assert html.count("<details") == 1
    assert 'tool get_order({"order": "A-1042"}) → {"order":"A-1042",' in text_of(html)
    assert 'arguments{\n  "order": "A-1042"\n}result' in text_of(html)


def test_arguments_that_are_no_json_are_shown_as_written():
    """A model's mistake is seen as it was made."""
    html = MessagesView("chat", [asked(call("1", "look", '{"a": '))]).html()

    assert '{"a": ' in text_of(html)


def test_a_long_history_shows_its_end_with_a_count():
    """Ten thousand messages stay a small output."""
    view = MessagesView("chat", [{"role": "user", "content": f"n{i}"} for i in range(10_000)])
    text = text_of(view.html())

    assert "… 9,950 earlier; messages[i] gives each" in text
    assert "n9999" in text
    assert "n9949" not in text
    assert len(view.html()) < 50_000
    assert str(view).splitlines()[1] == "… 9,900 earlier"


def test_no_messages_are_said_to_be_none():
    """An empty output would be a riddle."""
    assert "No messages." in text_of(MessagesView("send", []).html())
