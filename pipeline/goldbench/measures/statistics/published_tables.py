"""Published tables: figures that an article prints, to show beside measured ones."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from goldbench.measures.names import parse_measure
from goldbench.records.experiment import PublishedRow
from goldbench.records.record import Record

Figures = tuple[Annotated[float, Field(ge=0, le=1)], ...]
"""A figure for each cutoff, from 0 to 1."""


class PublishedFigures(Record):
    """The figures of one system in an article, and the measured systems that they stand beside."""

    beside: tuple[str, ...]
    hit_rate: Figures = ()
    mrr: Figures = ()


class PublishedTable(Record):
    """The table ``published`` of a ``bench.toml``: the cutoffs, and a table for each system in the article."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, PublishedFigures]

    top_k: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(), description="Cutoffs of the published figures.")

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        for name, figures in self.__pydantic_extra__.items():
            for measure, values in (("hit_rate", figures.hit_rate), ("mrr", figures.mrr)):
                if len(values) not in {0, len(self.top_k)}:
                    raise ValueError(
                        f"{name}.{measure}: give one figure for each of the {len(self.top_k)} cutoffs in top_k"
                    )
        return self


def published_rows(table: PublishedTable, level: int) -> list[PublishedRow]:
    """Return the figures of each system by measure.

    Args:
        table: The table.
        level: The smallest grade that counts as relevant.
    """
    rows = []
    for name, figures in table.__pydantic_extra__.items():
        values = {
            parse_measure(f"{family}@{k}", rel=level).name: value
            for family, printed in (("hit", figures.hit_rate), ("mrr", figures.mrr))
            for k, value in zip(table.top_k, printed, strict=False)
        }
        rows.append(PublishedRow(published=name, beside=figures.beside, values=values))
    return rows
