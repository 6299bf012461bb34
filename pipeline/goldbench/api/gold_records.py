"""What a gold set holds, read from its files when needed, and as objects and files of other tools."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from goldbench.api.frames import frame_of
from goldbench.api.keywords import keywords_named, path_of
from goldbench.errors import InputError
from goldbench.exports.exported_set import ExportedSet, read_set
from goldbench.exports.folders import autorag_corpus, autorag_questions, ir_dataset, mteb_task
from goldbench.exports.placement import export_set
from goldbench.exports.records import phoenix_examples, promptfoo_cases
from goldbench.goldset.gold_path import check_apart, metadata_of, state_of
from goldbench.score.runs import Gold
from goldbench.text.display import shown

if TYPE_CHECKING:
    import pandas as pd


class Frames(NamedTuple):
    """A gold set as three frames of pandas.

    ``queries`` has the columns ``query_id``, ``text`` and ``answer`` (missing where nobody wrote a reference answer),
    ``corpus`` has ``doc_id`` and ``text``, all of them strings;
    ``qrels`` has ``query_id``, ``doc_id`` (strings) and ``grade`` (int64), a row for each judged pair.

    >>> import goldbench
    >>> pump = "The circulation pump starts when the tank falls below forty litres and stops when it is full."
    >>> valve = "A motor valve closes slowly, because a sudden stop of the water would burst the older pipes."
    >>> gold = goldbench.build(texts=[pump, valve], queries=1, no_chunk=True, progress=False)
    >>> queries, corpus, qrels = gold.to_pandas()
    >>> qrels.merge(queries, on="query_id").columns.tolist()
    ['query_id', 'doc_id', 'grade', 'text', 'answer']
    """

    queries: pd.DataFrame
    corpus: pd.DataFrame
    qrels: pd.DataFrame


class GoldRecords:
    """The records and exports of a gold set; `GoldSet` adds what is done with them."""

    _relevant_from: int | None

    def _hold(self, gold: Gold) -> None:
        """Take the judgments, and note the files that hold the texts, which are read when they are needed."""
        self.path = gold.path.absolute()  # the current folder may be another one when the texts are read
        self._gold = Gold(self.path, gold.qrels, self._relevant_from or gold.level)
        self._state = state_of(self.path)
        for name in ("queries", "corpus", "qrels", "answers", "metadata", "_members"):
            self.__dict__.pop(name, None)

    def _unchanged(self) -> Gold:
        """Return the judgments; refuse if the texts on disk are no longer those that belong to them.

        Raises:
            InputError: The set was deleted, moved or changed since it was loaded.
        """
        if state_of(self.path) != self._state:
            if not self.path.exists():
                raise InputError(shown(self.path), "is gone since the set was loaded; load a set that is there")
            raise InputError(shown(self.path), "was changed since the set was loaded; load it again")
        return self._gold

    @cached_property
    def queries(self) -> dict[str, str]:
        """The text of each query, by its id; empty if the judgments have no texts."""
        return self._unchanged().queries()

    @cached_property
    def corpus(self) -> dict[str, str]:
        """The text of each passage, by its id; empty if the judgments have no texts."""
        return self._unchanged().corpus()

    @cached_property
    def answers(self) -> dict[str, dict[str, Any]]:
        """The reference answer of each query that has one: ``text``, and ``evidence`` with its quotes and passages."""
        return self._unchanged().answers()

    @cached_property
    def _members(self) -> dict[str, dict[str, Any]]:
        """The members of ``dataset.json`` that only some sets have."""
        return self._unchanged().members(search=True)

    def _member(self, name: str) -> dict[str, Any]:
        return dict(self._members.get(name, {}))

    @property
    def unanswerable(self) -> dict[str, str]:
        """The text of each query that nothing in the corpus answers, by its id; these are in no mean."""
        return self._member("unanswerable")

    @property
    def needs(self) -> dict[str, list[str]]:
        """The passages that are all needed to answer, by query; only queries that need several."""
        return self._member("needs")

    @property
    def history(self) -> dict[str, list[dict[str, Any]]]:
        """The turns before a query that ends a conversation, the oldest first: ``question`` and maybe ``answer``."""
        return self._member("history")

    @property
    def standalone(self) -> dict[str, str]:
        """The form of a conversation's last question that needs no earlier turn, by query; passages are judged for it.

        >>> import json, tempfile, pathlib, goldbench
        >>> folder = tempfile.TemporaryDirectory()
        >>> gold = {
        ...     "queries": {"q1": "And who built it?"},
        ...     "corpus": {"tank": "The tank was built by Ann."},
        ...     "relevant_docs": {"q1": ["tank"]},
        ...     "history": {"q1": [{"question": "How large is the tank?", "answer": "Forty litres."}]},
        ...     "standalone": {"q1": "Who built the tank?"},
        ... }
        >>> _ = pathlib.Path(folder.name, "gold.json").write_text(json.dumps(gold))
        >>> found = goldbench.GoldSet.load(folder.name + "/gold.json")
        >>> found.standalone, found.history["q1"][0]["question"], found.needs
        ({'q1': 'Who built the tank?'}, 'How large is the tank?', {})
        >>> folder.cleanup()
        """
        return self._member("standalone")

    @property
    def originals(self) -> dict[str, str]:
        """The id of the query that a noisy query was made from, by that of the noisy one."""
        return self._member("originals")

    @property
    def frequency(self) -> dict[str, int]:
        """How often users asked a query, by query; only queries that come from a log."""
        return self._member("frequency")

    @property
    def traffic(self) -> dict[str, float]:
        """How many searches of the log a query stands for, by query; only queries that were drawn from a log."""
        return self._member("traffic")

    @property
    def derived(self) -> dict[str, list[str]]:
        """The passages that nobody read for a query, labelled because a sentence of theirs gives the same answer."""
        return self._member("derived")

    @cached_property
    def qrels(self) -> dict[str, dict[str, int]]:
        """The grade of each judged passage, by query and passage."""
        return {query_id: dict(grades) for query_id, grades in self._gold.qrels.items()}

    @property
    def relevant_from(self) -> int:
        """The smallest grade that counts as relevant: as given to `load`, else as the set declares, else 1."""
        return self._gold.level

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """How the set was made: generator, level of evidence, seed; empty if it does not say."""
        return metadata_of(self._unchanged().path)

    def to_pandas(self) -> Frames:
        """Return queries, passages and judgments as three frames; see `Frames` for their columns."""
        judged = [(query, doc, grade) for query, grades in self.qrels.items() for doc, grade in grades.items()]
        return Frames(
            frame_of({
                "query_id": ("text", list(self.queries)),
                "text": ("text", list(self.queries.values())),
                "answer": ("text", [self.answers.get(query_id, {}).get("text") for query_id in self.queries]),
            }),
            frame_of({"doc_id": ("text", list(self.corpus)), "text": ("text", list(self.corpus.values()))}),
            frame_of({
                "query_id": ("text", [query for query, _, _ in judged]),
                "doc_id": ("text", [doc for _, doc, _ in judged]),
                "grade": ("whole", [grade for _, _, grade in judged]),
            }),
        )  # fmt: skip

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
        target = path_of(out, "out")
        check_apart({"out": target}, [self._unchanged().path])
        return export_set(self._exported(), to, target, force=force).place

    def to_phoenix(self) -> list[dict[str, Any]]:
        """Return what Phoenix's ``Client().datasets.create_dataset(examples=...)`` takes, a dict for each query."""
        return phoenix_examples(self._exported())

    def to_promptfoo(self) -> list[dict[str, Any]]:
        """Return promptfoo's test cases: a dict for each query, with an object in the variable ``gold``."""
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
        return mteb_task(self.export("mteb", out, force=force))

    @keywords_named()
    def to_ir_datasets(self, out: str | PathLike[str], *, force: bool = False) -> Any:  # noqa: ANN401  of ir_datasets
        """Write the set as `export` does for ``ir_datasets``, and return the data set that is there.

        Args:
            out: The new folder, which the data set reads.
            force: Replace a file, or an earlier export in a folder.

        Raises:
            MissingPackage: ir_datasets is not installed, or cannot be imported.
        """
        return ir_dataset(self.export("ir_datasets", out, force=force))

    def to_autorag(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return AutoRAG's tables of questions and of passages, which its ``QA`` and ``Corpus`` take."""
        import pandas as pd

        exported = self._exported().with_contexts()
        return pd.DataFrame(list(autorag_questions(exported))), pd.DataFrame(list(autorag_corpus(exported)))

    def _exported(self) -> ExportedSet:
        gold = self._unchanged()
        return read_set(gold.path, gold.qrels, gold.level)
