"""A gold set as objects and files of other tools; `GoldSet` has these methods."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.api.gold_records import GoldRecords
from goldbench.api.keywords import keywords_named, path_of

if TYPE_CHECKING:
    import pandas as pd

    from goldbench.exports.exported_set import ExportedSet
    from goldbench.exports.records import LlamaIndexSet


class GoldExports(GoldRecords):
    """Exports of a gold set; each method imports its package when it is called."""

    @keywords_named()
    def export(self, to: str, out: str | PathLike[str], *, force: bool = False) -> Path:
        """Write the set for another tool, as ``goldbench export`` does, and return the path of the file or folder.

        No package is needed for that.

        Args:
            to: The tool, as ``ragas``.
            out: The new file or folder.
            force: Replace a file, or an earlier export in a folder.

        Raises:
            InputError: The set has no texts, or no query with a relevant passage.
            UsageError: The tool is not known, or does not read files with that ending.
            OutputError: The place is taken, or cannot be written.
        """
        from goldbench.exports.placement import export_set
        from goldbench.goldset.gold_path import check_apart

        place = path_of(out, "out")
        check_apart({"out": place}, [self._unchanged().path])
        return export_set(self._exported(), to, place, force=force).place

    def to_ragas(self) -> Any:  # noqa: ANN401  a class of ragas
        """Return a ``ragas.EvaluationDataset``: a sample for each query with a relevant passage.

        Raises:
            MissingPackage: ragas is not installed, or cannot be imported.
        """
        from goldbench.exports.records import ragas_dataset

        return ragas_dataset(self._exported().with_contexts())

    def to_deepeval(self) -> Any:  # noqa: ANN401  a class of deepeval
        """Return a ``deepeval.dataset.EvaluationDataset``: a golden for each query.

        A query without a relevant passage has an empty ``context``; if nothing in the corpus answers it, its
        ``additional_metadata["answerable"]`` is False.

        Raises:
            MissingPackage: deepeval is not installed, or cannot be imported.
        """
        from goldbench.exports.records import deepeval_dataset

        return deepeval_dataset(self._exported())

    def to_llama_index(self) -> LlamaIndexSet:
        """Return nodes of LlamaIndex with the queries to evaluate, of those with a relevant passage.

        Raises:
            MissingPackage: llama-index-core is not installed, or cannot be imported.
        """
        from goldbench.exports.records import llama_index_set

        return llama_index_set(self._exported().with_contexts())

    def to_langsmith(self) -> list[Any]:
        """Return what LangSmith's ``Client.create_examples(examples=...)`` takes, an object for each query.

        Raises:
            MissingPackage: langsmith is not installed, or cannot be imported.
        """
        from goldbench.exports.records import langsmith_examples

        return langsmith_examples(self._exported())

    def to_phoenix(self) -> list[dict[str, Any]]:
        """Return what Phoenix's ``Client().datasets.create_dataset(examples=...)`` takes, a dict for each query."""
        from goldbench.exports.records import phoenix_examples

        return phoenix_examples(self._exported())

    def to_promptfoo(self) -> list[dict[str, Any]]:
        """Return promptfoo's test cases: a dict for each query, with an object in the variable ``gold``."""
        from goldbench.exports.records import promptfoo_cases

        return promptfoo_cases(self._exported())

    @keywords_named()
    def to_mteb(self, out: str | PathLike[str], *, force: bool = False) -> Any:  # noqa: ANN401  a class of mteb
        """Write the set as `export` does for ``mteb``, and return the retrieval task that is there.

        Args:
            out: The new folder, which the task reads.
            force: Replace a file, or an earlier export in a folder.

        Raises:
            MissingPackage: mteb is not installed, or cannot be imported.
        """
        from goldbench.exports.folders import mteb_task

        return mteb_task(self.export("mteb", out, force=force))

    @keywords_named()
    def to_sentence_transformers(self, **options: Any) -> Any:  # noqa: ANN401  a class of sentence-transformers
        """Return an ``InformationRetrievalEvaluator`` whose nDCG and order of equal scores are those of goldbench.

        Args:
            options: Those of ``InformationRetrievalEvaluator``, such as ``name`` and ``ndcg_at_k``.

        Raises:
            MissingPackage: sentence-transformers is not installed, or cannot be imported.
        """
        from goldbench.exports.folders import sentence_evaluator

        return sentence_evaluator(self._exported().with_contexts(), **options)

    @keywords_named()
    def to_ir_datasets(self, out: str | PathLike[str], *, force: bool = False) -> Any:  # noqa: ANN401  of ir_datasets
        """Write the set as `export` does for ``ir_datasets``, and return the data set that is there.

        Args:
            out: The new folder, which the data set reads.
            force: Replace a file, or an earlier export in a folder.

        Raises:
            MissingPackage: ir_datasets is not installed, or cannot be imported.
        """
        from goldbench.exports.folders import ir_dataset

        return ir_dataset(self.export("ir_datasets", out, force=force))

    def to_autorag(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return AutoRAG's tables of questions and of passages, which its ``QA`` and ``Corpus`` take."""
        import pandas as pd

        from goldbench.exports.folders import autorag_corpus, autorag_questions

        exported = self._exported().with_contexts()
        return pd.DataFrame(list(autorag_questions(exported))), pd.DataFrame(list(autorag_corpus(exported)))

    def _exported(self) -> ExportedSet:
        from goldbench.exports.exported_set import read_set

        gold = self._unchanged()
        return read_set(gold.path, gold.qrels, gold.level)
