"""``goldbench diff``: nothing between a set and itself, the mirror image the other way round, texts that do nothing."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from goldbench.goldset.difference import Difference, Items, SetContents, compare_sets
from goldbench.text.similarity import wording_digest
from tests.conftest import Goldbench
from tests.report.hostile import ENDINGS, IMAGE, SCRIPT


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def write_beir(
    folder: Path, corpus: dict[str, str], queries: dict[str, str], qrels: list[tuple[str, str, int]]
) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = (json.dumps({"_id": one, "title": "", "text": text}) for one, text in rows.items())
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = ["query-id\tcorpus-id\tscore", *(f"{query}\t{doc}\t{grade}" for query, doc, grade in qrels)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def counts(difference: Difference) -> dict[str, tuple[int, int, int]]:
    return {
        section.name: (len(section.removed), len(section.added), len(section.changed))
        for section in difference.sections
    }


_IDS = st.sampled_from([f"i{number}" for number in range(6)])
_TEXTS = st.sampled_from(["one", "two", "three", "four"])
_ITEMS = st.dictionaries(_IDS, _TEXTS, max_size=6)


def contents(passages: dict[str, str], queries: dict[str, str], seed: int) -> SetContents:
    draw = random.Random(seed)
    labels = {query: {passage: draw.randrange(4) for passage in passages if draw.random() < 0.6} for query in queries}
    answers = {query: draw.choice(["yes", "no"]) for query in queries if draw.random() < 0.3}
    return SetContents(items(passages), items(passages), items(queries), answers, labels)


def items(texts: dict[str, str]) -> Items:
    return Items({one: wording_digest(text) for one, text in texts.items()}, texts)


SETS = st.builds(contents, _ITEMS, _ITEMS, st.integers(0, 99))


@given(SETS)
def test_nothing_is_different_between_a_set_and_itself(one: SetContents) -> None:
    sets = compare_sets(one, one)
    assert not sets.differs
    assert sets.notes == ()
    assert all(section.same == section.before == section.after for section in sets.sections)


@given(SETS, SETS)
def test_the_other_way_round_is_the_mirror_image(one: SetContents, other: SetContents) -> None:
    forth, back = compare_sets(one, other), compare_sets(other, one)
    assert counts(forth) == {name: (b, a, c) for name, (a, b, c) in counts(back).items()}
    for there, section in zip(forth.sections, back.sections, strict=True):
        assert there.same == section.same
        assert {item.before for item in there.removed} == {item.after for item in section.added}
        assert {(item.before, item.after) for item in there.changed} == {
            (item.after, item.before) for item in section.changed
        }


def test_the_same_texts_under_other_ids_are_the_same(goldbench: Goldbench, tmp_path: Path) -> None:
    write_beir(tmp_path / "a", {"c1": "First text.", "c2": "Second."}, {"q1": "Which?"}, [("q1", "c1", 3)])
    write_beir(tmp_path / "b", {"d7": "Second.", "d9": "First  text."}, {"x": "Which?"}, [("x", "d9", 3)])
    done = goldbench("diff", "a", "b", "--exit-code")
    assert done.returncode == 0, done.stdout
    assert "No difference." in done.stdout
    assert "Of passages, 2 have the same text under another id." in done.stdout
    assert "Of queries, 1 have the same text under another id." in done.stdout


def test_what_changed_is_counted_and_shown(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus = {"c1": "First text.", "c2": "Second."}
    write_beir(tmp_path / "a", corpus, {"q1": "Which?", "q2": "Who?"}, [("q1", "c1", 3), ("q2", "c2", 2)])
    changed = {**corpus, "c2": "Second, edited.", "c3": "New."}
    write_beir(tmp_path / "b", changed, {"q1": "Which?", "q3": "Where?"}, [("q1", "c1", 2), ("q3", "c3", 3)])
    done = goldbench("diff", "a", "b", "--json", "--exit-code")
    assert done.returncode == 1
    sections = json.loads(done.stdout)["sections"]
    assert {
        name: [len(section[kind]) for kind in ("removed", "added", "changed")] for name, section in sections.items()
    } == {"passages": [0, 1, 1], "queries": [1, 1, 0], "labels": [1, 1, 1]}
    assert sections["labels"]["changed"] == [
        {"a": ["q1", "c1"], "b": ["q1", "c1"], "change": "3 → 2", "text": "Which?"}
    ]
    assert sections["passages"]["changed"][0]["text"] == "Second."
    assert goldbench("diff", "a", "b").returncode == 0


def test_texts_of_a_set_do_nothing_in_markdown_and_in_a_terminal(goldbench: Goldbench, tmp_path: Path) -> None:
    hostile = f"a | b ``` `@team` #12 https://x.example [l](y) {SCRIPT} {IMAGE} {ENDINGS} \x1b[31m\n## Heading"
    write_beir(tmp_path / "a", {"c1": "Text."}, {"q1": "Which?"}, [("q1", "c1", 3)])
    write_beir(
        tmp_path / "b | <b>", {"c1": "Text.", "c2": hostile}, {"q1": "Which?", "q`2": hostile}, [("q1", "c1", 3)]
    )
    shown = goldbench("diff", "a", "b | <b>", "--markdown").stdout
    assert shown.count("\n## ") == 0
    outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", shown)
    assert not re.search(r"<|@|\[|\x1b|https|#12", outside), outside
    assert len({line.count("|") for line in shown.splitlines() if line.startswith("|")}) == 1
    lines = goldbench("diff", "a", "b | <b>").stdout.splitlines()
    assert "\x1b" not in "".join(lines)
    assert max(map(cell_len, lines)) <= 80


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["empty", "empty"], 2, "holds no dataset.json"),
        (["empty", "empty", "--json", "--markdown"], 2, "--json and --markdown exclude one another"),
    ],
)
def test_bad_input_is_one_line(
    goldbench: Goldbench, tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    (tmp_path / "empty").mkdir()
    done = goldbench("diff", *arguments, "--exit-code")
    assert done.returncode == code
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_another_answer_changes_a_query() -> None:
    def holding(answer: str) -> SetContents:
        return SetContents(None, items({"c1": "one"}), items({"q1": "Which?"}), {"q1": answer}, {})

    (changed,) = compare_sets(holding("Two."), holding("Three.")).sections[1].changed
    assert changed.change == "answer"
