"""Mutated files of judgments and results: each is refused in one line, or gives the figures of a plain reading."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from goldbench.errors import GoldbenchError
from goldbench.formats.runs import trec_frames
from goldbench.measures.names import parse_measures
from goldbench.measures.ranks.columns import column_of
from goldbench.score import runs
from tests.measures.cases import order, plain

Run = dict[str, dict[str, float]]

QRELS = {"q1": {"d1": 1, "d2": 2, "d9": 1}, "q2": {"d3": 1, "d4": 0}, "q3": {"é": 3, "d1": -1}}
RUN: Run = {
    "q1": {"d1": 3.5, "d2": 3.5, "x1": 2.0, "x2": 1e-3},
    "q2": {"x1": 12.0, "d3": 11.5, "d4": -1.0},
    "q3": {"é": 0.25, "x3": 0.25, "d1": 7.0},
}
ROWS = [(q, d, r, s) for q, docs in RUN.items() for r, (d, s) in enumerate(docs.items(), 1)]
TREC = "".join(f"{q} Q0 {d} {r} {s} t\n" for q, d, r, s in ROWS).encode()
CSV = ("query_id,doc_id,score\n" + "".join(f"{q},{d},{s}\n" for q, d, _, s in ROWS)).encode()
JSON = json.dumps(RUN, ensure_ascii=False).encode()
JUDGED = "".join(f"{q} 0 {d} {g}\n" for q, judged in QRELS.items() for d, g in judged.items()).encode()

NAMES = ("mrr", "map", "ndcg", "p")
MEASURES = parse_measures(f"{name}@3" for name in NAMES)
BITS = [
    b" ", b"  ", b"\t", b"\n", b"\n\n", b"\r\n", b"\r", b"\x00", b"\x0b", b"\x1c", b"\x85", b"\xff", b"\xc3",
    b"\xa0", b"#", b"\n#", b'"', b"'", b",", b";", b":", b"{", b"}", b"[", b"]", b"_", b"-", b"+", b".",
    b"e", b"1", b"9", b"nan", b"inf", b"NaN", b"Infinity", b"1e999", b"1_0", b"0x1", b"null", b"true",
    b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xd9\xa1", b"q1", b"d1", b"q1 Q0 d1 1 1 t\n",
]  # fmt: skip


def mutated(data: bytes, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        at = draw.randrange(len(data) + 1)
        to = min(len(data), at + draw.choice((0, 1, 1, 2, 5)))
        kind = draw.randrange(6)
        if kind == 0:
            data = data[:at] + data[to:]
        elif kind == 1:
            data = data[:at] + draw.choice(BITS) + data[at:]
        elif kind == 2:
            data = data[:at] + draw.choice(BITS) + data[to:]
        elif kind == 3:
            data = data[:at]
        else:
            lines = data.split(b"\n")
            one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
            if kind == 4:
                lines[one], lines[other] = lines[other], lines[one]
            else:
                lines.insert(one, lines[other])
            data = b"\n".join(lines)
    return data


_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def plain_trec(data: bytes) -> Run | None:
    """Read a TREC run by its definition; ``None`` if it is no run."""
    run: Run = {}
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if line.startswith(b"#") or not line.strip(b" \t\r\x0b\x0c"):
            continue
        words = re.split(rb"[ \t\r\x0b\x0c]+", line.strip(b" \t\r\x0b\x0c"))
        if len(words) != 6 or not _NUMBER.fullmatch(words[4]) or not math.isfinite(float(words[4])):
            return None
        try:
            query_id, doc_id = words[0].decode(), words[2].decode()
        except UnicodeDecodeError:
            return None
        if doc_id in run.setdefault(query_id, {}):
            return None
        run[query_id][doc_id] = float(words[4])
    return run


def plain_csv(data: bytes) -> Run | None:
    """Read a CSV run as Python's csv module does, columns by our names; ``None`` if it is no run."""
    run: Run = {}
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        at = [rows[0].index(str(column_of(role, rows[0]))) for role in ("query", "doc", "score")]
        for row in rows[1:]:
            query_id, doc_id, score = (row[i] for i in at)
            run.setdefault(query_id, {})[doc_id] = float(score)
    except (ValueError, IndexError, csv.Error, UnicodeDecodeError):
        return None
    return run


