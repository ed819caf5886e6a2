"""What the views load, and when."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"networkx", "matplotlib", "pygraphviz", "PIL", "ipywidgets", "openai", "diskcache"}


def loaded(code: str) -> str:
    """The heavy libraries that a fresh interpreter has loaded after some code."""
    script = f"import sys, liman_nb.views as v\n{code}\nprint(sorted({HEAVY} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_importing_the_views_loads_nothing_heavy():
    """Half a second of a kernel's start is worth a rule."""
    assert loaded("") == "[]"


def test_showing_a_graph_loads_nothing_heavy():
    """Graphviz works in its own process, and the layout needs no networkx."""
    code = (
        "sys.path.insert(0, 'tests/views')\n"
        "from drawn_graphs import HARD\n"
        "from liman_nb.views.layout import lay_out\n"
        "from liman_nb.views.svg import svg\n"
        "svg(HARD['cycles'], lay_out(HARD['cycles']))\n"
    )

    assert loaded(code) == "[]"
