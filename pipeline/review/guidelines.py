"""A project's own guidelines for judging, shown beside the rubric: a Markdown file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from goldbench.pipeline.errors import InputError, plain_file
from goldbench.pipeline.goldset.folder import GoldFolder
from goldbench.pipeline.report.passage_html import LONGEST_RENDERED, passage_html

LONGEST = LONGEST_RENDERED
"""Characters of guidelines; a longer file is refused, since nobody reads it while judging."""


@dataclass(frozen=True, slots=True)
class Guidelines:
    """The text of guidelines. Its digest is stored with every judgment given beside it."""

    text: str

    @property
    def sha(self) -> str:
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def html(self) -> str:
        """Return the guidelines as safe HTML."""
        return passage_html(self.text)


def load_guidelines(folder: Path, given: Path | None) -> Guidelines | None:
    """Return the guidelines of a review: those in a given file, else ``guidelines.md`` in the set's folder, or None.

    Args:
        folder: The folder of the set.
        given: The file, if one was given.

    Raises:
        InputError: The given file is missing, or the file is empty, too long or not text in UTF-8.
    """
    path = given or GoldFolder(folder).guidelines
    if given is None and not path.is_file():
        return None
    try:
        text = plain_file(path).read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        raise InputError(path, f"cannot be read ({(error.strerror or 'no reason given').lower()})") from None
    except UnicodeDecodeError:
        raise InputError(path, "is not text in UTF-8; save it as UTF-8") from None
    if not text:
        raise InputError(path, "holds no guidelines; write them, or remove the file")
    if len(text) > LONGEST:
        raise InputError(path, f"holds {len(text):,} characters; guidelines have at most {LONGEST:,}: shorten them")
    return Guidelines(text)
