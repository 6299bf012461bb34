"""sentence-transformers: texts and judgments for an ``InformationRetrievalEvaluator``, and a module that makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldbench.exports.beir_files import identifier, write_with_module
from goldbench.exports.exported_set import ExportedSet
from goldbench.exports.packages import package

_MODULE = "sentence_evaluator.py"


def write(exported: ExportedSet, place: Path) -> None:
    """Write the files and the module.

    Args:
        exported: The set.
        place: An empty folder.
    """
    write_with_module(exported, place, _MODULE)


def evaluator(exported: ExportedSet, **options: Any) -> Any:  # noqa: ANN401  a class of sentence-transformers
    """Return an evaluator whose nDCG and MRR are those of goldbench.

    Args:
        exported: The set.
        options: Those of ``InformationRetrievalEvaluator``.

    Raises:
        MissingPackage: sentence-transformers is not installed, or cannot be imported.
    """
    with package("sentence-transformers"):
        from goldbench.exports.standalone.sentence_evaluator import GradedEvaluator

    texts = {query.query_id: query.alone for query in exported.queries}
    grades = {query.query_id: dict(query.grades) for query in exported.queries}
    options = {"name": identifier(exported.name), "relevant_from": exported.level, **options}
    return GradedEvaluator(texts, dict(exported.corpus()), grades, **options)
