"""What is printed about every sort of mistake: the files in ``mistakes/`` are the specification.

A case is a title behind ``===``, a spec, and behind ``=>`` the exact lines that `check` prints.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from liman_nb.specs import check_specs

CASES = {
    f"{path.stem}: {case.partition(chr(10))[0]}": case.partition("\n")[2]
    for path in sorted((Path(__file__).parent / "mistakes").glob("*.txt"))
    for case in path.read_text(encoding="utf-8").split("\n=== ")[1:]
}


@pytest.mark.parametrize("title", CASES)
def test_what_is_printed_about_a_mistake(title):
    """Place, document, what is wrong, and what to do; nothing else."""
    spec, _, printed = CASES[title].partition("=>\n")
    start_node = "a" if title.startswith(("edges", "links")) else None
    problems = check_specs(spec, start_node=start_node)
    assert "\n".join(f"{p.level}: {p}" for p in problems) == printed.strip()


def test_every_case_is_read():
    """The files are not empty, and no title stands twice."""
    assert len(CASES) > 100
