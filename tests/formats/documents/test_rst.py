"""reStructuredText as a reader sees it: rendered, with Sphinx's directives and roles, without text of other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.formats.documents.rst_text import rst_to_text
from goldbench.stages.chunk import chunk_documents
from tests.formats.documents.reading import read


def text_of(source: str) -> str:
    return rst_to_text(source)[1]


def test_headings_lists_tables_and_code_are_markdown_like() -> None:
    title, text = rst_to_text(
        ".. _pumps:\n\n=====\nPumps\n=====\n\nA pump, see `its site <https://example.org/a>`_ or note [1]_.\n\n"
        "Starting\n========\n\n- open the *valve*\n- set ``x = 1``::\n\n    pump --start\n\n"
        "== =====\nA  B\n== =====\n1  2\n== =====\n\n.. a comment\n\n"
        ".. [1] By hand.\n"
    )
    assert title == "Pumps"
    assert text == (
        "# Pumps\n\nA pump, see its site or note [1].\n\n## Starting\n\n- open the *valve*\n- set `x = 1`:\n\n"
        "  ```\n  pump --start\n  ```\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n\n[1]\n\nBy hand."
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (".. note:: Hot!", "Note\n\nHot!"),
        (".. versionadded:: 3.4", "New in version 3.4"),
        (".. versionchanged:: 3.4\n   :func:`f` takes\n   more.", "Changed in version 3.4 `f` takes more."),
        (".. versionchanged:: 3.4\n\n   It takes more.", "Changed in version 3.4\n\nIt takes more."),
        (".. deprecated:: 3.1 Use *g*.", "Deprecated since version 3.1 Use *g*."),
        (".. productionlist:: grammar\n   stmt: `expr` | \"pass\"\n       : | `other`",
         '```\ngrammar\nstmt: expr | "pass"\n    : | other\n```'),
        (".. code-block:: python\n   :linenos:\n\n   a = 1\n     b", "```\na = 1\n  b\n```"),
        (".. seealso:: The tank.", "See also: The tank."),
        (".. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\nEnd.", "End."),
        (".. index:: pump\n   single: tank\n\nEnd.", "End."),
        (".. module:: pump\n   :platform: Unix\n\n.. function:: run(x, *, y=\\*)\n   :noindex:\n\n   Runs.",
         "run(x, *, y=*)\n:   Runs."),
        (".. class:: Pump(x)\n              Pump(y)\n\n   A pump.\n\n   .. method:: stop()\n\n      Stops.",
         "class Pump(x)\n\nclass Pump(y)\n:   A pump.\n\n    stop()\n    :   Stops."),
        (".. c:function:: int pump(void)\n\n   Pumps.", "int pump(void)\n:   Pumps."),
        (".. tab-set::\n\n   .. tab-item:: Linux\n\n      Use apt.", "Linux\n\nUse apt."),
        (".. frobnicate:: Some words\n   :level: 3\n\n   and a body.", "Some words\n\nand a body."),
        (".. automodule:: pump.core\n   :members:\n\nEnd.", "End."),
        (".. only:: html\n\n   screen", "screen"),
        (":orphan:\n\nText.", "Text."),
    ],
)  # fmt: skip
def test_directives_give_what_a_reader_reads(source: str, text: str) -> None:
    assert text_of(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (":meth:`~pump.Pump.stop` and :class:`!Pump`", "`stop` and `Pump`"),
        (":func:`run() <pump.run>`, :py:mod:`pump`", "`run()`, `pump`"),
        (":ref:`the tank <tank>`; :doc:`/a/b`; :term:`valve`", "the tank; /a/b; valve"),
        (":pep:`8`, :rfc:`2119`, :issue:`12`", "PEP 8, RFC 2119, 12"),
        (":kbd:`Ctrl-C`, :samp:`rm {file}`, :menuselection:`File --> Open`", "`Ctrl-C`, `rm {file}`, File --> Open"),
        (":frobnicate:`some words <x>` and `Unknown`_ and |thing|", "some words and Unknown and thing"),
        ("an open ` mark and :role:`another, *one and **more", "an open ` mark and :role:`another, *one and **more"),
        (":abbr:`LIFO (last-in, first-out)`", "LIFO (last-in, first-out)"),
        ("Give --verbose, f(x=\"a\") or 'b'.", "Give --verbose, f(x=\"a\") or 'b'."),
        ("10\\ :sup:`3` Pa", "10³ Pa"),
        ("Tank : vessel\n   Holds water.", "Tank : vessel\n:   Holds water."),
    ],
)
def test_roles_give_what_a_reader_reads(source: str, text: str) -> None:
    assert text_of(source) == text


def test_nothing_is_read_from_other_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the password")
    directives = [
        "include",
        "literalinclude",
        "raw:: html\n   :file",
        "csv-table:: T\n   :file",
        "csv-table:: T\n   :url",
    ]
    source = (
        "".join(f".. {name}:: {secret}\n\n" for name in directives)
        + f".. |x| include:: {secret}\n\n|x|\n\n.. raw:: html\n\n   <b>\n\nEnd."
    )
    text = text_of(source)
    assert "password" not in text
    assert "<b>" not in text
    assert text.endswith("End.")


def test_a_text_that_only_includes_others_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text(".. include:: ../CHANGES.rst\n")
    problem = "holds no text of its own; what it includes from other files is not read"
    assert read(tmp_path).failures == [f"{tmp_path}/a.rst: {problem}"]


@pytest.mark.parametrize("name", ["a.rst", "a.rest", "_sources/a.rst.txt", "_sources/a.txt"])
def test_sources_are_known_by_their_names(tmp_path: Path, name: str) -> None:
    (tmp_path / "_sources").mkdir()
    (tmp_path / name).write_text("Pumps\n=====\n\n.. note:: Hot, see :ref:`tank`.\n")
    (document,) = read(tmp_path).documents
    assert (document.title, document.text) == ("Pumps", "# Pumps\n\nNote\n\nHot, see tank.")
    assert next(chunk_documents([document])).headings == ("Pumps",)


@pytest.mark.parametrize("name", ["a.txt", "_sources/a.md.txt"])
def test_other_texts_stay_as_they_are(tmp_path: Path, name: str) -> None:
    (tmp_path / "_sources").mkdir()
    (tmp_path / name).write_text("# Pumps\n\n.. note:: Hot.\n")
    assert read(tmp_path).texts == ["# Pumps\n\n.. note:: Hot.\n"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "source",
    [
        "*a " * 3_000,
        "`a <" * 3_000,
        "x" * 200_000,
        "word " * 40_000,
        "|a| " * 4_000,
        "- a\n" * 4_000,
        "".join(f".. d{number}:: x\n\n" for number in range(2_000)),
        "".join(f".. |a{n}| replace:: |a{n + 1}| |a{n + 1}|\n" for n in range(12)) + ".. |a12| replace:: x\n\n|a0|",
        "=" * 50_000,
        "\x00\x00:ref:`\x00`",
    ],
)  # fmt: skip
def test_hostile_texts_are_read_or_refused_and_print_nothing(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(text_of(source), str)
    assert capfd.readouterr() == ("", "")


def test_a_text_nested_too_deeply_is_a_failure_and_no_crash(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text("".join(" " * depth + "- x\n\n" for depth in range(0, 2_000, 2)))
    (tmp_path / "b.rst").write_text("good")
    outcome = read(tmp_path)
    assert outcome.failures == [f"{tmp_path}/a.rst: is nested too deeply"]
    assert outcome.texts == ["good"]
