"""What holds for every command: its options for output, its exit codes, its help, and what it says of a wrong name."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goldbench import errors
from goldbench.cli.app import COMMANDS, GROUPS, built
from goldbench.cli.options import WITHOUT_JSON
from goldbench.llm.store import AnswerStore
from tests.cli.sample_set import write_sample
from tests.conftest import IMPORT_PATH, ROOT, Goldbench


def walk() -> Iterator[tuple[str, Any]]:
    for name in COMMANDS:
        command = built(name)
        inner = getattr(command, "commands", None)
        if inner is None:
            yield name, command
        else:
            yield from ((f"{name} {word}", one) for word, one in inner.items())


EVERY = dict(walk())


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    write_sample(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", EVERY)
def test_every_command_takes_the_options_of_output(words: str) -> None:
    options = {name for param in EVERY[words].params for name in param.opts}
    assert {"-q", "--quiet", "-v", "--verbose"} <= options
    assert ("--json" in options) != (EVERY[words].callback.__name__ in WITHOUT_JSON)


@pytest.mark.parametrize("words", EVERY)
def test_json_stands_for_a_format_only_where_the_format_is_of_what_is_printed(words: str) -> None:
    for param in EVERY[words].params:
        if param.name == "form":  # the parameter that --json sets; the format of a file has another name
            assert "json" in param.type_descriptor.choices


@pytest.mark.parametrize("words", EVERY)
def test_the_help_of_every_command_ends_with_an_example_of_it(goldbench_inside: Goldbench, words: str) -> None:
    shown = goldbench_inside(*words.split(), "--help", COLUMNS="80").stdout
    example = shown.rstrip().splitlines()[-1].strip()
    assert example.startswith("Example: goldbench ")
    typed = shlex.split(example)[2:]
    assert typed[0] == words.split(maxsplit=1)[0]
    command = EVERY[words]
    named = {name for param in command.params for name in param.opts}
    assert {word for word in typed if word.startswith("-")} <= named
    assert "…" not in shown


def test_the_list_of_commands_is_in_groups_and_fits_80_columns(goldbench_inside: Goldbench) -> None:
    lines = goldbench_inside("--help", COLUMNS="80").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for title, group in GROUPS.items():
        start = lines.index(f"{title}:") + 1
        assert [line.split()[0] for line in lines[start : start + len(group)]] == list(group)


class TestExitCodes:
    """0 done, 1 the answer is no, 2 not done, 3 done in part, 130 interrupted."""

    @pytest.mark.parametrize("words", EVERY)
    def test_an_unknown_option_is_2(self, goldbench_inside: Goldbench, words: str) -> None:
        done = goldbench_inside(*words.split(), "--no-such-option")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert f"(see goldbench {words.partition(' ')[0]}" in done.stderr

    @pytest.mark.parametrize(
        "command",
        [
            "build none --out x", "refresh none", "add none q.csv", "import beir none --out x", "chunk none",
            "grade none --model m", "topup none --run a=a.trec", "review none", "review report none",
            "agreement none other", "feedback none f.csv --out o.jsonl", "card none", "bench none --system bm25",
            "retrieve none -o r.trec", "score none --run a.trec", "compare none --run a.trec --run b.trec",
            "gate none --run a.trec --min r@5=0.1", "monitor none --run a.trec --history h.jsonl",
            "monitor plot none", "drift none --queries q.txt", "ask none --no-model", "validate none",
            "diff none other", "split none --shares a=0.5,b=0.5", "export none --to ragas",
            "rechunk none --chunk-size 100", "answers stats none", "prompts show none",
            "models pull none", "doctor --config none.toml", "init none", "score gold --run none.trec",
            "score gold --run a.trec --measure ndgc@10", "score gold --run a.trec --html none/page.html",
        ],
    )  # fmt: skip
    def test_what_is_not_there_is_2_in_one_line(self, sample: Path, goldbench_inside: Goldbench, command: str) -> None:
        done = goldbench_inside(*command.split())
        assert done.returncode == 2, done.stderr
        assert done.stderr.splitlines()[-1].startswith("goldbench: ")
        assert "internal error" not in done.stderr

    @pytest.mark.parametrize(
        "command",
        [
            "gate gold --run a.trec --min ndcg@10=0.99",
            "monitor gold --run a.trec --history h.jsonl --alert-below ndcg@10=0.99",
            "diff gold gold2 --exit-code",
        ],
    )
    def test_a_check_that_says_no_is_1(self, sample: Path, goldbench_inside: Goldbench, command: str) -> None:
        data = json.loads((sample / "gold" / "dataset.json").read_text(encoding="utf-8"))
        data["queries"]["q00"] = "Another question?"
        (sample / "gold2").mkdir()
        (sample / "gold2" / "dataset.json").write_text(json.dumps(data), encoding="utf-8")
        assert goldbench_inside(*command.split()).returncode == 1
        quiet = goldbench_inside(*command.split(), "--json")
        assert quiet.returncode == 1
        assert json.loads(quiet.stdout)

    def test_every_error_has_the_code_of_its_rule(self) -> None:
        kinds = [
            one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.GoldbenchError)
        ]
        assert {kind.exit_code for kind in kinds} == {errors.NOT_DONE, errors.DONE_IN_PART}

    def test_no_command_ends_with_a_number_of_its_own(self) -> None:
        for path in (ROOT / "pipeline" / "goldbench" / "cli").glob("*.py"):
            codes = set(re.findall(r"typer\.Exit\((\w*)\)", path.read_text(encoding="utf-8")))
            assert codes <= {"", "NEGATIVE", "DONE_IN_PART"}, path.name

    def test_a_closed_output_is_no_failed_check(self, sample: Path) -> None:
        command = f"{sys.executable} -m goldbench prompts show generate.v1 | true; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=sample,
            env={**os.environ, "PYTHONPATH": IMPORT_PATH},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.strip() in {"0", "141"}


class TestOutput:
    """--quiet, --verbose and --json."""

    @pytest.mark.parametrize(
        "command",
        [
            "score gold --run a.trec", "compare gold --run a.trec --run b.trec --permutations 100 --resamples 100",
            "agreement people.txt model.txt --resamples 100", "gate gold --run a.trec --min ndcg@10=0.1",
            "monitor gold --run a.trec --history h.jsonl", "diff gold gold", "prompts list", "models",
            "retrieve gold -o r.trec", "ask gold --no-model --system bm25 --question valve", "doctor",
            "prompts show generate.v1", "card gold --no-write", "drift gold --queries people.txt",
            "drift gold --queries people.txt --dry-run --model m --base-url http://127.0.0.1:9/v1",
        ],
    )  # fmt: skip
    def test_json_is_one_object_and_nothing_else(self, sample: Path, goldbench_inside: Goldbench, command: str) -> None:
        done = goldbench_inside(*command.split(), "--json")
        assert isinstance(json.loads(done.stdout), dict), done.stderr

    @pytest.mark.parametrize(
        "command",
        [
            "score gold --run a.trec", "score gold --run a.trec --wide", "gate gold --run a.trec --min ndcg@10=0.1",
            "compare gold --run a.trec --run b.trec --permutations 100 --resamples 100 --wide",
            "monitor gold --run a.trec --history h.jsonl", "retrieve gold -o r.trec", "diff gold gold",
            "ask gold --no-model --system bm25 --question valve", "drift gold --queries people.txt",
            "export gold --to ragas --out r.jsonl --force", "add set q.csv --dry-run", "validate set",
            "import llamaindex gold/dataset.json --out set --replace",
            "answers stats a.sqlite",
        ],
    )  # fmt: skip
    def test_quiet_and_json_print_the_result_alone_and_the_warning_is_once(
        self, sample: Path, goldbench_inside: Goldbench, command: str
    ) -> None:
        if " set" in command:
            goldbench_inside("import", "llamaindex", "gold/dataset.json", "--out", "set")
        if "a.sqlite" in command:
            with AnswerStore(sample / "a.sqlite"):
                pass
        (sample / "q.csv").write_text("query,passages\nHow is the valve opened?,valve-1\n", encoding="utf-8")
        made = {path for path in sample.iterdir() if path.is_dir()}
        for option in ("--json", "-q", "-v"):
            for path in set(sample.iterdir()) - made:
                if path.is_dir():
                    shutil.rmtree(path)
            done = goldbench_inside(*command.split(), option)
            assert done.returncode in {0, 1}, done.stderr
            assert (done.stdout + done.stderr).count("Queries of a rule.") <= 1
            if option == "--json":
                json.loads(done.stdout)
            if option == "-q":
                assert done.stderr == ""
                assert "Next: " not in done.stdout

    def test_json_and_format_are_one(self, sample: Path, goldbench_inside: Goldbench) -> None:
        run = ("score", "gold", "--run", "a.trec")
        assert goldbench_inside(*run, "--json").stdout == goldbench_inside(*run, "--format", "json").stdout
        refused = goldbench_inside(*run, "--json", "--format", "csv")
        assert (refused.returncode, "--format csv" in refused.stderr) == (2, True)

    def test_quiet_prints_the_result_and_verbose_the_details(self, sample: Path, goldbench_inside: Goldbench) -> None:
        run = ("score", "gold", "--run", "a.trec", "--run", "b.trec")
        plain, quiet, verbose = (goldbench_inside(*run, *more) for more in ((), ("-q",), ("-v",)))
        assert (quiet.stdout, quiet.stderr) == (plain.stdout, "")
        assert plain.stderr.count("unjudged results") == 1
        assert verbose.stdout.count("\n- ") > plain.stdout.count("\n- ")
        both = goldbench_inside(*run, "-q", "-v")
        assert (both.returncode, "contradict" in both.stderr) == (2, True)

    def test_progress_is_quiet_too(self, sample: Path, goldbench_inside: Goldbench) -> None:
        done = goldbench_inside("bench", "gold", "--system", "bm25", "--out", "bench", "-q")
        assert (done.returncode, done.stderr) == (0, "")
        assert "ndcg@10" in done.stdout

    def test_a_long_warning_is_one_line_once_and_whole_with_verbose(
        self, sample: Path, goldbench_inside: Goldbench
    ) -> None:
        (sample / "gold" / "manifest.json").write_text("{}", encoding="utf-8")
        run = ("compare", "gold", "--run", "a.trec", "--run", "b.trec", "--permutations", "100", "--resamples", "100")
        said = goldbench_inside(*run)
        assert (said.stdout + said.stderr).count("Queries of a rule.") == 1
        assert "Warning: Queries of a rule. Use them for tests. (-v: more)\n" in said.stderr
        assert "They ask one thing." in goldbench_inside(*run, "-v").stderr


class TestMeant:
    """What an unknown name probably means."""

    @pytest.mark.parametrize(
        ("command", "meant"),
        [
            ("buld docs --out x", "build"),
            ("review aply gold", "apply"),
            ("answers prun x", "prune"),
            ("score gold --rum a.trec", "--format, --run"),
            ("score gold --run a.trec --measure ndgc@10", "ndcg@10"),
            ("score gold --run a.trec --measure ndgc", "ndcg@10"),
            ("score gold --run a.trec --k 5 --measure ndgc", "ndcg"),
            ("bench gold --system bm52", "bm25"),
            ("retrieve gold -o r.trec --system hybird", "hybrid"),
            ("retrieve gold -o r.trec --language german", "de"),
            ("build docs --out x --language english", "en"),
            ("init gold --retriever bm52", "bm25"),
            ("init gold --language germna", "de"),
        ],
    )
    def test_it_is_named(self, sample: Path, goldbench_inside: Goldbench, command: str, meant: str) -> None:
        done = goldbench_inside(*command.split())
        assert done.returncode == 2
        assert re.search(rf"(?i)(did you mean|options:) '?{re.escape(meant)}\b", done.stderr), done.stderr

    @pytest.mark.parametrize("words", [("xyzzy",), ("bench", "gold", "--set", "a=1"), ("build", "docs", "--styles")])
    def test_nothing_is_guessed_for_a_name_like_no_other(self, goldbench_inside: Goldbench, words: list[str]) -> None:
        assert "did you mean" not in goldbench_inside(*words).stderr.lower()


class TestWrongValues:
    """A refused value is told in one line: the option or file, what is wrong with it, and what to give."""

    @pytest.mark.parametrize(
        ("command", "says"),
        [
            ("bench gold --system bm52", "--system: no such system: bm52; did you mean bm25? (known: "),
            ("retrieve gold -o r --system bm52", "--system: no such system: bm52; did you mean bm25? (known: "),
            ("bench gold --measure ndgc@10", "--measure: 'ndgc@10': unknown measure; did you mean ndcg@10?"),
            ("gate gold --run a.trec --min ndgc@10=0.1", "--min: 'ndgc@10': unknown measure; did you mean ndcg@10?"),
            ("score gold --run a.trec --measure ,", "--measure: no measure is named; give one, as ndcg@10"),
            ("init gold --language english", "--language: not a valid value: 'english'; did you mean en?"),
            ("build docs --out x --language x1", "--language: not a valid value: 'x1'; give a code such as en"),
            ("retrieve gold -o r --language german", "--language: not a known language: 'german'; did you mean de?"),
            ("build docs --out x --generator sim", "Invalid value for '--generator': 'sim' is not one of 'auto', "),
            ("import foo x --out y", "Invalid value for 'KIND': 'foo' is not one of 'beir', 'trec', "),
            ("retrieve gold -o r --k 0", "Invalid value for '--k': Input should be greater than or equal to 1"),
            ("review gold --port 99999", "Invalid value for '--port': Input should be less than or equal to 65535"),
            ("compare gold --run a --run b --alpha x", "Invalid value for '--alpha': Input should be a valid number"),
            ("grade gold --judges a,a", "--judges: the same model is named twice; name each judge once"),
            ("build docs", "Missing option '--out'"),
            ("build --out x", "Missing argument 'PATH...'"),
            ("score gold --run", "Option '--run' requires an argument"),
            ("diff gold gold gold", "Got unexpected extra argument(s) (gold)"),
            ("ask gold why so", "Got unexpected extra argument(s) (why so)"),
            ("score gold --run object.trec", "object.trec, line 1: begins with {: name a run in JSON .json or .jsonl"),
            ("score . --run a.trec", ".: holds no dataset.json and no qrels/*.tsv; give the folder of a gold set or "),
            ("score nodir --run a.trec", "nodir: not found; give the folder of a gold set or a file of judgments"),
            ("bench nodir", "nodir: not found; give the folder of a gold set or a file of judgments"),
            ("card nodir", "Invalid value for 'DIR': path 'nodir' does not exist"),
            ("validate gold", "gold: holds no manifest.json; give the folder of a set that goldbench built"),
            ("score gold --run empty.trec", "empty.trec: holds no results; give a run with at least one result"),
            ("score empty.trec --run a.trec", "empty.trec: holds no judgment; give lines of query, 0, passage and"),
            ("score one.txt --run a.trec", "one.txt, line 1: 1 column, judgments have 4"),
            ("drift gold --queries gold", "gold: is a folder; give a file"),
            ("init one.odt", "one.odt: not a type of document; give one of .adoc "),
            ("doctor --config none.toml", "none.toml: file not found; correct --config, or write a file with"),
            ("rechunk gold --chunk-size 0", "Invalid value for '--chunk-size': Input should be greater than or "),
            ("import beir one.txt --out x", "one.txt: not a folder; give a folder with corpus.jsonl, queries.jsonl"),
            ("import trec none --out x", "none: folder not found; give a folder with a corpus, topics and qrels"),
            ("import autorag one.txt --out x", "one.txt: not a folder; give a folder with qa.parquet and corpus.par"),
            ("import squad one.txt --out x", "one.txt: holds no judgment; check that KIND is its format"),
            ("export gold --to ragas --out gold", "gold: is one of the inputs; give another --out"),
            ("models pull none", "not a model of the catalogue: none; give one of "),
            ("prompts show none", "prompt none: not a valid id; give one that goldbench prompts list shows"),
            ("prompts show none.v1", "prompt none.v1: file none.v1.md not found; goldbench prompts list shows"),
            ("prompts render one.txt", "no chunk of these documents is long and clean enough for a question; give lo"),
            ("answers stats none", "none: no answer store here; give the file answers.sqlite beside a gold set"),
            ("answers prune none", "prune needs a condition: give --stage, --prompt, --model or --rejected, or delete"),
            ("doctor gold", "gold: documents are for --try alone; add --try, or leave the documents out"),
            ("doctor --base-url foo", "--base-url: not a valid http(s) URL; give one such as http://127.0.0.1:8000/v1"),
            ("doctor --base-url http://{host}/v1", "--base-url: not a valid http(s) URL; give one such as http://127."),
            ("gate gold --run a.trec --baseline one.txt", "one.txt: is not a baseline: Invalid JSON: expected value"),
            ("chunk one.txt --out no/x", "no/x: cannot be written (no such folder: no); make the folder, or give ano"),
            ("open gold --run one.txt", "one.txt, line 1: 1 column, a run has 6: query Q0 document rank score tag"),
            ("score gold --run a.trec --per-query x.xls", "--per-query x.xls: not a known suffix; give a .csv, .json "),
            ("add gold none", "none: file not found"),
            ("add gold a.trec", "a.trec: not a file of queries; give a .csv, .tsv, .jsonl or .txt file"),
            ("add gold empty.csv", "empty.csv: holds no query; give rows with a column query"),
            ("feedback gold empty.csv --out x", "empty.csv: holds no feedback; give rows of query, chunk_id and vote"),
            ("drift gold --queries empty.trec", "empty.trec: holds no query; give lines of text, or a table with a"),
            ("monitor plot empty.csv", "empty.csv: is missing or empty; fill it with goldbench monitor GOLD --run"),
        ],
    )  # fmt: skip
    def test_it_is_named_with_what_to_give(
        self, sample: Path, goldbench_inside: Goldbench, command: str, says: str
    ) -> None:
        for name in ("empty.trec", "empty.csv"):
            (sample / name).touch()
        for name in ("one.txt", "one.odt"):
            (sample / name).write_text("word\n", encoding="utf-8")
        (sample / "object.trec").write_text('{"q": {"d": 1}}', encoding="utf-8")
        before = set(sample.rglob("*"))
        done = goldbench_inside(*command.split())
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
        assert done.stderr.startswith(f"goldbench: {says}"), done.stderr
        locks = set(sample.glob(".*.lock"))  # a lock file beside a set that was begun stays
        assert set(sample.rglob("*")) - locks == before


class TestCompletion:
    """What the shell is offered."""

    def offered(self, folder: Path, line: str) -> list[str]:
        words = line.split(" ")
        environment = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_GOLDBENCH_COMPLETE": "complete_bash"}
        command = "import sys; sys.argv[0] = 'goldbench'; from goldbench.__main__ import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", command],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": IMPORT_PATH, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.split()

    def test_commands_and_options_are_completed(self, sample: Path) -> None:
        assert self.offered(sample, "goldbench sc") == ["score"]
        assert self.offered(sample, "goldbench score gold --mis") == ["--missing"]

    def test_folders_of_sets_are_completed(self, sample: Path) -> None:
        (sample / "goods").mkdir()
        (sample / "gone.txt").write_text("", encoding="utf-8")
        assert self.offered(sample, "goldbench card go") == ["gold", "goods/"]

    def test_the_script_is_shown(self, sample: Path) -> None:
        command = "import sys; sys.argv = ['goldbench', '--show-completion', 'bash']; "
        command += "from goldbench.__main__ import main; main()"
        environment = {**os.environ, "PYTHONPATH": IMPORT_PATH, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
        done = subprocess.run(
            [sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True
        )
        assert "_GOLDBENCH_COMPLETE" in done.stdout
