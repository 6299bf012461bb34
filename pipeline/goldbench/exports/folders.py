"""Folders for tools that evaluate retrieval: BEIR's layout, ir_datasets, sentence-transformers, MTEB, AutoRAG, the Hub.

Every text is the one that goldbench searches.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from goldbench.exports.exported_set import ExportedQuery, ExportedSet
from goldbench.exports.packages import package
from goldbench.exports.records import write_json, write_json_lines
from goldbench.formats.dataset_card import (
    Columns,
    Contents,
    Facts,
    Table,
    contents_of,
    dataset_card,
    is_own_scale,
    meaning_of,
    write_parquet,
)
from goldbench.formats.interchange_names import (
    AUTORAG_CORPUS,
    AUTORAG_QA,
    BEIR_CARD,
    BEIR_CORPUS,
    BEIR_QUERIES,
    BEIR_TEST_QRELS,
    EXPORT_ABOUT,
    JUDGMENT_COLUMNS,
)
from goldbench.text.language import main_language

DATA = "data"
"""The folder of the data set in an export for MTEB."""
_UNFIT = re.compile(r"[^A-Za-z0-9]+")
_TEST = "test"
_KEY: Columns = {"query-id": "string"}
_TEXTS: Columns = {"_id": "string", "text": "string"}
"""Nothing else: the loader of MTEB refuses a column in which a row has no value."""
_ANSWERS: Columns = {**_KEY, "answer": "string", "evidence": ({"quote": "string", "corpus-id": "string"},)}
_NOTES: Columns = {
    "source": "string",
    "needs": ("string",),
    "asked": "string",
    "history": ({"question": "string", "answer": "string"},),
    "kind": "string",
    "style": "string",
    "language": "string",
    "difficulty": "string",
    "frequency": "int64",
    "traffic": "float64",
}
"""What is known of single queries; a set has the columns of which at least one query knows something."""
_AUTORAG_QA: Columns = {
    "qid": "string",
    "query": "string",
    "retrieval_gt": (("string",),),
    "generation_gt": ("string",),
    "goldbench": "string",
}
_AUTORAG_CORPUS: Columns = {
    "doc_id": "string",
    "contents": "string",
    "metadata": {"prev_id": "string", "next_id": "string"},
}
_UNKNOWN = "und-Zyyy"
"""The code of a language that is not known, in a script that is not known."""
_CODES = dict(
    pair.split("=")
    for line in (
        "af=afr-Latn am=amh-Ethi ar=ara-Arab as=asm-Beng az=aze-Latn be=bel-Cyrl bg=bul-Cyrl bn=ben-Beng bo=bod-Tibt",
        "bs=bos-Latn ca=cat-Latn cs=ces-Latn cy=cym-Latn da=dan-Latn de=deu-Latn el=ell-Grek en=eng-Latn es=spa-Latn",
        "et=est-Latn eu=eus-Latn fa=fas-Arab fi=fin-Latn fr=fra-Latn ga=gle-Latn gl=glg-Latn gu=guj-Gujr ha=hau-Latn",
        "he=heb-Hebr hi=hin-Deva hr=hrv-Latn hu=hun-Latn hy=hye-Armn id=ind-Latn is=isl-Latn it=ita-Latn ja=jpn-Jpan",
        "ka=kat-Geor kk=kaz-Cyrl km=khm-Khmr kn=kan-Knda ko=kor-Hang ku=kur-Latn ky=kir-Cyrl lo=lao-Laoo lt=lit-Latn",
        "lv=lav-Latn mg=mlg-Latn mk=mkd-Cyrl ml=mal-Mlym mn=mon-Cyrl mr=mar-Deva ms=msa-Latn mt=mlt-Latn my=mya-Mymr",
        "ne=nep-Deva nl=nld-Latn no=nor-Latn pa=pan-Guru pl=pol-Latn ps=pus-Arab pt=por-Latn ro=ron-Latn ru=rus-Cyrl",
        "sd=snd-Arab si=sin-Sinh sk=slk-Latn sl=slv-Latn so=som-Latn sq=sqi-Latn sr=srp-Cyrl sv=swe-Latn sw=swa-Latn",
        "ta=tam-Taml te=tel-Telu tg=tgk-Cyrl th=tha-Thai ti=tir-Ethi tl=tgl-Latn tr=tur-Latn tt=tat-Cyrl ug=uig-Arab",
        "uk=ukr-Cyrl ur=urd-Arab uz=uzb-Latn vi=vie-Latn xh=xho-Latn yi=yid-Hebr yo=yor-Latn zh=zho-Hans zu=zul-Latn",
    )
    for pair in line.split()
)
"""MTEB's codes of the languages that goldbench tells apart: ISO 639-3 and the script they are mostly written in."""


def identifier(name: str) -> str:
    """Return a name that is valid wherever other tools keep one: letters and digits in words, joined by hyphens."""
    return _UNFIT.sub("-", name).strip("-")[:60] or "set"


