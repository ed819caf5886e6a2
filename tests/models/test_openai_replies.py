"""Replies of servers that nobody has seen yet: any JSON is a reply or a named error."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_shapes import SHAPES

from liman_nb.errors import ModelError, ModelReplyTruncated
from liman_nb.models.llm import Reply
from liman_nb.models.openai_replies import quote, read_reply
from liman_nb.models.openai_stream import StreamedReply

WORDS = [
    *("choices", "message", "delta", "content", "tool_calls", "function", "name", "arguments"),
    *("id", "index", "finish_reason", "refusal", "usage", "model", "stop", "text", "function_call"),
]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
    max_leaves=20,
)
ANY_OBJECT = st.dictionaries(st.sampled_from(WORDS), ANY_JSON, max_size=5)


def nested(key: str) -> st.SearchStrategy[dict[str, Any]]:
    """An object that looks like a completion or a chunk as far as its choices."""
    choice = st.fixed_dictionaries({key: ANY_OBJECT}, optional={"finish_reason": ANY_JSON})
    return st.fixed_dictionaries(
        {"choices": st.lists(choice, max_size=2)}, optional={"usage": ANY_JSON}
    )


@given(ANY_OBJECT | nested("message"))
def test_any_object_as_a_whole_reply(completion: dict[str, Any]):
    """Whatever a server sends is a well-formed reply or an error that names the model."""
    try:
        check_well_formed(read_reply(completion, "model 'm'"))
    except ModelError as error:
        check_names_the_model(error)


@given(st.lists(ANY_OBJECT | nested("delta"), max_size=5))
def test_any_objects_as_a_stream(chunks: list[dict[str, Any]]):
    """The same holds for chunks."""
    whole = StreamedReply("model 'm'")
    try:
        for chunk in chunks:
            whole.add(chunk)
        check_well_formed(read_reply(whole.completion(), "model 'm'"))
    except ModelError as error:
        check_names_the_model(error)


def check_names_the_model(error: ModelError) -> None:
    """Whoever reads the error knows which model it was."""
    assert "model 'm'" in str(error)


def check_well_formed(reply: Reply) -> None:
    """Text is missing only beside calls, ids never, and everything has its type."""
    assert isinstance(reply.text, str) or (reply.text is None and reply.tool_calls)
    for call in reply.tool_calls:
        assert call.id
        assert isinstance(call.name, str)
        assert isinstance(call.arguments, str)
    assert isinstance(reply.usage.input_tokens, int)
    assert isinstance(reply.usage.output_tokens, int)


@given(st.text(max_size=40), st.lists(st.integers(0, 40), max_size=5))
def test_a_text_cut_anywhere(text: str, cuts: list[int]):
    """Where a text is cut makes no difference."""
    whole = StreamedReply("m")
    passed = [whole.add(chunk({"content": part})) for part in parts(text, cuts)]
    whole.add({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    assert read_reply(whole.completion(), "m").text == "".join(passed) == text


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=9)), st.lists(st.integers(0, 40)))
def test_arguments_cut_anywhere(arguments: dict[str, str], cuts: list[int]):
    """Where arguments are cut makes no difference, also when the name comes with every piece."""
    written = json.dumps(arguments)
    for name in ("f", None):
        whole = StreamedReply("m")
        whole.add(call_piece("f", ""))
        for part in parts(written, cuts):
            whole.add(call_piece(name, part))
        whole.add({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
        (call,) = read_reply(whole.completion(), "m").tool_calls
        assert (call.name, call.arguments) == ("f", written)


def chunk(delta: dict[str, Any]) -> dict[str, Any]:
    """A chunk with one delta."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def call_piece(name: str | None, arguments: str) -> dict[str, Any]:
    """A chunk with one piece of a call."""
    return chunk({"tool_calls": [{"index": 0, "function": {"name": name, "arguments": arguments}}]})


def parts(text: str, cuts: list[int]) -> list[str]:
    """A text cut at some places."""
    ends = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    return [text[start:end] for start, end in itertools.pairwise(ends)]


def test_the_limit_is_named():
    """A truncated reply says after how many tokens, and what to do."""
    shape = next(shape for shape in SHAPES if shape.means is ModelReplyTruncated)
    with pytest.raises(ModelReplyTruncated) as caught:
        read_reply(shape.whole, "model 'm' at h")
    assert str(caught.value) == (
        "model 'm' at h stopped at its token limit after 4 tokens, so the reply is incomplete;"
        " raise max_tokens (on the node or on the LLM object), or ask for a shorter answer"
    )


def test_quoting():
    """What is quoted of a server is one line, and short."""
    assert quote("a\n b\t c") == "a b c"
    assert quote({"a": [1]}) == '{"a": [1]}'
    assert quote("x" * 1000) == "x" * 300 + "…"
