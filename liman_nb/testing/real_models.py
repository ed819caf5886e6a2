"""No real model is called by mistake in a test suite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from liman_nb.models.forbidding import NO_REAL_MODELS


@contextmanager
def forbid_real_models() -> Iterator[None]:
    """Every call of a real model raises `RealModelForbidden` before the network is touched.

    Real are `OpenAILLM`, `LocalLLM` and chat models of LangChain; scripts, replayed recordings,
    functions and objects of your own work. It sets ``LIMAN_NB_NO_REAL_MODELS`` in the environment,
    so it holds in all threads and in processes that are started meanwhile.

    Example:
        >>> @pytest.fixture(autouse=True)
        ... def no_real_models():
        ...     with forbid_real_models():
        ...         yield
    """
    before = os.environ.get(NO_REAL_MODELS)
    os.environ[NO_REAL_MODELS] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(NO_REAL_MODELS, None)
        else:
            os.environ[NO_REAL_MODELS] = before
