"""The pages hang together: links, the list of the site, options that exist, the two READMEs."""

from __future__ import annotations

import re
import shlex
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldbench import __version__
from goldbench.cli.app import COMMANDS, built
from goldbench.score.demands import TARGETS
from tests.conftest import ROOT
from tests.llm.local.installed import needs_local_model
from tests.test_docs import BLOCK, ELSEWHERE, PAGES

TEXTS = {**PAGES, **{name: (ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CONTRIBUTING.md")}}
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")


def headings(text: str) -> list[str]:
    return re.findall(r"^#{1,6} (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as code hosts and the site make them."""
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings(text))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def test_every_link_leads_to_a_file_and_an_anchor() -> None:
    links = [
        (name, target, anchor) for name, text in TEXTS.items() for target, anchor in LINK.findall(CODE.sub("", text))
    ]
    for name, target, anchor in links:
        path = (ROOT / name).parent / target if target else ROOT / name
        assert path.is_file(), (name, target)
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), (name, target, anchor)


def test_every_page_that_code_or_a_text_names_exists() -> None:
    places = [ROOT / name for name in ("pipeline", "schemas", "prompts", "tests", ".ci", ".github")]
    files = [
        path for place in places for path in place.rglob("*") if path.suffix in {".py", ".md", ".yml", ".toml", ""}
    ]
    texts = [path.read_text(encoding="utf-8") for path in files if path.is_file()] + list(TEXTS.values())
    named = {name for text in texts for name in re.findall(r'(?<![\w/."-])docs/[\w/]+\.(?:md|py|toml)\b', text)}
    assert {name for name in named if not (ROOT / name).is_file()} <= {*ELSEWHERE, "docs/reference.md"}  # of the past


def listed(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from listed(list(nav.values()))
    elif isinstance(nav, list):
        for one in nav:
            yield from listed(one)


def test_the_site_lists_every_page_once() -> None:
    site = tomllib.loads((ROOT / "docs" / "site.toml").read_text(encoding="utf-8"))
    wanted = [name.removeprefix("docs/") for name in PAGES if name != "README.md"]
    assert sorted(listed(site["project"]["nav"])) == sorted(
        [*wanted, "project/CHANGELOG.md", "project/CONTRIBUTING.md"]
    )


def test_every_page_with_commands_or_snippets_is_run_by_a_test() -> None:
    for page, test in ELSEWHERE.items():
        if page in PAGES:
            assert Path(page).name in (ROOT / test).read_text(encoding="utf-8"), page


LINES = [
    (page, line.strip())
    for page, text in PAGES.items()
    for _, _, body in BLOCK.findall(text)
    for line in body.splitlines()
    if re.match(r"\s*(\$ )?goldbench [a-z]", line)
]


def options_of(words: list[str]) -> set[str]:
    """The options of a command; of one that has subcommands and is called without one, those of all."""
    command = built(words[0])
    inner = getattr(command, "commands", {})
    called = [inner[word] for word in words[1:2] if word in inner] or [command, *inner.values()]
    return {name for one in called for option in one.params for name in (*option.opts, *option.secondary_opts)}


def test_every_command_that_a_page_shows_has_the_options_that_it_shows() -> None:
    for page, line in LINES:
        words = shlex.split(line.removeprefix("$ "), comments=True)[1:]
        assert words[0] in COMMANDS, page
        known = options_of(words)
        assert [word for word in words if word.startswith("-") and word.split("=")[0] not in known] == [], (page, line)


def test_the_targets_on_the_page_are_those_of_the_gate() -> None:
    rows = re.findall(
        r"^\| `([\w-]+)` \| (\.\d) \| (\.\d) \| (\.\d) \| (\.\d) \|$",
        PAGES["docs/how_to/score_retrievers.md"],
        re.MULTILINE,
    )
    assert {name: [float(figure) for figure in figures] for name, *figures in rows} == {
        name: list(target.values()) for name, target in TARGETS.items()
    }


def skeleton(text: str) -> dict[str, object]:
    """What two languages of a page have in common: levels of headings, code, links, names in code."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    links = [target.removeprefix("../").removeprefix("docs/") for target, _ in LINK.findall(prose)]
    return {
        "headings": [len(marks) for marks in re.findall(r"^(#+) ", prose, re.MULTILINE)],
        "code": [re.sub(r" +#.*", "", body) for _, _, body in BLOCK.findall(text)],
        "links": sorted(link for link in links if link not in {"README.md", "README.zh.md"}),
        "names": sorted(re.findall(r"`([^`\n]+)`", prose)),
        "rows": len(re.findall(r"^\|", prose, re.MULTILINE)),
    }


def test_the_chinese_readme_keeps_step_with_the_english_one() -> None:
    english, chinese = skeleton(PAGES["README.md"]), skeleton(PAGES["docs/README.zh.md"])
    for part, found in english.items():
        assert chinese[part] == found, part
    assert len(re.findall(r"[\u4e00-\u9fff]", PAGES["docs/README.zh.md"])) > 400


def printed_again(name: str) -> str:
    """The page with what its commands print here and now."""
    from docs import write_outputs

    with tempfile.TemporaryDirectory() as folder:
        columns = write_outputs.PAGES[name]
        return write_outputs.with_outputs(PAGES[name], write_outputs.with_sample(Path(folder)), columns)


@pytest.mark.slow
def test_the_tutorial_shows_what_its_commands_print() -> None:
    assert printed_again("docs/tutorial.md") == PAGES["docs/tutorial.md"], "run make generated"


CHOSEN = re.compile(r"^(drawn|candidates|queries|generate|bm25|Worst|To improve|of about|\(goldbench|[\d,]+ results)")
"""Lines that depend on what the model chose."""


def sure(page: str) -> list[str]:
    """The console of a page without what the local model may choose otherwise on another processor."""
    lines = "".join(body for kind, _, body in BLOCK.findall(page) if kind == "console").splitlines()
    masked = [re.sub(r"q[0-9a-f]{12}|\d[\d,.]*", "#", line) if CHOSEN.match(line) else line for line in lines]
    return " ".join(re.sub(r" − (skipped|surplus) #", "", line) for line in masked).split()


def scores(page: str) -> list[float]:
    """The figures of bm25 in the table of a page."""
    [row] = re.findall(r"^bm25 +(.+)$", page, re.MULTILINE)
    return [float(figure) for figure in row.split()]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_readme_shows_what_its_commands_print() -> None:
    """Processors round differently, so the local model may choose a little otherwise on this one."""
    needs_local_model()
    page = printed_again("README.md")
    assert sure(page) == sure(PAGES["README.md"]), "run make generated"
    assert scores(page) == pytest.approx(scores(PAGES["README.md"]), abs=0.15)


def test_the_citation_names_this_project() -> None:
    cited = (ROOT / ".github" / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = f"title: {project['name']}", f"license: {project['license']}", f'version: "{__version__}"'
    assert {"cff-version: 1.2.0", "type: software", *named} <= set(cited.splitlines())