def about(exported: ExportedSet) -> dict[str, Any]:
    """Return what a reader of the files must know of the set, and what `goldbench import` keeps of it."""
    seen = sorted({grade for _, _, grade in judgments(exported)})
    own = is_own_scale(seen, exported.level)
    return {
        "name": identifier(exported.name),
        "relevant_from": exported.level,
        "languages": languages(exported),
        "grades": {str(grade): meaning_of(grade, exported.level, own=own) for grade in seen},
        **exported.trust,
    }


def languages(exported: ExportedSet) -> list[str]:
    """Return the languages of the queries (ISO 639-1), the most frequent first; empty if they are not clear."""
    noted = Counter(code for query in exported.queries if isinstance(code := query.notes.get("language"), str))
    if noted:
        return sorted(noted, key=lambda code: (-noted[code], code))
    language = main_language([query.alone for query in exported.queries])
    return [language] if language else []


def corpus_rows(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield BEIR's row of each passage. The title is part of the text, so that none is joined to it twice."""
    return ({"_id": doc_id, "title": "", "text": text} for doc_id, text in exported.corpus())


def judgments(exported: ExportedSet) -> Iterator[tuple[str, str, int]]:
    """Yield query, passage and grade of each judgment, in the order of the queries and of the passages' ids."""
    for query in exported.queries:
        for doc_id in sorted(query.grades):
            yield query.query_id, doc_id, query.grades[doc_id]


def _write_beir(exported: ExportedSet, folder: Path, module: str) -> None:
    """Write corpus, queries, judgments, what is known of the set, and a module of ``standalone`` that reads them."""
    write_json_lines(folder / BEIR_CORPUS, corpus_rows(exported))
    write_json_lines(folder / BEIR_QUERIES, (_query_row(query) for query in exported.queries))
    table = folder / BEIR_TEST_QRELS
    table.parent.mkdir(exist_ok=True)
    with table.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(JUDGMENT_COLUMNS)
        rows.writerows(judgments(exported))
    files_of = {"corpus": BEIR_CORPUS, "queries": BEIR_QUERIES, "qrels": BEIR_TEST_QRELS}
    write_json(folder / EXPORT_ABOUT, {**about(exported), "files": files_of})
    _copy_module(module, folder)


def _query_row(query: ExportedQuery) -> dict[str, Any]:
    metadata = {} if query.answer is None else {"answer": {"text": query.answer}}
    return {"_id": query.query_id, "text": query.alone, "answer": query.answer or "", "metadata": metadata}


def _copy_module(name: str, folder: Path) -> None:
    (folder / name).write_bytes((files("goldbench.exports.standalone") / name).read_bytes())


def write_ir_datasets(exported: ExportedSet, folder: Path) -> None:
    """Write documents, queries and judgments, and a module by which ``ir_datasets`` reads them."""
    _write_beir(exported, folder, "ir_dataset.py")


def ir_dataset(folder: Path) -> Any:  # noqa: ANN401  a class of ir_datasets
    """Return the data set in an export.

    Raises:
        MissingPackage: ir_datasets is not installed, or cannot be imported.
    """
    with package("ir-datasets"):
        from goldbench.exports.standalone.ir_dataset import dataset

    return dataset(folder)


def write_sentence_transformers(exported: ExportedSet, folder: Path) -> None:
    """Write texts and judgments, and a module that makes an ``InformationRetrievalEvaluator`` of them."""
    _write_beir(exported, folder, "sentence_evaluator.py")


def sentence_evaluator(exported: ExportedSet, **options: Any) -> Any:  # noqa: ANN401  a class of sentence-transformers
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


def write_dataset(exported: ExportedSet, folder: Path) -> None:
    """Write a data set for the Hugging Face Hub: Parquet files, and the card by which ``datasets`` loads each."""
    tables = list(_tables(exported))
    facts = Facts(
        metadata=exported.metadata,
        grades=Counter(grade for _, _, grade in judgments(exported)),
        languages=languages(exported),
        tables=tuple(table for table, _ in tables),
        level=exported.level,
        parquet=True,
    )
    contents = {table.name: _write_table(table, rows, folder) for table, rows in tables}
    (folder / BEIR_CARD).write_text(dataset_card(contents, facts), encoding="utf-8", newline="\n")
    write_json(folder / EXPORT_ABOUT, about(exported))


def _write_table(table: Table, rows: Iterable[Mapping[str, Any]], folder: Path) -> Contents:
    """Write a table by way of JSON Lines, so that the memory does not grow with it."""
    lines = folder / f"{table.name}.jsonl"
    write_json_lines(lines, rows)
    with lines.open("rb") as file:
        contents = contents_of(file)
    write_parquet(table, lines, folder / table.parquet)
    lines.unlink()
    return contents


def _tables(exported: ExportedSet) -> Iterator[tuple[Table, Iterable[Mapping[str, Any]]]]:
    """Yield the configurations of the data set, each with its rows."""
    answerable = [query for query in exported.queries if query.answerable]
    unanswerable = [query for query in exported.queries if not query.answerable]
    yield _table("corpus", {**_TEXTS, "title": "string"}), corpus_rows(exported)
    yield _table("queries", _TEXTS), map(_text_row, answerable)
    columns: Columns = dict(zip(JUDGMENT_COLUMNS, ("string", "string", "int32"), strict=True))
    judged = (dict(zip(JUDGMENT_COLUMNS, judgment, strict=True)) for judgment in judgments(exported))
    yield _table("qrels", columns, _TEST), judged
    if exported.references:
        yield _table("answers", _ANSWERS, _TEST), (_answer_row(query) for query in answerable if query.answer)
    notes = []
    for query in answerable:
        known = {name: value for name, value in query.described().items() if name in _NOTES}
        notes.append({"query-id": query.query_id, **known})
    columns = {name: kind for name, kind in _NOTES.items() if any(name in row for row in notes)}
    if columns:
        yield _table("notes", {**_KEY, **columns}, _TEST), notes
    if unanswerable:
        rows = ({**_text_row(query), "source": query.source} for query in unanswerable)
        yield _table("unanswerable", {**_TEXTS, "source": "string"}, _TEST), rows


def _table(name: str, columns: Columns, split: str | None = None) -> Table:
    file = f"{name}.parquet"
    return Table(name, split or name, file, file, columns)


def _text_row(query: ExportedQuery) -> dict[str, Any]:
    return {"_id": query.query_id, "text": query.alone}


def _answer_row(query: ExportedQuery) -> dict[str, Any]:
    evidence = [{"quote": quote.text, "corpus-id": quote.doc_id} for quote in query.evidence]
    return {"query-id": query.query_id, "answer": query.answer, "evidence": evidence}


def write_mteb(exported: ExportedSet, folder: Path) -> None:
    """Write a module with a retrieval task of MTEB, what it says of the task, and the data set that it evaluates."""
    data = folder / DATA
    data.mkdir()
    write_dataset(exported, data)
    codes = sorted({_CODES.get(code, _UNKNOWN) for code in languages(exported)}) or [_UNKNOWN]
    digest = hashlib.sha256((data / BEIR_CARD).read_bytes())  # the card has the digest of every file
    level = exported.metadata.get("evidence_level")
    evidence = f" Evidence level: {level}." if isinstance(level, str) else ""
    task = {
        "name": f"Goldbench-{identifier(exported.name)}",
        "revision": digest.hexdigest()[:40],
        "description": f"A retrieval test set made with goldbench.{evidence}",
        "languages": codes,
    }
    write_json(folder / "task.json", task)
    write_json(folder / EXPORT_ABOUT, about(exported))
    _copy_module("mteb_task.py", folder)


def mteb_task(folder: Path) -> Any:  # noqa: ANN401  a class of mteb
    """Return the task in an export.

    Raises:
        MissingPackage: mteb is not installed, or cannot be imported.
    """
    with package("mteb"):
        from goldbench.exports.standalone.mteb_task import task

    return task(folder)


def write_autorag(exported: ExportedSet, folder: Path) -> None:
    """Write ``qa.parquet`` and ``corpus.parquet``, as AutoRAG's evaluator reads them."""
    _write_table(Table(AUTORAG_QA, "qa", AUTORAG_QA, AUTORAG_QA, _AUTORAG_QA), autorag_questions(exported), folder)
    corpus = Table(AUTORAG_CORPUS, "corpus", AUTORAG_CORPUS, AUTORAG_CORPUS, _AUTORAG_CORPUS)
    _write_table(corpus, autorag_corpus(exported), folder)
    write_json(folder / EXPORT_ABOUT, about(exported))


def autorag_questions(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield a row for each query; the column ``goldbench`` holds in JSON what AutoRAG has no column for."""
    for query in exported.queries:
        yield {
            "qid": query.query_id,
            "query": query.alone,
            "retrieval_gt": _groups(query),
            "generation_gt": [query.answer] if query.answer is not None else [],
            "goldbench": json.dumps(query.described()),
        }


def _groups(query: ExportedQuery) -> list[list[str]]:
    """Return the relevant passages: of each group at least one has to be found.

    They are one group of passages each of which will do, or a group for each passage that is needed, which the other
    relevant passages join: any of these may stand for it.
    """
    relevant = [context.doc_id for context in query.contexts]
    rest = [doc_id for doc_id in relevant if doc_id not in query.needs]
    return [[needed, *rest] for needed in query.needs] or [relevant]


def autorag_corpus(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield a row for each passage; AutoRAG itself sets the time of a passage that has none."""
    neighbours = {"prev_id": None, "next_id": None}
    return ({"doc_id": doc_id, "contents": text, "metadata": neighbours} for doc_id, text in exported.corpus())
