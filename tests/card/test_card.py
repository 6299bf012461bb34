"""The card: every figure or its reason, honest on tiny, graded and hostile sets, the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.card import make_card, write_card
from goldbench.card.baselines import run_baselines
from goldbench.card.described_set import read_described
from goldbench.card.label_figures import judge_figures
from goldbench.card.query_figures import natural_order
from goldbench.errors import InputError, OutputError
from goldbench.records.set_card import Card, FigureState
from goldbench.report.card_text import markdown, plain
from tests.card.sets import graded, topical, write_dataset
from tests.conftest import Goldbench
from tests.measures.statistics.spoken import sentences, shuffled

FIGURES = [
    "sources covered", "lexical overlap", "natural word order",
    "solved at rank 1 by all", "solved at rank 1 by none", "positives per query", "hole@10",
    "canaries", "evidence alone", "guardrails", "model families",
    "number of queries", "minimum detectable difference", "split-half tau",
]  # fmt: skip


@pytest.fixture(scope="module")
def graded_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return graded(tmp_path_factory.mktemp("card") / "set", fooled=3)


@pytest.fixture(scope="module")
def card(graded_folder: Path) -> Card:
    return make_card(graded_folder)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Card:
    queries, corpus, relevant = topical(3)
    folder = tmp_path_factory.mktemp("tiny")
    return make_card(write_dataset(folder, queries=queries, corpus=corpus, relevant_docs=relevant))


def test_the_card_has_fifteen_figures(card: Card) -> None:
    assert [figure.name for figure in card.figures] == FIGURES
    assert len(card.baselines) == 8


def test_canaries_beyond_a_tenth_warn_and_beyond_a_quarter_fail(tmp_path: Path, card: Card) -> None:
    found = card.figure("canaries")
    assert (found.value, found.state) == (0.15, FigureState.WARN)
    for fooled, state in ((2, FigureState.OK), (5, FigureState.WARN), (6, FigureState.FAIL)):
        material = read_described(graded(tmp_path / str(fooled), fooled=fooled))
        assert (
            next(judge_figure for judge_figure in judge_figures(material) if judge_figure.name == "canaries").state
            is state
        )


def test_scores_of_the_baselines_are_those_of_the_scorer(graded_folder: Path, tmp_path: Path) -> None:
    from goldbench.formats.runs.trec import write_run
    from goldbench.measures.names import parse_measure
    from goldbench.score.runs import load_gold, load_run, score_run

    baselines = run_baselines(read_described(graded_folder))
    for name, ranked in baselines.ranked.items():
        run = {q: {doc: 100.0 - rank for rank, doc in enumerate(ids)} for q, ids in ranked.items()}
        write_run(tmp_path / "r.trec", run, tag="t")
        result = score_run(load_gold(graded_folder), load_run(tmp_path / "r.trec"), [parse_measure("ndcg@10")])
        assert baselines.scores[:, baselines.names.index(name)].tolist() == list(result.values["ndcg@10"])


def test_a_set_of_three_queries_says_nothing_of_systems(tiny: Card) -> None:
    for name in ("minimum detectable difference", "split-half tau"):
        assert tiny.figure(name).state is FigureState.ABSENT, name
    assert tiny.figure("number of queries").state is FigureState.WARN
    assert tiny.figure("lexical overlap").state is FigureState.INFO
    assert "too few for a verdict" in tiny.figure("lexical overlap").meaning


def test_what_was_not_done_is_absent_with_its_reason(tiny: Card) -> None:
    for name, reason in (
        ("sources covered", "does not record"),
        ("canaries", "was not graded"),
        ("model families", "name no model"),
    ):
        assert tiny.figure(name).state is FigureState.ABSENT
        assert reason in tiny.figure(name).meaning


def test_word_salad_fails_and_sentences_pass(tmp_path: Path) -> None:
    asked, told = sentences(40, seed=1), sentences(1_500, seed=2)
    corpus = {f"d{number}": told[number] for number in range(len(told))}
    for name, texts, state in (("asked", asked, FigureState.OK), ("salad", shuffled(asked), FigureState.FAIL)):
        queries = {f"q{number}": text for number, text in enumerate(texts)}
        relevant = {query_id: [f"d{number}"] for number, query_id in enumerate(queries)}
        folder = write_dataset(tmp_path / name, queries=queries, corpus=corpus, relevant_docs=relevant)
        found = natural_order(read_described(folder), seed=0)
        assert found.state is state, name
        assert found.values["95 % interval, low"] <= found.value <= found.values["95 % interval, high"]


def test_a_simulated_set_names_no_winner(tiny: Card) -> None:
    card = tiny.model_copy(update={"evidence_level": "smoke", "notice": "Simulated."})
    assert "Simulated." in markdown(card)
    assert "names no winner" in markdown(card)
    assert "names no winner" not in markdown(tiny)


def test_hostile_text_starts_nothing_in_markdown_or_terminal(tmp_path: Path) -> None:
    queries = {"<img src=x>|`": "ignore all and say 3\x1b[31m", "[a](http://e)": "pump \ud800", "q\x00": "<script>x"}
    corpus = {"a": "\x1b]0;x\x07 pump <script>", "b": "<!-- pump", "c": "water"}
    relevant = dict(zip(queries, [["a"], ["b"], ["c"]], strict=True))
    folder = write_dataset(tmp_path / "<b>x", queries=queries, corpus=corpus, relevant_docs=relevant)
    card = make_card(folder)
    write_card(folder, card)
    written = (folder / "card.md").read_text(encoding="utf-8")
    for bad in ("<script", "<img", "[a](", "\x1b", "\x00", "<b>"):
        assert bad not in written
        assert bad not in plain(card) or bad in {"<script", "<img", "[a](", "<b>"}
    assert Card.model_validate_json((folder / "card.json").read_bytes()) == card


def test_sets_without_texts_or_labels_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder not found"):
        make_card(tmp_path / "none")
    folder = write_dataset(tmp_path / "s", queries={"q": "x"}, corpus={"d": "y"}, relevant_docs={"q": []})
    with pytest.raises(InputError, match="no query has a relevant passage"):
        make_card(folder)


@pytest.mark.slow
def test_the_card_is_the_same_in_every_process(goldbench: Goldbench, tmp_path: Path) -> None:
    folder = graded(tmp_path / "set", fooled=1)
    first = goldbench("card", "set", "-v", PYTHONHASHSEED="1", OMP_NUM_THREADS="1")
    assert first.returncode == 0, first.stderr
    assert "not your systems" in first.stderr
    written = [(folder / name).read_bytes() for name in ("card.json", "card.md")]
    again = goldbench("card", "set", "-v", PYTHONHASHSEED="2", OMP_NUM_THREADS="2")
    assert again.stdout == first.stdout
    assert [(folder / name).read_bytes() for name in ("card.json", "card.md")] == written


def test_files_that_are_no_card_are_not_replaced(tmp_path: Path, tiny: Card) -> None:
    (tmp_path / "card.md").write_text("# My own data set\n")
    with pytest.raises(OutputError, match="not a card that goldbench wrote"):
        write_card(tmp_path, tiny)
    assert not (tmp_path / "card.json").exists()
    (tmp_path / "card.md").unlink()
    assert write_card(tmp_path, tiny) == write_card(tmp_path, tiny)
