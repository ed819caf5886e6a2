"""``python -m liman_nb`` is the ``liman-nb`` command."""

from liman_nb.cli import main

main()
