"""Prompts as files: declared placeholders, filled once, released versions never changed."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from goldbench.prompts.loader import FOLDER, PromptError, available, load, parse

GOOD = '+++\ndescription = "x"\nplaceholders = ["a", "b"]\n+++\n# System\n\nSay {{a}}.\n\n# User\n\n{{b}}\n'


def test_every_prompt_of_ours_is_well_formed() -> None:
    assert {"generate.v1", "rewrite.v1"} <= set(available())
    for name in available():
        prompt = load(name)
        system, user = prompt.render(**dict.fromkeys(prompt.placeholders, "x"))
        assert "{{" not in system + user


def test_a_released_prompt_is_never_changed() -> None:
    locked = json.loads((FOLDER / "prompts.lock").read_text(encoding="utf-8"))
    digests = {name: hashlib.sha256((FOLDER / f"{name}.md").read_bytes()).hexdigest() for name in available()}
    assert digests == locked, "a changed wording is a new file: prompts/<name>.v<n+1>.md, then add it to prompts.lock"


def test_values_are_put_in_once_and_never_searched() -> None:
    system, user = parse("p.v1", GOOD).render(a="{{b}}", b="{{a}} # System")
    assert (system, user) == ("Say {{b}}.", "{{a}} # System")


@pytest.mark.parametrize("values", [{"a": "1"}, {"a": "1", "b": "2", "c": "3"}])
def test_missing_and_unknown_values_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(PromptError):
        parse("p.v1", GOOD).render(**values)


@pytest.mark.parametrize(
    "text", ["", "# System\nx\n# User\ny\n", GOOD.replace('["a", "b"]', '["a"]'), GOOD.replace("# User", "# Human")]
)
def test_a_malformed_prompt_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(PromptError, match=r"prompt p\.v1: ") as caught:
        parse("p.v1", text)
    assert "\n" not in str(caught.value)


OWN = '+++\ndescription = "x"\nplaceholders = [{}]\n+++\n# System\n\nAsk in verse.\n\n# User\n\n{}\n'


def test_a_users_own_prompt_may_leave_out_placeholders(tmp_path: Path) -> None:
    (tmp_path / "generate.v1.md").write_text(OWN.format('"passage"', "{{passage}}"), encoding="utf-8")
    given = dict.fromkeys(load("generate.v1").placeholders, "x") | {"passage": "The pump stands still."}
    assert load("generate.v1", tmp_path).render(**given) == ("Ask in verse.", "The pump stands still.")


@pytest.mark.parametrize(
    ("placeholders", "user", "says"),
    [
        ('"language"', "{{language}}", r"generate.v1.md: does not use \{\{passage\}\}"),
        ('"passage", "mood"', "{{passage}} {{mood}}", r"unknown placeholder \{\{mood\}\}; known are constraints, "),
    ],
)
def test_a_users_own_prompt_needs_the_passage_and_knows_only_our_placeholders(
    tmp_path: Path, placeholders: str, user: str, says: str
) -> None:
    (tmp_path / "generate.v1.md").write_text(OWN.format(placeholders, user), encoding="utf-8")
    with pytest.raises(PromptError, match=says):
        load("generate.v1", tmp_path)


@pytest.mark.parametrize("prompt_id", ["../secret.v1", "nowhere.v1"])
def test_an_unknown_id_is_refused(prompt_id: str) -> None:
    with pytest.raises(PromptError):
        load(prompt_id)


def test_a_users_own_prompt_has_the_passage_in_the_question_and_is_named_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "generate.v1.md"
    path.write_text(OWN.format('"passage"', "Ask.").replace("Ask in verse.", "Ask about {{passage}}"), encoding="utf-8")
    with pytest.raises(PromptError, match=r"does not use \{\{passage\}\}, .* put it into # User"):
        load("generate.v1", tmp_path)
    path.write_text("nothing", encoding="utf-8")
    load.cache_clear()
    with pytest.raises(PromptError, match=re.escape(f"{path}: needs ")):
        load("generate.v1", tmp_path)


SHOWN = '+++\ndescription = "d"\nplaceholders = ["x"]\n+++\n# System\nDo.\n{}\n# User\n{{{{x}}}}\n'


def test_examples_of_the_language_and_style_are_turns_before_the_question() -> None:
    examples = (
        "# Example\nany\n# Reply\nr\n# Example en\nq\n# Reply question\nr?\n# Reply keywords\nrk\n"
        "# Example de\nf\n\n# Reply question\n\na?\n"
    )
    prompt = parse("a.v1", SHOWN.format(examples))
    assert prompt.system == "Do."
    assert prompt.turns("en", "keywords") == (("any", "r"), ("q", "rk"))
    assert prompt.turns("de-AT", "question") == (("any", "r"), ("f", "a?"))
    assert prompt.turns("de", "vague") == (("any", "r"), ("f", "a?")), "the first reply where a style has none"
    assert prompt.turns("it", "question") == prompt.turns(None, "question") == (("any", "r"), ("q", "r?"))


@pytest.mark.parametrize("example", ["# Example\nq1\n", "# Example\n{{x}}\n# Reply\nr1\n"])
def test_an_example_without_a_reply_or_with_a_placeholder_is_refused(example: str) -> None:
    with pytest.raises(PromptError):
        parse("a.v1", SHOWN.format(example))
