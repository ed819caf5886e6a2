"""Which model is meant: by an object that a user passes, or by this machine when none is passed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from liman_nb.errors import SetupError, UsageError
from liman_nb.models.callables import CallableLLM
from liman_nb.models.langchain import LangChainLLM, is_chat_model
from liman_nb.models.llm import LLM
from liman_nb.models.local import LocalLLM, local_runtime_installed
from liman_nb.models.model_file import model_path
from liman_nb.models.openai_chat import OpenAILLM
from liman_nb.models.recorded import RecordedLLM
from liman_nb.models.scripted import ScriptedLLM

DEFAULT_OPENAI_MODEL = "gpt-4o-mini"

_RECORDED = "recorded:"


def as_llm(model: Any) -> LLM:
    """A language model from what users write for one.

    Args:
        model: the name of an OpenAI model (``"gpt-4o-mini"``), ``"local"``, the path of a
            ``.gguf`` file, or ``"recorded:"`` and the path of a recording; a list, or a
            dictionary of lists by node, as the script of a
            :class:`~liman_nb.models.scripted.ScriptedLLM`; a sync or async function of the request;
            a chat model of LangChain; or an object with ``complete``, which is returned as it is.

    Raises:
        UsageError: it is none of these.
    """
    if isinstance(model, type):
        raise UsageError(
            f"llm is the class {model.__name__}; pass an instance: {model.__name__}(…)"
        )
    if isinstance(model, LLM):
        return model
    if isinstance(model, str) and model:
        return _named(model)
    if isinstance(model, list | tuple | Mapping):
        return ScriptedLLM(model)
    if is_chat_model(model):
        return LangChainLLM(model)
    if callable(model):
        return CallableLLM(model)
    raise UsageError(
        f"llm cannot be {type(model).__name__}; pass the name of an OpenAI model, an LLM object"
        " such as OpenAILLM(…), LocalLLM() or ScriptedLLM([…]), a chat model of LangChain, a"
        " list of replies, or a function of the request"
    )


def _named(model: str) -> LLM:
    if model == "local":
        return LocalLLM()
    if model.startswith(_RECORDED):
        return RecordedLLM(model.removeprefix(_RECORDED))
    return LocalLLM(model) if model.endswith(".gguf") else OpenAILLM(model)


def default_llm() -> LLM:
    """The model of this machine, for an agent that was given none.

    OpenAI's API when ``OPENAI_API_KEY`` or ``OPENAI_BASE_URL`` is set, with the model that
    ``OPENAI_MODEL`` or ``LIMAN_NB_MODEL`` names; else the local model when it is installed.

    Raises:
        SetupError: there is neither; the message is what to do.
    """
    if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"):
        named = os.environ.get("OPENAI_MODEL") or os.environ.get("LIMAN_NB_MODEL")
        return OpenAILLM(named or DEFAULT_OPENAI_MODEL)
    if local_runtime_installed() and model_path().is_file():
        return LocalLLM()
    raise SetupError(
        "there is no language model here yet: set OPENAI_API_KEY, or get a small local one with"
        ' `pip install "liman_nb[local]"` and then `liman-nb model fetch`'
    )
