"""Write an export beside its place and put it there as a whole, or leave everything as it was."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from goldbench.errors import InputError, Message, OutputError, UsageError, explained
from goldbench.exports.exported_set import ExportedSet
from goldbench.exports.targets import TARGETS, Target
from goldbench.exports.tools import Tool
from goldbench.formats.interchange_names import EXPORT_ABOUT
from goldbench.text.display import amount, queries, shown


@dataclass(frozen=True, slots=True)
class ExportResult:
    """A written export: its place, what was written, and a line for each thing that a reader must know."""

    place: Path
    written: ExportedSet
    remarks: tuple[str, ...]


def export_set(exported: ExportedSet, to: str, out: Path, *, force: bool = False) -> ExportResult:
    """Write a set for another tool.

    Args:
        exported: The set.
        to: A name of `Tool`.
        out: The new file or folder.
        force: Whether a file, or the folder of an earlier export, may be replaced.

    Raises:
        UsageError: The tool is not known.
        InputError: No query of the set can be exported.
        OutputError: The place is taken, or cannot be written.
    """
    if to not in TARGETS:
        raise UsageError(f"to: no such tool: {shown(to)!r}; give {', '.join(TARGETS)}")
    target = TARGETS[Tool(to)]
    _check_free(target, out, force=force)
    written = exported if target.contextless else exported.with_contexts()
    if not written.queries:
        problem = "no query has a relevant passage" if exported.queries else "holds 0 queries"
        raise InputError(exported.name, f"{problem}, so there is nothing to export to {to}")
    with explained(out):
        _put(target, written, out)
    return ExportResult(out, written, tuple(_remarks(exported, written)))


def _check_free(target: Target, out: Path, *, force: bool) -> None:
    """Refuse a place that is taken, or with ``force`` one that holds neither a file nor an export."""
    if not out.exists():
        return
    if not force:
        raise OutputError(Message("{}: exists already; give another {out=}, or {force=True} to replace it", shown(out)))
    replaceable = out.is_file() if target.ending else (out / EXPORT_ABOUT).is_file()
    if not replaceable:
        raise OutputError(Message("{}: is not an earlier export to this target; give another {out=}", shown(out)))


def _put(target: Target, written: ExportedSet, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=out.parent) as room:
        draft = Path(room, "draft")
        if not target.ending:
            draft.mkdir()
        target.write(written, draft)
        if out.is_dir():
            before = out.rename(Path(room, "before"))
            try:
                draft.rename(out)
            except OSError:
                before.rename(out)
                raise
        else:
            draft.replace(out)


def _remarks(exported: ExportedSet, written: ExportedSet) -> list[str]:
    left = [query for query in exported.queries if not query.contexts] if written is not exported else []
    unanswerable = sum(not query.answerable for query in left)
    left_out = {
        "Left out because nothing in the corpus answers them": unanswerable,
        "Left out because no passage judged for them is relevant": len(left) - unanswerable,
        "Left out because they wait for a label": exported.waiting,
    }
    lines = [f"{text}: {queries(count)}." for text, count in left_out.items() if count]
    without = len(written.queries) - written.references
    if without:
        lines.append(f"{without:,} of {queries(len(written.queries))} have no reference answer.")
    return lines


def counts(written: ExportedSet) -> str:
    """Return in words how many queries, contexts and references were written."""
    contexts = amount(written.contexts, "context")
    references = amount(written.references, "reference answer")
    return f"{queries(len(written.queries))}, {contexts}, {references}"
