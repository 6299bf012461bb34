"""Which encodings the files of a run are in: those that the configuration names, and what was guessed about others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from goldbench.errors import Message
from goldbench.formats.charsets import Charset
from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.globs import is_matched
from goldbench.formats.documents.sources import SourceFile
from goldbench.records.manifest import FileEncoding
from goldbench.text.display import amount, shown

LISTED = 1000
SHOWN = 20
"""How many of the files with guessed encodings the manifest lists and messages name, the least certain first."""


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
        for pattern in list(left):
            if is_matched(pattern, file.source) or is_matched(pattern, file.path.as_posix()):
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
        self._unmatched = unmatched
        self._guesses: Counter[str] = Counter()
        self._files: list[FileEncoding] = []

    def taken_from(self, path: Path, answers: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the answers of a process about a file without what they say of its encoding, which is taken."""
        for answer in answers:
            if charset := answer.pop("encoding", None):
                self.add(path, Charset(*charset))
            if answer:
                yield answer

    def add(self, path: Path, charset: Charset) -> None:
        """Count the encoding of a file."""
        self.counts[charset.encoding] += 1
        if charset.confidence < 1:
            self._guesses[charset.encoding] += 1
            self._files.append(FileEncoding(item=shown(path), encoding=charset.encoding, confidence=charset.confidence))
            if len(self._files) >= 2 * LISTED:
                self._files = self.listed()

    def listed(self) -> list[FileEncoding]:
        """Return the first 1,000 files whose encoding was guessed, the least certain first."""
        return sorted(self._files, key=lambda file: (file.confidence, file.item))[:LISTED]

    def notes(self, *, has_manifest: bool = True) -> list[str]:
        """Return the lines that count the files whose encoding was guessed, and name the least certain.

        Args:
            has_manifest: Whether a manifest lists the files, so that only the first of them are named.
        """
        lines: list[str] = [
            f"documents.encodings: no file matches '{shown(pattern)}'; a pattern is compared with the path below the "
            "folder given, and with the path as given"
            for pattern in self._unmatched
        ]
        if not self._guesses:
            return lines
        names = ", ".join(f"{name} {count:,}" for name, count in self._guesses.most_common())
        files = f"{amount(self._guesses.total(), 'file')} not in UTF-8, whose encoding was guessed ({names})"
        rebuild = Message(", and build with {replace=True}") if has_manifest else ""
        how = "{}; to correct one, name it with {encoding=} or by pattern in [documents.encodings]{}:"
        lines.append(Message(how, files, rebuild))
        named = self.listed()[: SHOWN if has_manifest else LISTED]
        lines += [f"  {file.item}: {file.encoding} (confidence {100 * file.confidence:.0f} %)" for file in named]
        if more := self._guesses.total() - len(named):
            lines.append(f"  and {more:,} more{f'; the manifest lists {LISTED:,}' if has_manifest else ''}")
        return lines
