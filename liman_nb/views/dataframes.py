"""Records as pandas DataFrames, for who has pandas. It is imported here alone, when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from liman_nb.errors import SetupError

if TYPE_CHECKING:
    import pandas

ColumnKind = Literal["time", "int64", "bool", "object"]


def data_frame(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, ColumnKind]
) -> pandas.DataFrame:
    """A DataFrame with a row for each mapping.

    Args:
        rows: the values by column.
        columns: the columns in order, also of a frame without rows. A ``time`` is text that becomes
            a moment, UTC; one that is no time, such as an empty one, becomes ``NaT``. An ``object``
            stays as it is: text, a dictionary, a list.

    Raises:
        SetupError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise SetupError(
            "DataFrames need pandas, which is not installed: pip install pandas"
        ) from error
    cells = [[row[name] for name in columns] for row in rows]
    frame = pandas.DataFrame(cells, columns=list(columns), dtype=object)
    for name, kind in columns.items():
        if kind == "time":
            times = pandas.to_datetime(frame[name], utc=True, format="ISO8601", errors="coerce")
            frame[name] = times
        else:
            frame[name] = frame[name].astype(kind)
    return frame
