"""The texts of an experiment: the judged queries, and the passages that are searched, in each cut of the documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from goldbench.bench.bench_file import Bench, Cut
from goldbench.bench.fingerprints import digest
from goldbench.errors import InputError
from goldbench.goldset.file_names import DATASET
from goldbench.goldset.gold_path import holds_no_query
from goldbench.score.runs import Gold
from goldbench.score.searched_queries import searched_queries


@dataclass(frozen=True, slots=True)
class Corpus:
    """Passages by id, their number and digest, and the judgments that belong to them.

    ``lost`` are the queries whose evidence no passage holds.
    """

    passages: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    count: int
    sha256: str
    lost: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, passages: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]], lost: Sequence[str] = ()
    ) -> Corpus:
        """Return passages with their number and digest.

        Args:
            passages: Texts by id.
            qrels: Grades by query and passage.
            lost: The queries whose evidence no passage holds.
        """
        return cls(passages, qrels, len(passages), digest(passages), tuple(lost))


@dataclass(frozen=True, slots=True)
class Texts:
    """The judged queries by id, in the order of their ids, and the passages of the gold set."""

    gold: Gold
    queries: Mapping[str, str]
    own: Corpus

    def corpus(self, cut: Cut | None) -> Corpus:
        """Return the gold set's own passages, or those of another cut with judgments projected from the evidence.

        Raises:
            InputError: The documents cannot be cut anew.
        """
        if cut is None:
            return self.own
        from goldbench.goldset.projection import rechunk

        path = self.gold.path
        found = rechunk(path if path.is_dir() else path.parent, size=cut.size, overlap=cut.overlap)
        qrels = {query_id: found.qrels.get(query_id, {}) for query_id in self.gold.qrels}
        return Corpus.of(found.corpus, qrels, found.lost)


def texts_of(bench: Bench, gold: Gold) -> Texts:
    """Return the texts of an experiment.

    Raises:
        InputError: There are no texts, or an id cannot stand in a run.
    """
    texts = searched_queries(gold, bench.file.conversation)
    queries = {query_id: texts[query_id] for query_id in sorted(gold.qrels) if query_id in texts}
    if not gold.qrels:
        raise InputError(str(gold.path), f"{holds_no_query(gold.path)}: there is nothing to retrieve for")
    if not queries:
        raise InputError(str(gold.path), f"holds no texts of queries; name the folder of a build, {DATASET} or BEIR")
    passages = gold.corpus()
    if not passages:
        raise InputError(str(gold.path), "holds no passages to retrieve from; name the folder of a build")
    for one in (*queries, *passages):
        if not one or one.split() != [one]:
            raise InputError(str(gold.path), f"the id {one[:80]!r} has white space, which no run can hold")
    return Texts(
        gold,
        {**queries, **{query_id: texts[query_id] for query_id in gold.unanswerable()}},
        Corpus.of(passages, gold.qrels),
    )
