"""What the views load, and when."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = {"networkx", "matplotlib", "pygraphviz", "PIL", "ipywidgets", "openai", "diskcache"}


def loaded(code: str) -> str:
    """The heavy libraries that a fresh interpreter has loaded after some code."""
    begin = "import sys; sys.path[:0] = sys.argv[1:]\nimport liman_nb.views\n"
    script = f"{begin}{code}\nprint(sorted({HEAVY} & set(sys.modules)))"
    paths = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]
    command = [sys.executable, "-c", script, *paths]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_views_loads_nothing_heavy():
    """Half a second of a kernel's start is worth a rule."""
    assert loaded("") == "[]"


def test_showing_a_graph_loads_nothing_heavy():
    """Graphviz works in its own process, and the layout needs no networkx."""
    code = (
        "from drawn_graphs import HARD\n"
        "from liman_nb.views.layout import lay_out\n"
        "from liman_nb.views.svg import svg\n"
        "svg(HARD['cycles'], lay_out(HARD['cycles']))\n"
    )

    assert loaded(code) == "[]"
