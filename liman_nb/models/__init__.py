"""Language models behind one seam, from a script to a real server.

`llm.py` is the seam. `scripted.py`, `callables.py`, `openai_chat.py`, `langchain.py` and `local.py`
implement it, `recorded.py` records and replays another one; `choose.py` decides which one is meant.
Importing this package loads no model and no client.
"""

from liman_nb.models.callables import CallableLLM
from liman_nb.models.choose import as_llm, default_llm
from liman_nb.models.fetch import fetch_model, progress_bar
from liman_nb.models.langchain import LangChainLLM
from liman_nb.models.llm import LLM, OnToken, Reply, Request, ToolCall, ToolSchema, Usage
from liman_nb.models.local import LocalLLM
from liman_nb.models.openai_chat import OpenAILLM
from liman_nb.models.recorded import RecordedLLM
from liman_nb.models.scripted import ScriptedLLM
from liman_nb.models.written import call

__all__ = [
    "LLM",
    "CallableLLM",
    "LangChainLLM",
    "LocalLLM",
    "OnToken",
    "OpenAILLM",
    "RecordedLLM",
    "Reply",
    "Request",
    "ScriptedLLM",
    "ToolCall",
    "ToolSchema",
    "Usage",
    "as_llm",
    "call",
    "default_llm",
    "fetch_model",
    "progress_bar",
]
