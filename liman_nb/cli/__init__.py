"""The ``liman-nb`` command.

`commands.py` has the commands and `options.py` what they take; `functions.py` loads the Python
files that an option names, `transcript.py` prints a turn while it runs, and `terminal.py` is the
way out.
"""

from liman_nb.cli.commands import main

__all__ = ["main"]
