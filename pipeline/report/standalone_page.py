"""Pages of HTML that stand alone: templates beside this file, everything escaped, the library inline once."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pipeline.report.charts import library


def rendered(template: str, /, **values: Any) -> str:  # noqa: ANN401  templates take what they name
    """Return a page. Only what is marked as HTML goes in as HTML; a missing value is an error."""
    environment = Environment(
        loader=PackageLoader("pipeline.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    page = environment.get_template(template).render(plotly=library(), **values)
    return page.encode("utf-8", "replace").decode()  # a lone surrogate cannot be written to a file
