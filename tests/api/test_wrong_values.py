"""Whatever is given to the functions that score and compare, a `GoldbenchError` of one line comes out, or a result."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import goldbench
from goldbench import GoldSet

TEXTS = {
    "pump": "The circulation pump starts when the tank falls below forty litres and stops when it is full.",
    "valve": "A motor valve closes slowly, because a sudden stop of the water would burst the older pipes.",
}
QUERY = "q1"
RUN = {QUERY: ["pump"]}
QRELS = {QUERY: {"pump": 1}}
VALUES: list[Any] = [
    *(None, True, 0, -1, 1, 2.5, math.nan, math.inf, 1e300, 10**400, 1j, Decimal("NaN"), Fraction(1, 3)),
    *("", " ", "\0", "\x1b[31m\n\u202e", "\ud800", "x" * 5000, b"\xff", Path("no/such"), Path("/")),
    *(
        [],
        [None],
        [[]],
        (),
        {},
        {None: None},
        set(),
        {1},
        range(3),
        {"a": {}},
        {"a": {"b": {}}},
        {"a": None},
        {"a": []},
    ),
    *(np.array(1), np.array([1, 2]), np.int64(3), np.float32("nan"), np.datetime64("NaT", "s"), pd.NA, pd.NaT),
    *(pd.DataFrame({"a": [1]}), pd.Series([1]), object(), object, len, int, Exception("x"), ..., NotImplemented),
    *({"a": {"d": "x"}}, {"a\x1b": len, "b": len}, {"a": len, None: len}, {"a": RUN, "b": {}}, {QUERY: {"d": b"1"}}),
]
TAKEN: dict[str, list[str]] = {  # by repr; every other value is refused
    "measures": ["None"],
    "rel": ["None", "1", "array(1)", "np.int64(3)"],
    "k": ["None", "1", repr(10**400), "array(1)", "np.int64(3)"],
    "cutoffs": [
        "1",
        "[]",
        "()",
        "{}",
        "set()",
        "{1}",
        "array(1)",
        "array([1, 2])",
        "np.int64(3)",
        repr(pd.Series([1])),
    ],
    "timeout": ["1", "2.5", "inf", "1e+300", repr(10**400), "Fraction(1, 3)", "np.int64(3)"],
    "permutations": ["1", "array(1)", "np.int64(3)"],
    "seed": ["0", "1", repr(10**400), "array(1)", "np.int64(3)"],
    "alpha": ["Fraction(1, 3)"],
    "progress": ["True"],
    "weight": ["None"],
}
FEW = {"permutations": 10, "resamples": 100}
SIGNATURES = {
    "evaluate": goldbench.evaluate,
    "compare": goldbench.compare,
    "GoldSet.evaluate": GoldSet.evaluate,
    "GoldSet.compare": GoldSet.compare,
}
PARAMETERS = [
    (name, keyword)
    for name, function in SIGNATURES.items()
    for keyword in inspect.signature(function).parameters
    if keyword != "self"
]


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> GoldSet:
    path = tmp_path_factory.mktemp("gold") / "dataset.json"
    relevant = {QUERY: ["pump"]}
    path.write_text(
        json.dumps({"queries": {QUERY: "a pump"}, "corpus": TEXTS, "relevant_docs": relevant, "mode": "text"})
    )
    return GoldSet.load(path)


def ends_well(gold: GoldSet, name: str, **given: object) -> bool:
    """Return whether what is given is taken; what is refused is refused in one line."""
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "evaluate": (goldbench.evaluate, {"qrels": QRELS, "run": RUN}),
        "compare": (goldbench.compare, {"qrels": QRELS, "runs": {"a": RUN, "b": RUN}, **FEW}),
        "GoldSet.evaluate": (gold.evaluate, {"systems": RUN, "progress": False}),
        "GoldSet.compare": (gold.compare, {"systems": {"a": RUN, "b": RUN}, "progress": False, **FEW}),
    }
    function, known = calls[name]
    said = ""
    try:
        function(**{**known, **given})
    except goldbench.GoldbenchError as error:
        said = str(error)
    assert said.isprintable(), given
    assert len(said) < 1000, given
    return not said


@pytest.mark.parametrize(("name", "keyword"), PARAMETERS)
def test_a_value_that_a_parameter_does_not_take_is_one_line(gold: GoldSet, name: str, keyword: str) -> None:
    taken = [repr(value) for value in VALUES if ends_well(gold, name, **{keyword: value})]
    assert taken == TAKEN.get(keyword, [])
    with pytest.raises(TypeError):
        ends_well(gold, name, no_such_keyword=1)


@pytest.mark.parametrize(("name", "keyword"), [one for one in PARAMETERS if one[1] in {"run", "runs", "systems"}])
def test_what_is_wrong_inside_a_run_is_one_line(gold: GoldSet, name: str, keyword: str) -> None:
    for value in VALUES:
        shapes: list[Any] = [{"a": value, "b": RUN}, {QUERY: value}, {QUERY: [value]}, {QUERY: {"pump": value}}]
        for shape in (*shapes, {QUERY: [("pump", value)]}, *([] if _unhashable(value) else [{QUERY: {value: 1.0}}])):
            ends_well(gold, name, **{keyword: shape})


def test_what_is_wrong_in_an_answer_of_a_retriever_is_one_line(gold: GoldSet) -> None:
    for value in VALUES:
        for answer in (value, [value], [("pump", value)], [(value, 1.0)], {"pump": value}):
            for match in ("id", "text"):
                ends_well(gold, "GoldSet.evaluate", systems=lambda query, k, answer=answer: answer, match=match)


def test_a_number_of_numpy_is_a_number(gold: GoldSet) -> None:
    by_numpy = gold.evaluate(RUN, "recall", k=np.int64(5), cutoffs=np.array([1, 2]), timeout=np.float32(9))
    assert dict(by_numpy) == dict(gold.evaluate(RUN, "recall", cutoffs=[1, 2]))
    scores = {query_id: {np.str_("pump"): np.float32(1), "valve": np.int64(2)} for query_id in RUN}
    plain = {query_id: {"pump": 1.0, "valve": 2.0} for query_id in RUN}
    found = goldbench.evaluate(QRELS, scores, rel=np.int64(1))  # type: ignore[arg-type]
    assert dict(found) == dict(gold.evaluate(plain))


def _unhashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return True
    return False
