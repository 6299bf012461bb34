"""The page on which people judge, and the ledger of their decisions: the extra ``review``.

Raises:
    MissingExtra: A package that it needs is not installed.
"""

from goldbench.errors import require

require("review", "jinja2", "nh3", "pyromark", "starlette", "uvicorn")
