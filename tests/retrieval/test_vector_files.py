"""Vectors made elsewhere: read, held against the corpus, refused with the file and the row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldbench.errors import InputError, RetrieverFailed
from goldbench.formats.vector_tables import VectorTable, read_vectors
from goldbench.retrieval.dense import Dense
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import Vectors
from goldbench.retrieval.vector_files import FileEncoder

ROWS = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
IDS = ["a", "b", "c"]


def npy(folder: Path, rows: Any = ROWS, ids: str = "a\nb\nc\n", name: str = "passages") -> tuple[Path, Path]:
    np.save(folder / f"{name}.npy", rows)
    (folder / f"{name}.ids").write_text(ids, encoding="utf-8")
    return folder / f"{name}.npy", folder / f"{name}.ids"


def parquet(folder: Path, rows: Any = None, ids: Any = None, kind: Any = None) -> Path:
    vectors = pa.array(ROWS.tolist() if rows is None else rows, type=kind or pa.list_(pa.float32()))
    pq.write_table(pa.table({"id": IDS if ids is None else ids, "vector": vectors}), folder / "v.parquet")
    return folder / "v.parquet"


def table(ids: list[str], rows: Any, source: str = "file") -> VectorTable:
    return VectorTable(source, tuple(ids), np.array(rows, dtype=np.float32))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, ">f8"])
def test_rows_of_numpy_are_read_with_their_ids(tmp_path: Path, dtype: Any) -> None:
    path, ids = npy(tmp_path, ROWS.astype(dtype), "\ufeffa\r\nb\r\nc\r\n\r\n")
    vectors = read_vectors(path, ids=ids)
    assert vectors.ids == ("a", "b", "c")
    assert vectors.rows.dtype == np.float32
    assert np.array_equal(vectors.rows, ROWS)


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 2), pa.list_(pa.int32())]
)
def test_parquet_is_read_whatever_kind_of_list_it_holds(tmp_path: Path, kind: Any) -> None:
    rows = ROWS.astype(int).tolist() if kind == pa.list_(pa.int32()) else None
    vectors = read_vectors(parquet(tmp_path, rows, kind=kind))
    assert vectors.ids == ("a", "b", "c")
    assert np.array_equal(vectors.rows, ROWS)
    assert read_vectors(parquet(tmp_path, ids=[7, 8, 9])).ids == ("7", "8", "9")


def test_many_rows_come_in_their_order(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((20_000, 3)).astype(np.float32)
    vectors = read_vectors(parquet(tmp_path, list(rows), [f"d{n}" for n in range(20_000)]))
    assert np.array_equal(vectors.rows, rows)
    assert vectors.ids[17_000] == "d17000"


@pytest.mark.parametrize(
    ("rows", "ids", "problem"),
    [
        (ROWS, "a\nb\n", r"has 3 rows, but .*passages.ids 2 ids"),
        (ROWS, "a\nb\na\n", "row 3: id 'a' is in row 1 already"),
        (ROWS, "a\n\nc\n", "row 2: the id is empty"),
        (
            np.array([[1, 2], [3, np.nan], [1, 1]]),
            "a\nb\nc\n",
            "row 2: the vector holds something that is not a finite number",
        ),
        (
            np.array([[1, 2], [3, 4], [1e300, 1]]),
            "a\nb\nc\n",
            "row 3: the vector holds something that is not a finite number",
        ),
        (np.array([[0, 0], [3, 4], [1, 1]]), "a\nb\nc\n", "row 1: the vector is all 0"),
        (np.arange(3.0), "a\nb\nc\n", "holds float64 of shape 3, not rows"),
        (ROWS.astype(complex), "a\nb\nc\n", "holds complex128"),
        (np.array([["x", "y"]] * 3), "a\nb\nc\n", "not rows of real numbers"),
        (ROWS[:, :0], "a\nb\nc\n", "shape 3 x 0"),
    ],
)
def test_wrong_rows_of_numpy_are_refused(tmp_path: Path, rows: Any, ids: str, problem: str) -> None:
    path, names = npy(tmp_path, rows, ids)
    with pytest.raises(InputError, match=problem) as caught:
        read_vectors(path, ids=names)
    assert "passages.npy" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "ids", "problem"),
    [
        ([[1, 2], [3], [1, 1]], IDS, "row 2: 1 numbers, where the first row has 2"),
        ([[1, 2], [3, 4], None], IDS, "row 3: no vector, where the first row has 2"),
        ([None, [3, 4], [1, 1]], IDS, "row 1: no vector"),
        ([[], [], []], IDS, "row 1: the vector is empty"),
        ([[1, 2], [3, None], [1, 1]], IDS, "row 2: the vector holds something that is not a finite number"),
        ([[1, 2], [3, 4], [1, 1]], ["a", None, "c"], "row 2: the id is empty"),
        ([[1, 2], [3, 4], [1, 1]], ["a", "b", "b"], "row 3: id 'b' is in row 2"),
        ([[1, 2], [3, 4], [1, 1]], [1.5, 2.5, 3.5], "column id holds double"),
        ([], pa.array([], pa.string()), "holds no vector"),
    ],
)
def test_wrong_rows_of_parquet_are_refused(tmp_path: Path, rows: Any, ids: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        read_vectors(parquet(tmp_path, rows, ids))
    assert "v.parquet" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path, ids = npy(tmp_path)
    for wrong, names, problem in (
        (tmp_path / "gone.npy", ids, "file not found"),
        (tmp_path / "gone.parquet", None, "file not found"),
        (path, None, "rows have no names"),
        (path, tmp_path / "gone.ids", "file not found"),
        (tmp_path, None, "is a folder; give a file"),
        (ids, None, "neither .npy nor Parquet"),
    ):
        with pytest.raises(InputError, match=problem):
            read_vectors(wrong, ids=names)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"is not a \.npy file of numbers, or is cut short"):
        read_vectors(path, ids=ids)
    np.save(path, np.array([object()] * 3, dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"is not a \.npy file of numbers"):
        read_vectors(path, ids=ids)
    pq.write_table(pa.table({"id": ["a"], "text": ["b"]}), tmp_path / "v.parquet")
    with pytest.raises(InputError, match="no column vector"):
        read_vectors(tmp_path / "v.parquet")


def test_a_search_over_vectors_from_files(tmp_path: Path) -> None:
    passages = read_vectors(parquet(tmp_path))
    queries = read_vectors(
        *npy(tmp_path, np.array([[0, 1], [1, 0]]), "q\nr\n", "queries")[:1], ids=tmp_path / "queries.ids"
    )
    encoder = FileEncoder(passages=passages, queries=queries)
    system = Dense(Vectors(), encoder=encoder, stopwatch=Stopwatch())
    system.index({"c": "", "a": "", "b": ""})
    assert list(system.search({"q": "any"}, k=2)["q"]) == ["b", "c"]
    assert system.search({"r": "any"}, k=1)["r"] == pytest.approx({"a": 1.0})


@pytest.mark.parametrize(
    ("ids", "corpus", "problem"),
    [
        (IDS, ["a", "b"], r"file, row 3: 'c' is not a passage of the corpus"),
        (IDS, ["a", "b", "c", "d", "e"], r"file has no vector of 2 of 5 passages, as of 'd'; it has 3 rows"),
        (IDS, ["a", "b", "x"], r"file has no vector of 1 of 3 passages, as of 'x'"),
    ],
)
def test_vectors_of_another_corpus_are_refused(ids: list[str], corpus: list[str], problem: str) -> None:
    encoder = FileEncoder(passages=table(ids, ROWS), queries=table(["q"], [[1, 1]]))
    with pytest.raises(RetrieverFailed, match=problem):
        encoder.passages(dict.fromkeys(corpus, "text"))


def test_vectors_of_two_sizes_and_queries_without_one_are_refused() -> None:
    with pytest.raises(RetrieverFailed, match="vectors of 2 numbers in file, of 3 in other"):
        FileEncoder(passages=table(IDS, ROWS), queries=table(["q"], [[1, 1, 1]], "other"))
    encoder = FileEncoder(passages=table(IDS, ROWS), queries=table(["q"], [[1, 1]], "other"))
    with pytest.raises(RetrieverFailed, match="other has no vector of 1 of 2 queries, as of 'r'"):
        encoder.queries({"q": "x", "r": "y"})
