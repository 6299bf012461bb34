"""Which encodings the files of a run are in: those that the configuration names, and what was found about others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from goldbench.errors import Message
from goldbench.formats.charsets import Judgement
from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.globs import is_matched
from goldbench.formats.documents.sources import SourceFile
from goldbench.records.manifest import FileEncoding
from goldbench.text.display import amount, shown

LISTED, SHOWN = 1000, 20
"""How many files are listed in the manifest, the least certain first, and how many of those in doubt are named."""


def encoding_for(file: SourceFile, options: ReadOptions) -> str | None:
    """Return the encoding that is set for a file: of the first pattern that it matches, else the one for all files.

    Args:
        file: The file; patterns are compared with its path below the folder given, and with its path as given.
        options: The settings.
    """
    if not options.encodings:
        return options.encoding
    paths = (file.source, file.path.as_posix())
    return next(
        (name for pattern, name in options.encodings.items() if any(is_matched(pattern, path) for path in paths)),
        options.encoding,
    )


def unmatched(files: Iterable[SourceFile], options: ReadOptions) -> list[str]:
    """Return the patterns of encodings that no file matches, in order."""
    left = dict.fromkeys(options.encodings)
    for file in files:
        for pattern in [one for one in left if is_matched(one, file.source) or is_matched(one, file.path.as_posix())]:
            del left[pattern]
        if not left:
            break
    return list(left)


class Encodings:
    """The encodings of the files read so far; memory is bounded for any number of files.

    Args:
        unmatched: The patterns of encodings that no file matches.
    """

    def __init__(self, unmatched: Sequence[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self.doubtful = 0
        self._unmatched, self._guessed = unmatched, Counter[str]()
        self._least: list[FileEncoding] = []

    def taken_from(self, path: Path, answers: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the answers of a process about a file without what they say of its encoding, which is taken."""
        for answer in answers:
            if found := answer.pop("encoding", None):
                self.add(path, Judgement(*found))
            if answer:
                yield answer

    def add(self, path: Path, judgement: Judgement) -> None:
        """Take what was found about a file."""
        self.counts[judgement.encoding] += 1
        self.doubtful += judgement.is_doubtful
        if judgement.confidence < 1 and not judgement.is_doubtful:
            self._guessed[judgement.encoding] += 1
        if judgement.confidence < 1 or judgement.remark:
            self._least.append(
                FileEncoding(
                    item=shown(path),
                    encoding=judgement.encoding,
                    confidence=judgement.confidence,
                    remark=judgement.remark or None,
                )
            )
            if len(self._least) >= 2 * LISTED:
                self._least = self.listed()

    def listed(self) -> list[FileEncoding]:
        """Return the files whose encoding is not certain: those in doubt first, then by confidence; the first 1,000."""
        order = sorted(self._least, key=lambda one: (not _is_doubtful(one), one.confidence, one.item))
        return order[:LISTED]

    def notes(self, *, has_manifest: bool = True) -> list[str]:
        """Return the lines that name the files in doubt, and count those whose encoding was guessed.

        Args:
            has_manifest: Whether a manifest lists the files, so that only the first of those in doubt are named.
        """
        lines = [
            f"documents.encodings: no file matches '{shown(pattern)}'; a pattern is compared with the path below the "
            "folder given, and with the path as given"
            for pattern in self._unmatched
        ]
        if self._guessed:
            names = ", ".join(f"{name} {count:,}" for name, count in self._guessed.most_common())
            lines.append(
                f"{amount(self._guessed.total(), 'file')} not in UTF-8, whose encoding was guessed by the bytes: "
                f"{names}{'; the manifest lists them' if has_manifest else ''}"
            )
        return lines + self._in_doubt(has_manifest)

    def _in_doubt(self, has_manifest: bool) -> list[str]:
        if not self.doubtful:
            return []
        files = [one for one in self.listed() if _is_doubtful(one)][: SHOWN if has_manifest else LISTED]
        found = f"{amount(self.doubtful, 'file')} decoded with doubt"
        again = Message(", and build with {replace=True}") if has_manifest else ""
        how = "{}; to correct one, name it with {encoding=} or by pattern in [documents.encodings]{}:"
        lines: list[str] = [Message(how, found, again)]
        lines += [f"  {one.item}: {one.encoding}{_why(one)}" for one in files]
        if more := self.doubtful - len(files):
            listed = f"; the manifest lists the first {LISTED:,}" if has_manifest else ""
            lines.append(f"  and {more:,} more{listed}")
        return lines


def _is_doubtful(one: FileEncoding) -> bool:
    return Judgement(one.encoding, one.confidence, one.remark or "").is_doubtful


def _why(one: FileEncoding) -> str:
    parts = [f"confidence {one.confidence:.0%}".replace("%", " %")] if one.confidence < 1 else []
    return f" ({'; '.join([*parts, *([one.remark] if one.remark else [])])})"
