"""reStructuredText to the Markdown-like text of the other converters: rendered by docutils, then read as a page is."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.writers import html5_polyglot

from goldbench.formats.documents.html_text import html_to_text
from goldbench.formats.documents.rst_markup import register_names
from goldbench.formats.faults import Fault

_SETTINGS: dict[str, Any] = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "line_length_limit": 10**9,  # a longer line makes docutils give up the whole text
    "doctitle_xform": False,
    "docinfo_xform": False,
    "smart_quotes": False,
    "syntax_highlight": "none",
    "math_output": "LaTeX",
    "embed_stylesheet": False,
    "stylesheet_path": None,
    "initial_header_level": 1,
    "section_self_link": False,
    "toc_backlinks": False,
    "footnote_backlinks": False,
    "output_encoding": "unicode",
}
_FOR_TOOLS = frozenset({"orphan", "tocdepth", "nocomments", "nosearch", "no-search", "html_meta", "og:description"})
_REFERENCE = re.compile(r"\A(?:`([^`<]*+)(?:<[^`>]*+>)?`|\|([^|]*)\||([^`|]*?))__?\Z|\A\|([^|]*)\|\Z", re.DOTALL)


class _Translator(html5_polyglot.HTMLTranslator):  # type: ignore[misc]
    """Writes code within a line as code, and what a style sheet would write."""

    def visit_literal(self, node: nodes.literal) -> None:
        self.body.append(f"<code>{self.encode(node.astext())}</code>")
        raise nodes.SkipNode

    def visit_classifier(self, node: nodes.classifier) -> None:
        self.body.append(" : ")  # a style sheet writes it elsewhere
        super().visit_classifier(node)


class _Writer(html5_polyglot.Writer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.translator_class = _Translator


def rst_to_text(source: str) -> tuple[str | None, str]:
    """Return the title, which is the first heading, and the text.

    Raises:
        Fault: The text consists of directives that show other files.
        RecursionError: Lists or directives are nested too deeply.
        Exception: What docutils raises on a text that it cannot parse.
    """
    register_names(source)
    document = publish_doctree(source, settings_overrides=_SETTINGS)
    _mend(document)
    _drop_fields(document)
    _name_references(document)
    title = next((section.astext() for section in document.findall(nodes.title)), None)
    page = publish_from_doctree(document, writer=_Writer(), settings_overrides=_SETTINGS)
    text = html_to_text(page)[1]
    if not text.strip() and source.strip():
        raise Fault("holds no text of its own; what it includes from other files is not read")
    return title, text


def _mend(document: nodes.document) -> None:
    """Leave out messages, and show the text of references that lead out of this text."""
    for element in list(document.findall(nodes.Element)):
        if not any(isinstance(child, (nodes.problematic, nodes.system_message)) for child in element.children):
            continue
        kept = [child for child in element.children if not isinstance(child, nodes.system_message)]
        element.children = [_plain(child) if isinstance(child, nodes.problematic) else child for child in kept]


def _plain(wrong: nodes.problematic) -> nodes.Text:
    text = wrong.astext()
    shown = _REFERENCE.match(text)
    return nodes.Text(next((part.rstrip() for part in shown.groups() if part is not None), "") if shown else text)


def _name_references(document: nodes.document) -> None:
    """Show the heading of a section for a reference to its label, where the section stands in this text."""
    for reference in list(document.findall(nodes.inline)):
        section = document.ids.get(document.nameids.get(reference.get("label", "")))
        if isinstance(section, nodes.section) and section.children:
            reference.children = [nodes.Text(section.children[0].astext())]


def _drop_fields(document: nodes.document) -> None:
    """Drop the fields at the beginning that are for tools."""
    for fields in [node for node in document.children[:3] if isinstance(node, nodes.field_list)]:
        for item in list(fields.children):
            if item.children[0].astext().lower() in _FOR_TOOLS:
                fields.remove(item)
        if not fields.children:
            document.remove(fields)
