"""A gold set, as a caller holds it: read, scored against, graded, described."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Unpack, overload

from goldbench.api.builds import plan_build, refresh_order, run_build
from goldbench.api.cost_plan import CostPlan
from goldbench.api.evaluations import Evaluation, Evaluations
from goldbench.api.given_systems import EvaluateOptions, Run
from goldbench.api.gold_card import GoldCard
from goldbench.api.gold_grade import grade_set, how_to_grade, plan_grading, remarks_of
from goldbench.api.gold_records import GoldRecords
from goldbench.api.keywords import (
    ConfigGiven,
    GradeKeywords,
    GradeOptions,
    Measures,
    RefreshOptions,
    choice_of,
    config_from,
    in_python,
    keywords_named,
    path_of,
    whole_number,
)
from goldbench.api.run_comparison import RunComparison
from goldbench.api.scores import compare_all, evaluate_all, method_of, scoring
from goldbench.api.temporary_folder import TemporaryFolder, temporary_folder
from goldbench.card import make_card
from goldbench.config import Config
from goldbench.errors import GoldbenchError, NothingKept, OutputError, UsageError, explained
from goldbench.formats.benchmarks.collection import Chosen
from goldbench.formats.own_queries import read_own_queries
from goldbench.generate.writers import check_replay
from goldbench.goldset.file_names import answers_beside
from goldbench.goldset.importer import Options, import_benchmark
from goldbench.goldset.publication import LOCK, STAGING
from goldbench.grade.addition import add_queries
from goldbench.measures.assessment import Missing
from goldbench.measures.ranks.judged_ranks import Scores
from goldbench.report.build_text import import_remarks
from goldbench.report.card_text import written_by
from goldbench.report.terminal import on_standard_error
from goldbench.report.text_tables import aligned, html_lines, html_table
from goldbench.score.runs import Gold, Match, Weight, load_gold
from goldbench.score.scorecards import reference
from goldbench.text.asked_query import Conversation
from goldbench.text.display import amount, printable, shown
from goldbench.text.display import queries as amount_of_queries

Kind = Literal[
    "beir", "trec", "msmarco", "squad", "hotpotqa", "musique", "llamaindex", "ragas", "deepeval", "langsmith",
    "autorag", "ir_datasets", "hf", "mteb",
]  # fmt: skip
Level = Literal["human", "model", "smoke"]

_SIMULATED = (
    "the queries are simulated or written by a tiny model: compare versions of one system with them, and do not "
    "choose a retriever by them."
)

_QUERIES_SHOWN = 3
_CHARACTERS_SHOWN = 100
"""Queries in the printed form of a set, and characters of each."""


class GoldSet(GoldRecords):
    """A retrieval test set: queries, the passages to search, and which passages are relevant to which query.

    ``path`` is where it lies. A set that `goldbench.build` or `load` put into a temporary folder is deleted with the
    last reference to its ``GoldSet``; `save` keeps it. ``remarks`` are what a reader of the set must know: files that
    could not be read, fewer queries than asked for, judges that failed. ``complete`` is False if something failed, a
    cap was reached, or there are fewer queries than asked for.

    >>> import goldbench
    >>> texts = {
    ...     "pump": "The circulation pump starts when the tank falls below forty litres and stops when it is full.",
    ...     "valve": "A motor valve closes slowly, because a sudden stop of the water would burst the older pipes.",
    ...     "filter": "Sand filters are washed at night, so that clay cannot settle in the lower bed of gravel.",
    ... }
    >>> gold = goldbench.build(texts=texts, queries=2, no_chunk=True, progress=False)
    >>> len(gold.queries), sorted(gold.corpus), sorted(gold.qrels) == sorted(gold.queries)
    (2, ['filter', 'pump', 'valve'], True)
    >>> gold.to_pandas().corpus.sort_values("doc_id").doc_id.tolist()
    ['filter', 'pump', 'valve']
    >>> def search(query, k):
    ...     return sorted(texts, key=lambda doc_id: -sum(word in texts[doc_id] for word in query.split()))[:k]
    >>> gold.evaluate(search, "hit@3", progress=False)["hit@3"]
    1.0
    """

    def __init__(
        self,
        gold: Gold,
        *,
        remarks: Sequence[str] = (),
        complete: bool = True,
        temporary: TemporaryFolder | None = None,
        relevant_from: int | None = None,
    ) -> None:
        """Take the judgments; use `load` or `goldbench.build`.

        Args:
            gold: The judgments and the path of their texts.
            remarks: What a reader of the set must know.
            complete: Whether nothing failed when it was made.
            temporary: The folder to delete with the last reference to the set.
            relevant_from: The smallest relevant grade, if it is not the one of the judgments.
        """
        self._relevant_from = relevant_from
        self._hold(gold)
        self.remarks = tuple(remarks)
        self.complete = complete
        self._temporary = temporary

    @classmethod
    @keywords_named()
    def load(
        cls,
        path: str | PathLike[str],
        *,
        kind: Kind | None = None,
        out: str | PathLike[str] | None = None,
        split: str | None = None,
        corpus: str | PathLike[str] | None = None,
        queries: str | PathLike[str] | None = None,
        qrels: str | PathLike[str] | None = None,
        grades: str | None = None,
        relevant_from: int | None = None,
        drop_broken: bool = False,
        evidence_level: Level | None = None,
        replace: bool = False,
    ) -> GoldSet:
        """Return the gold set at a path.

        Without ``kind`` that is whatever ``goldbench score`` takes as GOLD: the folder of a build, ``dataset.json``, a
        BEIR folder, or a file of TREC or BEIR judgments (which has no texts). With ``kind`` it is a public benchmark,
        imported as ``goldbench import`` does; the other parameters, except ``relevant_from``, are those of the import.

        Args:
            path: The folder or the file; the id for ``ir_datasets``, ``hf`` and ``mteb``.
            kind: The format of a benchmark.
            out: Folder of the imported set (default: a temporary folder).
            split: Judgments to use (default: test).
            corpus: File of passages (default: found by name).
            queries: File of queries (default: found by name).
            qrels: File of judgments (default: found by name).
            grades: New grades, 0 to 3 or none: ``0=0,1..2=1,3=2,-1=none``.
            relevant_from: Lowest relevant grade, 1 or more (default: what the set declares, else 1; of an import 1 of
                grades 0 and 1, else 2).
            drop_broken: Leave out broken items and list them.
            evidence_level: Who judged (default: human).
            replace: Replace another set in ``out``.

        Raises:
            InputError: There is no gold set, or something in it is broken.
            UsageError: Parameters contradict one another.
            OutputError: ``out`` holds something else, or cannot be written.
        """
        folder = path_of(path, "path")
        level = None if relevant_from is None else whole_number(relevant_from, "relevant_from", least=1)
        options = {
            "out": out, "split": split, "corpus": corpus, "queries": queries, "qrels": qrels, "grades": grades,
            "evidence_level": None if evidence_level is None else choice_of(evidence_level, "evidence_level", Level),
            "drop_broken": drop_broken, "replace": replace,
        }  # fmt: skip
        if kind is None:
            only_imports = [name for name, value in options.items() if value is not None and value is not False]
            if only_imports:
                raise UsageError(f"{only_imports[0]}: needs kind=, the format of the benchmark, as kind='beir'")
            gold = load_gold(folder.absolute())
            return cls(gold, remarks=_undeclared(gold) if level is None else (), relevant_from=level)
        return _imported(str(folder), choice_of(kind, "kind", Kind), {**options, "relevant_from": level})

    @keywords_named()
    def save(self, folder: str | PathLike[str]) -> GoldSet:
        """Copy the set into a folder that does not exist yet, and return the set there.

        Raises:
            OutputError: The folder exists, or cannot be written.
            UsageError: This set is a file of judgments, without a folder to copy.
        """
        target = path_of(folder, "folder").absolute()
        source = self._unchanged().path
        if not source.is_dir():
            raise UsageError(f"{shown(source)}: is a file, not the folder of a set; copy the file")
        if target.exists() or target.is_symlink():
            raise OutputError(f"{shown(target)}: exists; give a folder that does not exist yet")
        if target.resolve().is_relative_to(source.resolve()):
            raise OutputError(f"{shown(target)}: lies inside the set; give a folder outside of it")
        with explained(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=target.parent))
            try:
                left_out = shutil.ignore_patterns(LOCK, STAGING)
                shutil.copytree(source, draft, ignore=left_out, dirs_exist_ok=True)
                draft.rename(target)
            except shutil.Error as error:
                location, _, why = error.args[0][0]
                raise OutputError(f"{shown(location)}: cannot be copied to {shown(target)} ({why})") from None
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        return self._at(target)

    def _at(self, folder: Path) -> GoldSet:
        return GoldSet(
            load_gold(folder), remarks=self.remarks, complete=self.complete, relevant_from=self._relevant_from
        )

    @overload
    def evaluate(  # type: ignore[overload-overlap]  # an evaluation is a mapping, too
        self, systems: Evaluation, measures: Measures | None = None, **options: Unpack[EvaluateOptions]
    ) -> Evaluation: ...

    @overload
    def evaluate(  # type: ignore[overload-overlap]  # a mapping of names is told from a run by what it holds
        self,
        systems: Mapping[str, Mapping[str, float] | Sequence[str]],
        measures: Measures | None = None,
        **options: Unpack[EvaluateOptions],
    ) -> Evaluation: ...

    @overload
    def evaluate(  # type: ignore[overload-overlap]  # as above
        self, systems: Mapping[str, object], measures: Measures | None = None, **options: Unpack[EvaluateOptions]
    ) -> Evaluations: ...

    @overload
    def evaluate(
        self, systems: object, measures: Measures | None = None, **options: Unpack[EvaluateOptions]
    ) -> Evaluation: ...

    @keywords_named()
    def evaluate(
        self,
        systems: object,
        measures: Measures | None = None,
        *,
        k: int | None = None,
        cutoffs: int | Iterable[int] = (),
        missing: Missing = "zero",
        scores: Scores = "float64",
        match: Match = "id",
        conversation: Conversation = "last",
        weight: Weight | None = None,
        timeout: float = 30.0,
        progress: bool = True,
    ) -> Evaluation | Evaluations:
        """Return the scores of a retriever or a run; of several in a mapping by name, theirs by name.

        A retriever is a function of a query and k, which may be asynchronous, a retriever of LangChain or LlamaIndex,
        or an object with ``index`` and ``search``. It returns ids of passages, best first, or pairs of id and score, or
        documents with an id in their metadata; every answer is checked. A run is ``{query: {passage: score}}``,
        ``{query: [passage, ...]}``, a frame of pandas or polars (columns ``query_id``, ``doc_id``, ``score``), or the
        path of a file that ``goldbench score --run`` takes. The figures are those of ``goldbench score``. A query that
        is answered with nothing scores 0 and is not missing.

        Args:
            systems: The retriever, the run, or an `Evaluation`, whose run is taken; or several by name.
            measures: Names such as ``ndcg@10`` (default: as ``goldbench score``).
            k: Passages asked of a retriever per query (default: 100, or the deepest cutoff if that is more).
            cutoffs: Cutoffs of measures without one.
            missing: What a judged query that the run lacks counts: ``zero``, nothing (``skip``), or an error.
            scores: ``float32`` breaks ties as trec_eval 9 does.
            match: Whether strings that a run or a retriever holds are ids or the passages' texts.
            conversation: What a retriever is asked for the last question of a conversation: that question as it was
                asked (``last``), its stand-alone form (``standalone``), or all turns, a line each (``joined``).
            weight: What a query counts in means: as often as users asked it (``frequency``), or as many searches of the
                log as it stands for (``traffic``); every query the same by default, and in comparisons always.
            timeout: Seconds that a retriever may take for one query; ``math.inf`` for no limit.
            progress: Show how many queries a retriever has answered.

        Raises:
            InputError: A run is not valid, does not fit the set, the set has no texts to search, or a query has no
                such weight.
            RetrieverFailed: A retriever failed, or its answer is not a ranking.
            UnknownMeasure: A measure cannot be understood.
            UsageError: A parameter has a value that is not offered.
        """
        asked = scoring(
            measures, rel=self._gold.level, k=k, cutoffs=cutoffs, missing=missing, scores=scores, match=match,
            conversation=conversation, weight=weight, timeout=timeout, progress=progress,
        )  # fmt: skip
        return evaluate_all(self._gold, systems, asked, notice=self._notice)

    @keywords_named()
    def compare(
        self,
        systems: Mapping[str, object],
        measures: Measures | None = None,
        *,
        k: int | None = None,
        cutoffs: int | Iterable[int] = (),
        missing: Missing = "zero",
        scores: Scores = "float64",
        match: Match = "id",
        conversation: Conversation = "last",
        permutations: int = 10_000,
        resamples: int = 10_000,
        seed: int = 0,
        alpha: float = 0.05,
        timeout: float = 30.0,
        progress: bool = True,
    ) -> RunComparison:
        """Return which of several retrievers or runs is better, and whether chance explains the difference.

        The intervals and tests are those of ``goldbench compare``.

        Args:
            systems: Two retrievers or runs, or more, by name; see `evaluate`.
            measures: Measures that are tested (default: as ``goldbench compare``); the first one ranks.
            permutations: Draws of the randomization test, 1 or more.
            resamples: Resamples of the bootstrap, 100 or more.
            seed: The same seed gives the same figures; 0 or more.
            alpha: Accepted chance of a false claim, above 0 and below 1 (0.05 = 5 %).

        Raises:
            UsageError: There are fewer than two systems, or a parameter has a value that is not offered.
            GoldbenchError: As `evaluate`.
        """
        choices = scoring(
            measures, rel=self._gold.level, k=k, cutoffs=cutoffs, missing=missing, scores=scores, match=match,
            conversation=conversation, timeout=timeout, progress=progress, compares=True,
        )  # fmt: skip
        method = method_of(choices, permutations=permutations, resamples=resamples, seed=seed, alpha=alpha)
        return compare_all(self._gold, systems, choices, method, reference(self._gold), notice=self._notice)

    @property
    def _notice(self) -> str | None:
        """What is said beside scores: the warning of the set, in short where its queries are simulated."""
        self._unchanged()
        if self.metadata.get("evidence_level") == "smoke":
            return _SIMULATED
        notice = self.metadata.get("notice")
        return notice if isinstance(notice, str) else None

    @overload
    def grade(self, *, dry_run: Literal[False] = False, **options: Unpack[GradeKeywords]) -> GoldSet: ...

    @overload
    def grade(self, *, dry_run: Literal[True], **options: Unpack[GradeKeywords]) -> CostPlan: ...

    @keywords_named()
    def grade(
        self,
        *,
        runs: Mapping[str, str | PathLike[str] | Run] | None = None,
        config: ConfigGiven | None = None,
        answers: str | PathLike[str] | None = None,
        again: bool = False,
        replace: bool = False,
        force: bool = False,
        replay: bool = False,
        batch: bool = False,
        dry_run: bool = False,
        progress: bool = True,
        **options: Unpack[GradeOptions],
    ) -> GoldSet | CostPlan:
        """Let a model judge a pool of passages for every query, and return this set with its new labels.

        The folder of the set is changed, as by ``goldbench grade``. An interrupted call is resumed by the same call:
        every answer is stored before it is used.

        >>> import goldbench
        >>> pump = "The circulation pump starts when the tank falls below forty litres and stops when it is full."
        >>> valve = "A motor valve closes slowly, because a sudden stop of the water would burst the older pipes."
        >>> gold = goldbench.build(texts=[pump, valve], queries=1, no_chunk=True, progress=False)
        >>> server = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "answers": "mine.sqlite"}
        >>> gold.grade(dry_run=True, progress=False, **server).to_pandas().stage.tolist()
        ['judge checks', 'grade', 'pairs in doubt (about)']

        Args:
            runs: Runs whose results are judged, too, by name: files, or as in memory.
            config: A ``goldbench.toml``, or its tables.
            answers: Store of model answers (default: answers.sqlite beside the folder).
            again: Ask only about pairs that people judged otherwise, after an edit of ``rubric.md``.
            replace: Replace the grades of another judge.
            force: Use the grades of a judge that fails the judge checks.
            replay: Take every answer from the store; use no network.
            batch: Send batches: half the price, within a day.
            dry_run: Return the expected cost; send and write nothing.
            progress: Show the progress.
            options: Settings of the tables ``[grade]`` and ``[model]``; see `GradeOptions`.

        Raises:
            InputError: The set does not lie in a folder of a build or an import.
            UsageError: There is no model, or it is not clear which.
            OutputError: The set is graded by other judges, reviewed by people, or cannot be written.
            JudgeFailed: The judge failed the judge checks; the labels stay as they were.
            NothingKept: No query would be left; the set stays as it was.
            ModelError: The model's server cannot be used; what was answered is in the store.
        """
        if runs is not None and not isinstance(runs, Mapping):
            raise UsageError(f"not a mapping: {type(runs).__name__}; give {{name: run}}", parameter="runs")
        if self._temporary is not None and answers is None:
            raise UsageError(
                "this set lies in a temporary folder; save() it first, or name a file for answers=", parameter="answers"
            )
        folder = self._unchanged().path
        qrels = self._gold.qrels
        settings = config_from(config, options, "grade", "model", "machines")
        store = answers_beside(folder) if answers is None else path_of(answers, "answers")
        flags = {"again": again, "replace": replace, "force": force, "replay": replay, "batch": batch}
        with how_to_grade(folder, qrels, runs or {}, **flags) as how:
            if dry_run:
                return plan_grading(how, folder, settings, store, progress=progress)
            try:
                graded = grade_set(how, folder, settings, store, progress=progress)
            except NothingKept:  # the record of the grading is new
                self._read_again()
                raise
        self._read_again()
        self.remarks = tuple(remarks_of(graded))
        self.complete = graded.complete
        return self

    @keywords_named()
    def refresh(
        self,
        documents: object = None,
        *,
        texts: Iterable[str | None] | Mapping[str, str | None] | None = None,
        config: ConfigGiven | None = None,
        answers: str | PathLike[str] | None = None,
        replay: bool = False,
        batch: bool = False,
        dry_run: bool = False,
        progress: bool = True,
        **options: Unpack[RefreshOptions],
    ) -> GoldSet | CostPlan:
        """Read changed documents again, as ``goldbench refresh`` does, and return this set as it is then.

        Queries whose evidence still stands are kept with their labels; a model is asked only for what is missing then.
        The folder of the set is changed. ``remarks`` tell what was kept and retired.

        >>> import goldbench
        >>> pump = "The circulation pump starts when the tank falls below forty litres and stops when it is full."
        >>> valve = "A motor valve closes slowly, because a sudden stop of the water would burst the older pipes."
        >>> gold = goldbench.build(texts={"pump": pump, "valve": valve}, queries=2, no_chunk=True, progress=False)
        >>> before = gold.queries
        >>> changed = {"pump": pump, "valve": valve + " Nobody winds the spring any more by hand."}
        >>> gold.refresh(texts=changed, progress=False).queries == before
        True

        Args:
            documents: As in `goldbench.build` (default: the paths of the last build).
            config: A ``goldbench.toml`` or its tables, of which ``[model]`` is read; the other settings are the set's.
            answers: Store of model answers (default: answers.sqlite beside the folder).
            replay: Take every answer from the store; use no network.
            batch: Send batches: half the price, within a day.
            dry_run: Return the expected cost; send and write nothing.
            progress: Show the progress.
            options: ``queries`` and the settings of the table ``[model]``; see `RefreshOptions`.

        Raises:
            InputError: The set was not built from documents, or does not tell where they lie.
            UsageError: A parameter is wrong, or a path does not exist.
            ModelError: The model's server cannot be used; the answers so far are in the store.
        """
        check_replay(replay=replay, batch=batch, dry_run=dry_run)
        folder = self._unchanged().path
        order = refresh_order(
            folder,
            documents,
            texts,
            config,
            options,
            dry_run=dry_run,
            answers=answers_beside(folder) if answers is None else path_of(answers, "answers"),
            replay=replay,
            batch=batch,
        )
        if dry_run:
            return plan_build(order, progress=progress)
        self.remarks, self.complete = run_build(order, progress=progress)
        self._read_again()
        return self

    @keywords_named()
    def add(self, queries: str | PathLike[str], *, progress: bool = True) -> GoldSet:
        """Add the queries of a file to this set, as ``goldbench add`` does, and return the set.

        Queries with a label join it; the others wait until `grade` or a review finds a passage that answers them.

        Args:
            queries: A ``.csv``, ``.tsv`` or ``.jsonl`` file of queries.
            progress: Show the progress.

        Raises:
            InputError: The file or a row is malformed, or names what is not in the set; nothing was changed.
            OutputError: The set was changed by hand, or cannot be written.
        """
        file = path_of(queries, "queries")
        own_queries = read_own_queries(file)
        folder = self._unchanged().path
        added = add_queries(folder, own_queries, str(file), Config(), progress=on_standard_error(quiet=not progress))
        self._read_again()
        waiting = (f"{amount_of_queries(len(added.waiting))} waiting for judgments",) if added.waiting else ()
        self.remarks = (*self.remarks, *waiting)
        return self

    def _read_again(self) -> None:
        self._hold(load_gold(self.path))

    @keywords_named()
    def card(self, *, seed: int = 0) -> GoldCard:
        """Return how far the set can be trusted, as ``goldbench card`` shows it; nothing is written.

        >>> import goldbench
        >>> pump = "The circulation pump starts when the tank falls below forty litres and stops when it is full."
        >>> valve = "A motor valve closes slowly, because a sudden stop of the water would burst the older pipes."
        >>> gold = goldbench.build(texts=[pump, valve], queries=1, no_chunk=True, progress=False)
        >>> gold.card()["number of queries"].value
        1

        Args:
            seed: The seed of every draw, 0 or more.

        Raises:
            InputError: The set does not lie in a folder, or has no texts.
        """
        card = make_card(self._unchanged().path, seed=whole_number(seed, "seed", least=0))
        return GoldCard(card, folder=self.path)

    def __repr__(self) -> str:
        heading, rows, lines = self._described()
        return "\n".join([heading, *(aligned(rows, words=2) if rows else ()), *lines])

    def _repr_html_(self) -> str:
        heading, rows, lines = self._described()
        table = html_table(rows, words=2) if rows else ""
        return "\n".join(filter(None, (html_lines([heading]), table, html_lines(lines))))

    def _described(self) -> tuple[str, list[list[str]], list[str]]:
        """Return a heading, the first queries, and what to know; of a set that cannot be read, why."""
        try:
            return self._heading(), self._rows() if self.queries else [], self._lines()
        except GoldbenchError as error:
            return f"GoldSet: {printable(in_python(error.message))}", [], []

    def _heading(self) -> str:
        counts = f"{amount_of_queries(len(self._gold.qrels))}, {amount(len(self.corpus), 'passage')}"
        labels = amount(sum(map(len, self._gold.qrels.values())), "judgment")
        return f"GoldSet in {shown(self.path)}: {counts}, {labels}; {written_by(self.metadata.get('evidence_level'))}"

    def _rows(self) -> list[list[str]]:
        first = list(self.queries.items())[:_QUERIES_SHOWN]
        return [["query_id", "text"], *([query_id, text[:_CHARACTERS_SHOWN]] for query_id, text in first)]

    def _lines(self) -> list[str]:
        warnings = [f"Warning: {self._notice}"] if self._notice else []
        return [printable(line) for line in (*self.remarks, *warnings)]


def _undeclared(gold: Gold) -> tuple[str, ...]:
    """Return the remark on judgments of more grades than 0 and 1 that do not say from which one on they are relevant.

    Without grade 1 every level gives the same scores; with it a set of goldbench has level 2.
    """
    grades = {grade for judged in gold.qrels.values() for grade in judged.values()}
    if gold.level > 1 or 1 not in grades or max(grades) == 1:
        return ()
    problem = (
        "nothing says which are relevant: grade 1 counts as relevant, as in other tools; relevant_from=2 leaves it out"
    )
    return (f"Grades go up to {max(grades)}, and {problem}.",)


def _imported(path: str, kind: str, given: Mapping[str, Any]) -> GoldSet:
    files = {
        name: None if given[name] is None else path_of(given[name], name) for name in ("corpus", "queries", "qrels")
    }
    options = Options(
        Chosen(split=given["split"], **files),
        given["grades"],
        given["relevant_from"],
        given["drop_broken"],
        given["evidence_level"],
        given["replace"],
    )
    with temporary_folder(given["out"]) as output:
        imported = import_benchmark(kind, path, output.folder, options)
        remarks = [in_python(line) for line in import_remarks(imported)]
        return GoldSet(load_gold(output.folder), remarks=remarks, temporary=output.temporary)
