"""Texts evened out, so that the same passage is known again whatever its white space, case and compatibility forms."""

from __future__ import annotations

import unicodedata


def normal(text: str) -> str:
    """Return the text as it is compared."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
