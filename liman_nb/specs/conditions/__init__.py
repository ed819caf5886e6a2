"""The condition language of edges. Its front is `condition.py`.

In reading order: `tree` (what a condition is), `syntax` and `mistakes` (from text to tree), `names`
and `values` (what it may read), `algebra` and `evaluation` (what comes of it), `shown` and `words`
(why), `filled` (with its values put in), `liman` (how Liman's own grammar would read it),
`condition`.
"""

from liman_nb.specs.conditions.condition import (
    Condition,
    ErrorView,
    Evaluation,
    Outcome,
    View,
    parse_condition,
    print_condition,
)

__all__ = [
    "Condition",
    "ErrorView",
    "Evaluation",
    "Outcome",
    "View",
    "parse_condition",
    "print_condition",
]
