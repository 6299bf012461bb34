"""The door of pandas: columns out as frames. Ids and texts are of pandas' ``string`` type, so that ``"007"`` stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["text", "whole", "number", "any"]

_DTYPES = {"text": "string[python]", "whole": "int64", "number": "float64", "any": "object"}
"""The storage of Python holds any text, half a surrogate pair too."""


def frame_of(columns: Mapping[str, tuple[Kind, Sequence[Any]]]) -> pd.DataFrame:
    """Return columns as a frame; None is a missing value in columns of texts and numbers.

    Args:
        columns: The kind and the values of each column, by its name.
    """
    import pandas as pd

    return pd.DataFrame(
        {name: pd.Series(list(values), dtype=_DTYPES[kind]) for name, (kind, values) in columns.items()}
    )


def stacked(frames: Mapping[str, pd.DataFrame], *, column: str) -> pd.DataFrame:
    """Return frames one below the other, the name of each in a first column.

    Args:
        frames: The frames by name, at least one.
        column: The name of the first column.
    """
    import pandas as pd

    named = []
    for name, frame in frames.items():
        frame.insert(0, column, pd.Series([name] * len(frame), dtype=_DTYPES["text"]))
        named.append(frame)
    return pd.concat(named, ignore_index=True)
