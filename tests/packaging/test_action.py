"""The GitHub Action: each of its steps is run with its own shell text on a small set, against GitHub's comments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import posix
from tests.packaging.action_job import FOLDER, STEPS, Job
from tests.packaging.github_api import GitHub, github
from tests.score.deciding_files import write_gold, write_run

pytestmark = posix
PULL_REQUEST = {"pull_request": {"number": 7, "head": {"sha": "abcdef0123456789"}}}
MARKER = "<!-- goldbench gate -->"


@pytest.fixture
def api() -> Iterator[GitHub]:
    with github() as state:
        yield state


def job(folder: Path, api: GitHub | None = None, *, skill: float = 0.9, event: object = PULL_REQUEST) -> Job:
    """A job in a checkout with judgments, a good earlier run and a command that writes a run of this skill."""
    folder.mkdir(exist_ok=True)
    write_gold(folder)
    write_run(folder, "good.trec", skill=0.9)
    write_run(folder, "new.trec", skill=skill)
    made = Job(folder, api=api.url if api else "http://127.0.0.1:9", event=event)  # type: ignore[arg-type]
    made.prepare()
    return made


GIVEN = {"gold": "gold.qrels", "baseline-run": "good.trec", "retriever": 'cp new.trec "$RUN"'}


class TestTheFile:
    def test_no_input_is_put_into_shell_text(self) -> None:
        assert [step["name"] for step in STEPS if "${{" in step.get("run", "")] == []


class TestTheComment:
    """``post_comment.py`` alone, as the last step calls it."""

    def post(
        self, folder: Path, api: str, text: str | None = "the table\n", *, event: object = PULL_REQUEST, title: str = ""
    ) -> str:
        (folder / "event.json").write_text(json.dumps(event), encoding="utf-8")
        if text is not None:
            (folder / "gate.md").write_text(text, encoding="utf-8")
        environment = {
            "AUTHOR": "github-actions[bot]", "GITHUB_API_URL": api, "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_REPOSITORY": "owner/name", "GITHUB_RUN_ID": "42", "GITHUB_SERVER_URL": "https://github.example",
            "MARKDOWN": str(folder / "gate.md"), "TITLE": title, "TOKEN": "a-token", "PATH": os.environ["PATH"],
        }  # fmt: skip
        command = [sys.executable, "-I", FOLDER / "post_comment.py"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def test_the_first_is_written_and_the_next_updates_it_among_many_others(self, tmp_path: Path, api: GitHub) -> None:
        others = [api.comment(f"comment {number}", login="somebody") for number in range(150)]
        forged = api.comment(f"{MARKER}\nforged", login="somebody")
        quoted = api.comment(f"> {MARKER}\nquoted")
        assert self.post(tmp_path, api.url) == "Comment written.\n"
        assert self.post(tmp_path, api.url, "another table\n") == "Comment updated.\n"
        assert len(api.comments) == 153
        assert api.comments[-1]["body"] == (
            f"{MARKER}\nanother table\n\nCommit abcdef012345, [job](https://github.example/owner/name/actions/runs/42)."
        )
        assert (others[0]["body"], forged["body"], quoted["body"][:1]) == ("comment 0", f"{MARKER}\nforged", ">")
        assert api.tokens == {"Bearer a-token"}

    def test_each_title_has_a_comment_of_its_own(self, tmp_path: Path, api: GitHub) -> None:
        for title in ("manual", "laws --> <b>", "manual"):
            self.post(tmp_path, api.url, title=title)
        assert [comment["body"].splitlines()[0] for comment in api.comments] == [
            "<!-- goldbench gate: manual -->",
            "<!-- goldbench gate: laws  b -->",
        ]

    def test_the_longest_table_fits(self, tmp_path: Path, api: GitHub) -> None:
        assert self.post(tmp_path, api.url, "長" * 60_000, title="t" * 50) == "Comment written.\n"

    @pytest.mark.parametrize("status", [403, 500])
    def test_a_refusal_is_one_line_and_no_failure(self, tmp_path: Path, api: GitHub, status: int) -> None:
        api.refuses = status
        (line,) = self.post(tmp_path, api.url).splitlines()
        assert line.startswith(f"::warning title=goldbench gate::No comment written: GitHub answered {status}")
        assert ("pull-requests: write" in line) == (status < 500)

    def test_a_server_that_is_not_there_is_one_line(self, tmp_path: Path) -> None:
        (line,) = self.post(tmp_path, "http://127.0.0.1:9").splitlines()
        assert "GitHub cannot be reached" in line

    @pytest.mark.parametrize(
        "answer",
        [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<!doctype"],
    )
    def test_an_answer_that_is_not_githubs_is_one_line_and_no_failure(
        self, tmp_path: Path, api: GitHub, answer: bytes
    ) -> None:
        api.says = answer
        (line,) = self.post(tmp_path, api.url).splitlines()
        assert "GitHub cannot be reached or gave no valid answer" in line
        assert "a-token" not in line

    def test_a_push_has_no_pull_request_to_comment_on(self, tmp_path: Path, api: GitHub) -> None:
        assert self.post(tmp_path, api.url, event={"ref": "refs/heads/main"}).startswith("No comment: ")
        assert api.requests == []


@pytest.mark.slow
class TestTheSteps:
    def test_a_run_that_holds_passes_and_is_told_in_summary_and_comment(self, tmp_path: Path, api: GitHub) -> None:
        done = job(tmp_path, api).run({**GIVEN, "min": "recall@10=0.5\nmrr@10=0.5\n"})
        assert (done.code, done.failed) == (0, None), done.log
        assert "### Retrieval gate: ✅ passed" in done.summary
        assert done.summary.count("✅ passed |") == 5
        assert done.summary in api.comments[0]["body"]
        assert done.outputs["passed"] == "true"
        assert Path(done.outputs["markdown"]).read_text(encoding="utf-8") == done.summary

    def test_a_regression_fails_with_the_gates_exit_code_and_updates_the_comment(
        self, tmp_path: Path, api: GitHub
    ) -> None:
        first = job(tmp_path / "first", api).run({**GIVEN, "max-drop": "5%"})
        assert first.code == 0, first.log
        done = job(tmp_path / "second", api, skill=0.2).run({**GIVEN, "max-drop": "5%\nmrr@10=1%"})
        assert (done.code, done.failed, done.outputs["passed"]) == (1, "Gate", "false"), done.log
        assert "::error title=goldbench gate%3A mrr@10::" in done.log
        assert len(api.comments) == 1
        assert "❌ 3 of 3 checks failed" in api.comments[0]["body"]
        assert [method for method, _ in api.requests] == ["GET", "POST", "GET", "PATCH"]

    def test_a_broken_gate_is_neither_passed_nor_failed_and_the_comment_says_so(
        self, tmp_path: Path, api: GitHub
    ) -> None:
        done = job(tmp_path, api).run({**GIVEN, "min": "no-such-measure=0.5"})
        assert (done.code, done.failed, done.outputs["passed"]) == (2, "Gate", ""), done.log
        assert "⚠️ not checked" in api.comments[0]["body"]

    @pytest.mark.parametrize(
        ("inputs", "step"), [({"retriever": "exit 7"}, "Run the retriever"), ({"baseline": "b.json"}, "Gate")]
    )
    def test_what_cannot_be_checked_fails_at_its_step(self, tmp_path: Path, inputs: dict[str, str], step: str) -> None:
        done = job(tmp_path, event={}).run({**GIVEN, **inputs})
        assert done.code in {2, 7}
        assert done.failed == step, done.log

    def test_inputs_are_data_and_not_shell_text(self, tmp_path: Path) -> None:
        hostile = "$(touch pwned)`touch pwned`;touch pwned; '\" && touch pwned"
        build = {"gold": "missing", "documents": hostile, "config": hostile}
        names = ("min", "target", "title", "run")
        for number, inputs in enumerate([build, *({"run": "good.trec", name: hostile} for name in names)]):
            done = job(tmp_path / str(number), event={}).run({"gold": "gold.qrels", **inputs})
            assert done.failed is not None or "title" in inputs
            assert not (tmp_path / str(number) / "pwned").exists()
