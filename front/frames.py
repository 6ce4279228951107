"""Data frames: rows as pandas has them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from allusion_es.core.errors import UsageError

if TYPE_CHECKING:
    import pandas


def data_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> "pandas.DataFrame":
    """The rows as a data frame, which has its columns also where there are no rows.

    Raises:
        UsageError: pandas is not installed.

    Example:
        >>> data_frame([{"id": "Ps.22.1", "score": 9.98}], ["id", "score"]).shape
        (1, 2)
    """
    try:
        import pandas  # takes half a second, and no other part of the program needs it
    except ImportError as error:
        raise UsageError(
            "to_pandas needs pandas, which is not installed: pip install 'allusion-es[pandas]'"
        ) from error
    return pandas.DataFrame(list(rows), columns=list(columns))
