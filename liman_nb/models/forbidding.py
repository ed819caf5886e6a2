"""The switch that forbids real models, so that a test can never reach one by mistake."""

from __future__ import annotations

import os

from liman_nb.errors import RealModelForbidden

NO_REAL_MODELS = "LIMAN_NB_NO_REAL_MODELS"
"""Environment variable; set to anything but ``0`` or nothing, it forbids them."""


def check_allowed(model: object) -> None:
    """Called by every real model before it touches the network or starts a process.

    Args:
        model: the model that is about to be used, for the message.

    Raises:
        RealModelForbidden: real models are forbidden.
    """
    if os.environ.get(NO_REAL_MODELS, "0").strip() not in ("", "0"):
        raise RealModelForbidden(
            f"{model!r} is a real model, which {NO_REAL_MODELS} or forbid_real_models() forbids"
            " here; pass llm=ScriptedLLM([…]), a RecordedLLM of a recorded run, or a function"
        )
