"""What callers get of figures: values by measure, which are read by every spelling of its name, and frames of pandas.

A measure without ``rel`` counts the grades that the judgments themselves call relevant. So the names of a set with
relevant grades from 2 on are ``mrr@10`` and ``r@10``, and another level is spelled out: ``r@10(rel=1)``.

In frames, ids and texts are of pandas' ``string`` type, so that ``"007"`` stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from goldbench.errors import UnknownMeasure
from goldbench.measures.names import Measure, parse_measure

if TYPE_CHECKING:
    import pandas as pd

V = TypeVar("V")


class ByMeasure(dict[str, V]):
    """Values by the short name of a measure; ``[]``, ``in`` and ``get`` take any spelling, and measures."""

    def __init__(self, values: Mapping[str, V], *, level: int) -> None:
        """Take the values.

        Args:
            values: The values by short name.
            level: The smallest relevant grade of a name without one.
        """
        super().__init__(values)
        self._level = level

    def __missing__(self, measure: str | Measure) -> V:
        name = self._name(measure)
        if name not in self.keys():
            raise KeyError(f"{name}: not measured; measured are {', '.join(self)}")
        return super().__getitem__(name)

    def __contains__(self, measure: object) -> bool:
        try:
            return self._name(measure) in self.keys()
        except KeyError:
            return False

    def get(self, measure: str, default: Any = None, /) -> Any:  # noqa: ANN401  as of dict
        """Return the value of a measure, or the default."""
        try:
            return self[measure]
        except KeyError:
            return default

    def _name(self, measure: object) -> str:
        try:
            known = measure if isinstance(measure, Measure) else parse_measure(str(measure), rel=self._level)
        except UnknownMeasure as error:
            raise KeyError(str(error)) from None
        return known.name_at(self._level)


class ByQuery(dict[str, V]):
    """Values by query."""

    def __missing__(self, query_id: object) -> V:
        raise KeyError(f"{query_id!r}: not a scored query; query_ids lists the {len(self):,} of this evaluation")


def short_names(names: Iterable[str], level: int) -> dict[str, str]:
    """Return the short name of each measure by its full name.

    Args:
        names: Full names, as files and records of goldbench hold them.
        level: The smallest relevant grade of a name without one.
    """
    return {name: parse_measure(name).name_at(level) for name in names}


def relevance(level: int) -> tuple[str, ...]:
    """Return the line that says which grades are relevant, where it is not every grade from 1."""
    return () if level == 1 else (f"Relevant: grade {level} or more.",)


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
