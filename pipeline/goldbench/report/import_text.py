"""What an import changed, in words."""

from __future__ import annotations

from collections.abc import Iterator

from goldbench.errors import Message
from goldbench.goldset.file_names import RENAMED
from goldbench.goldset.importer import ImportResult
from goldbench.text.display import amount


def remarks(imported: ImportResult) -> Iterator[str]:
    """Yield what the import changed: grades with a new number, items and parts left out, new ids."""
    changed = {old: new for old, new in imported.grades.items() if old != new}
    if changed:
        said = ", ".join(f"{old} is {new}" for old, new in imported.grades.items())
        yield f"Grades: {said} here, where 2 and 3 are relevant."
    elif "1" in imported.grades:
        told = "Grades are kept: 1 means same topic, not relevant; {relevant_from=1} counts grade 1 as relevant."
        yield Message(told)
    for stage in imported.manifest.stages:
        if stage.rejected:
            rules = ", ".join(f"{rule} {count:,}" for rule, count in stage.rules.items())
            yield f"{stage.stage}: {stage.rejected:,} of {stage.read:,} left out: {rules}."
        if stage.left_out:
            parts = ", ".join(f"{rule} {count:,}" for rule, count in stage.left_out.items())
            yield f"{stage.stage}: parts of those kept left out: {parts}."
    yield from imported.set_aside
    if imported.renamed:
        yield f"{amount(imported.renamed, 'id')} changed, because a TREC file cannot hold them; {RENAMED} lists them."
