"""The texts of an experiment: the judged queries, and the passages that are searched, in each cut of the documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldbench.bench.bench_file import Bench, Cut
from goldbench.bench.fingerprints import digest
from goldbench.errors import InputError, UsageError
from goldbench.formats.json_maps import read_json
from goldbench.formats.lines import json_objects
from goldbench.formats.packed_files import Source
from goldbench.goldset.file_names import DATASET
from goldbench.goldset.gold_path import holds_no_query
from goldbench.score.runs import Gold
from goldbench.score.searched_queries import searched_queries
from goldbench.text.title_path import titled

_IDS = ("chunk_id", "_id", "id", "doc_id")
_TEXTS = ("text", "contents", "content")


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
        UsageError: No judged passage is among the passages.
    """
    texts = searched_queries(gold, bench.file.conversation)
    queries = {query_id: texts[query_id] for query_id in sorted(gold.qrels) if query_id in texts}
    if not gold.qrels:
        raise InputError(str(gold.path), f"{holds_no_query(gold.path)}: there is nothing to retrieve for")
    if not queries:
        raise InputError(str(gold.path), f"holds no texts of queries; name the folder of a build, {DATASET} or BEIR")
    passages = read_passages(bench.corpus) if bench.corpus else gold.corpus()
    if not passages:
        raise InputError(str(gold.path), "holds no passages to retrieve from; name the folder of a build, or a corpus")
    for one in (*queries, *passages):
        if not one or one.split() != [one]:
            raise InputError(str(gold.path), f"the id {one[:80]!r} has white space, which no run can hold")
    if bench.file.match == "id" and {doc_id for grades in gold.qrels.values() for doc_id in grades}.isdisjoint(
        passages
    ):
        raise UsageError(
            f"{bench.corpus or gold.path}: holds none of the judged passages by id; "
            'set match = "text" to recognise passages of another cut by their text'
        )
    return Texts(
        gold,
        {**queries, **{query_id: texts[query_id] for query_id in gold.unanswerable()}},
        Corpus.of(passages, gold.qrels),
    )


def read_passages(path: Path) -> dict[str, str]:
    """Return passages by id: JSON Lines as ``goldbench chunk`` and BEIR write them, or a ``dataset.json``.

    Raises:
        InputError: The file cannot be read, a line has no id or text, or an id comes twice.
    """
    source = Source(path)
    if path.suffix == ".json":
        found = read_json(source)
        corpus = found.get("corpus") if isinstance(found, dict) else None
        if not isinstance(corpus, dict) or not all(isinstance(text, str) for text in corpus.values()):
            raise InputError(source.name, "holds no corpus of texts by id")
        return corpus
    passages: dict[str, str] = {}
    for number, record in json_objects(source):
        identity = next((record[key] for key in _IDS if key in record), None)
        text = next((record[key] for key in _TEXTS if key in record), None)
        if not isinstance(identity, str) or not isinstance(text, str):
            raise InputError(source.name, "has no chunk_id or no text that is a string", line=number)
        if identity in passages:
            raise InputError(source.name, f"the id {identity[:80]!r} comes twice", line=number)
        title = record.get("title") if "_id" in record else None  # BEIR's, which belongs to what is indexed
        passages[identity] = titled(title, text) if isinstance(title, str) else text
    if not passages:
        raise InputError(source.name, "holds no passage")
    return passages