def plain_json(data: bytes) -> Run | None:
    """Read a JSON run as Python's json module does; ``None`` if it is no run."""
    try:
        found = json.loads(data.removeprefix(b"\xef\xbb\xbf").decode())
        return {q: {d: float(s) for d, s in docs.items()} for q, docs in found.items()}
    except (ValueError, AttributeError, TypeError, UnicodeDecodeError):
        return None


def one_line(error: GoldbenchError) -> bool:
    return bool(str(error)) and "\n" not in str(error)


def figures(path: Path, gold: runs.Gold) -> dict[str, list[float]] | None:
    try:
        result = runs.score_run(gold, runs.load_run(path), MEASURES)
    except GoldbenchError as error:
        return None if one_line(error) else {}
    return {name: list(values) for name, values in result.values.items()}


def expected(run: Run) -> dict[str, list[float]]:
    rankings = {q: order(run.get(q, {}), single=False) for q in sorted(QRELS)}
    return {f"{n}@3": [plain(n, QRELS[q], ranking, 3) for q, ranking in rankings.items()] for n in NAMES}


def agree(found: dict[str, list[float]], run: Run) -> bool:
    wanted = expected(run)
    return all(found[name] == pytest.approx(wanted[name], abs=1e-12) for name in wanted)


def hunt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: int, seed: int) -> None:
    draw = random.Random(seed)
    gold = runs.Gold(tmp_path / "gold", QRELS)
    forms: list[tuple[str, bytes, Callable[[bytes], Run | None]]] = [
        ("run.trec", TREC, plain_trec), ("run.csv", CSV, plain_csv), ("run.json", JSON, plain_json)
    ]  # fmt: skip
    accepted = 0
    for case in range(cases):
        name, seed_file, read = forms[0 if case % 10 < 8 else 1 + case % 2]
        data = mutated(seed_file, draw)
        path = tmp_path / name
        path.write_bytes(data)
        monkeypatch.setattr(runs, "_SMALL", -1 if case % 10 == 0 else 2**20)
        monkeypatch.setattr(trec_frames, "_BLOCK", draw.choice((16, 100, 2**20)))
        found, run = figures(path, gold), read(data)
        if found is None:
            strict = name == "run.trec"
            assert not strict or run is None or not run.keys() & QRELS.keys(), data
        else:
            assert run is not None, data
            assert agree(found, run), data
            accepted += 1
    assert cases / 20 < accepted < cases * 0.9


def hunt_judgments(tmp_path: Path, cases: int, seed: int) -> None:
    draw = random.Random(seed)
    run = tmp_path / "run.trec"
    run.write_bytes(TREC)
    path = tmp_path / "gold.qrels"
    for _ in range(cases):
        path.write_bytes(mutated(JUDGED, draw))
        try:
            gold = runs.load_gold(path)
            result = runs.score_run(gold, runs.load_run(run), MEASURES)
        except GoldbenchError as error:
            if one_line(error):
                continue
            raise
        for row, query_id in enumerate(result.query_ids):
            ranking = order(RUN.get(query_id, {}), single=False)
            for name in NAMES:
                assert result.values[f"{name}@3"][row] == pytest.approx(plain(name, gold.qrels[query_id], ranking, 3))


def test_mutated_runs_are_refused_or_read_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hunt(tmp_path, monkeypatch, 500, seed=1)


def test_mutated_judgments_are_refused_or_read_right(tmp_path: Path) -> None:
    hunt_judgments(tmp_path, 300, seed=2)
