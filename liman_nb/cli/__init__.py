"""The ``liman-nb`` command.

`commands.py` has the commands, `sessions.py` those on stored sessions, and `options.py` what they
take; `stores.py` finds a session in a store, `functions.py` loads the Python files that an option
names, `talking.py` runs a turn to its end or to its open questions, `asking.py` asks a person at
the terminal, `transcript.py` prints a turn while it runs, and `terminal.py` is the way out.
"""

from liman_nb.cli.commands import main

__all__ = ["main"]
