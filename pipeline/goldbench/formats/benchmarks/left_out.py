"""The items that an import leaves out, with the reasons, and the ids that it gives."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field

from goldbench.errors import InputError, Message
from goldbench.formats.faults import Location
from goldbench.records.manifest import Failure, StageReport
from goldbench.records.record import ID_PATTERN
from goldbench.text.display import shown

LISTED = 1000
"""The manifest names at most this many broken items; all are counted."""

_ID = re.compile(ID_PATTERN)
_UNFIT = re.compile(r"[^\w.-]+", re.ASCII)


@dataclass(slots=True)
class Books:
    """The items left out, by reason. A broken item ends the import unless ``drop`` is true."""

    drop: bool
    failures: list[Failure] = field(default_factory=list)
    rules: dict[str, Counter[str]] = field(default_factory=dict)
    parts: dict[str, Counter[str]] = field(default_factory=dict)

    def leave_out(self, stage: str, rule: str) -> None:
        """Count a valid item that is not needed."""
        self.rules.setdefault(stage, Counter())[rule] += 1

    def broken(self, stage: str, rule: str, item: str, error: InputError) -> None:
        """Count and list a broken item.

        Args:
            stage: The part of the collection: ``documents``, ``queries`` or ``judgments``.
            rule: The reason, as a stable word.
            item: The id of the item.
            error: The error that names its place.

        Raises:
            InputError: Broken items must not be dropped.
        """
        self._list(stage, rule, item, error)
        self.leave_out(stage, rule)

    def broken_part(self, stage: str, rule: str, item: str, error: InputError) -> None:
        """Count and list a broken part of an item that is kept without it.

        Args:
            stage: As in `broken`.
            rule: As in `broken`.
            item: As in `broken`.
            error: As in `broken`.

        Raises:
            InputError: Broken items must not be dropped.
        """
        self._list(stage, rule, item, error)
        self.parts.setdefault(stage, Counter())[rule] += 1

    def _list(self, stage: str, rule: str, item: str, error: InputError) -> None:
        if not self.drop:
            raise InputError(
                error.path, Message("{}; {drop_broken=True} leaves out broken items", error.problem), line=error.line
            )
        if len(self.failures) < LISTED:
            self.failures.append(Failure(stage=stage, item=shown(item), kind=rule, message=str(error)))

    def report(self, stage: str, reads: str, writes: str, written: int) -> StageReport:
        """Return the report of a stage, in which items left out count as rejected.

        Args:
            stage: As in `broken`.
            reads: The file read.
            writes: The file written.
            written: The number of records written.
        """
        rules = {rule: count for rule, count in sorted(self.rules.get(stage, Counter()).items()) if count}
        rejected = sum(rules.values())
        return StageReport(
            stage=stage, reads=reads, writes=writes, read=written + rejected, written=written, rejected=rejected,
            rules=rules, left_out=dict(sorted(self.parts.get(stage, Counter()).items())),
        )  # fmt: skip


def is_unicode(text: str) -> bool:
    """Whether the text can be encoded: it holds no half of a character (a lone surrogate)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class IssuedIds:
    """The ids of one kind of item: each once; one that does not fit into a TREC file gets another name."""

    def __init__(self) -> None:
        self.places: dict[str, Location] = {}
        self.renamed: dict[str, str] = {}

    def add(self, identity: str, location: Location) -> bool:
        """Take an id; return False if it is taken already."""
        if identity in self.places:
            return False
        self.places[identity] = location
        if not (_ID.fullmatch(identity) and len(identity) <= 200 and is_unicode(identity)):
            digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            self.renamed[identity] = f"{_UNFIT.sub('-', identity)[:60].strip('-.') or 'id'}-{digest}"
        return True

    def __contains__(self, identity: str) -> bool:
        return identity in self.places

    def __getitem__(self, identity: str) -> str:
        return self.renamed.get(identity, identity)
