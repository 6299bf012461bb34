"""reStructuredText to the Markdown-like text of the other converters: rendered by docutils, then read as a page is.

docutils drops what it does not know. So every name that a text uses and docutils lacks is registered before the text is
parsed: directives give their argument and content, roles the title or name that a reader of Sphinx's page sees. Nothing
is looked up outside the text: no file is read and no reference is resolved.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en
from docutils.statemachine import StringList
from docutils.utils import unescape
from docutils.writers import html5_polyglot

from goldbench.formats.documents.html_text import html_to_text
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
    "stylesheet_path": None,
    "initial_header_level": 1,
    "footnote_backlinks": False,
    "output_encoding": "unicode",
}
_DIRECTIVES = re.compile(r"^[ \t]*\.\. (?:\|[^|\n]{1,80}\| )?([\w.+:-]{1,40})::(?=\s|$)", re.MULTILINE)
_ROLES = re.compile(r":([\w.+:-]{1,40}):`|`:([\w.+:-]{1,40}):")
_OPTION = re.compile(r"[ \t]*:[\w-]{1,40}:(?:\s|\Z)")
_FIELDS_FOR_TOOLS = re.compile(r"\A(?:\s*:(?:orphan|tocdepth|nocomments|no-?search):.*\n)+")
_SILENT = frozenset({
    "acks", "audit-event", "codeauthor", "cssclass", "currentmodule", "default-domain", "graphviz", "highlight",
    "highlightlang", "index", "inheritance-diagram", "literalinclude", "module", "moduleauthor", "program",
    "sectionauthor", "tabularcolumns", "testcleanup", "testsetup", "toctree",
})  # fmt: skip
"""Directives that show nothing, or what stands in other files."""
_CODE = frozenset({
    "code-block", "sourcecode", "productionlist", "testcode", "testoutput", "doctest", "prompt", "ipython", "console",
})  # fmt: skip
_OBJECTS = frozenset({
    "function", "method", "attribute", "data", "class", "exception", "member", "type", "macro", "var", "struct", "enum",
    "enumerator", "property", "classmethod", "staticmethod", "decorator", "option", "cmdoption", "envvar", "opcode",
    "describe", "object", "setting", "signal", "confval", "command", "django-admin",
})  # fmt: skip
"""Directives whose argument is one or more signatures, in which nothing is marked up."""
_LEADS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "seealso": "See also:",
}
_CODE_ROLES = frozenset({
    "func", "meth", "class", "mod", "attr", "data", "const", "exc", "obj", "type", "member", "macro", "keyword",
    "option", "envvar", "token", "file", "samp", "kbd", "command", "program", "setting", "function", "method",
})  # fmt: skip

_NUMBERED = {"pep": "PEP ", "rfc": "RFC "}


class _CodeTranslator(html5_polyglot.HTMLTranslator):  # type: ignore[misc]
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
        self.translator_class = _CodeTranslator


class _SphinxDirective(Directive):  # type: ignore[misc]
    """A directive that docutils lacks: code, signatures with the text about them, or text."""

    # Options are not declared, because docutils would take a first line such as ":func:`f` is new" for one.
    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        name = self.name.lower().rsplit(":", 1)[-1]
        argument = self.arguments[0].split("\n") if self.arguments else []
        lines = [line for line in argument if not _OPTION.match(line)]
        if name in _SILENT:
            return []
        if name in _CODE:
            code = "\n".join(self.content or lines).replace("`", "")
            return [nodes.literal_block(code, code)]
        if name in _OBJECTS:
            lead = f"{name} " if name in {"class", "exception"} else ""
            terms = [nodes.term("", lead + re.sub(r"\\(.)", r"\1", line.strip())) for line in lines]
            items = [nodes.definition_list_item("", term) for term in terms]
            body = self.parse(self.content, nodes.definition())
            return [nodes.definition_list("", *items[:-1], nodes.definition_list_item("", *terms[-1:], body))]
        if name in {"only", "ifconfig"} or name.startswith("auto"):
            lines = []
        elif name in _LEADS:
            lines[:1] = [f"{_LEADS[name]} {' '.join(lines[:1])}"]
        shown = self.parse(StringList(lines, self.state_machine.document.current_source), nodes.container())
        return [*shown.children, *self.parse(self.content, nodes.container()).children]

    def parse(self, lines: StringList, into: nodes.Element) -> nodes.Element:
        """Parse lines into an element."""
        lines.disconnect()  # from the lines of the whole text
        self.state.nested_parse(lines, self.content_offset, into, match_titles=False)
        return into


def rst_to_text(source: str) -> tuple[str | None, str]:
    """Return the title, which is the first heading, and the text.

    Raises:
        Fault: The text consists of directives that show other files.
        RecursionError: Lists or directives are nested too deeply.
        Exception: What docutils raises on a text that it cannot parse.
    """
    source = _FIELDS_FOR_TOOLS.sub("", source)
    _register_names(source)
    document = publish_doctree(source, settings_overrides=_SETTINGS)
    parents = {id(node.parent): node.parent for node in document.findall(nodes.problematic)}
    for parent in parents.values():
        parent.children = [_show_reference(child) for child in parent.children]
    title = next((title.astext() for title in document.findall(nodes.title)), None)
    page = publish_from_doctree(document, writer=_Writer(), settings_overrides=_SETTINGS)
    text = html_to_text(page)[1]
    if not text.strip() and source.strip():
        raise Fault("holds no text of its own; what it includes from other files is not read")
    return title, text


def _show_reference(node: nodes.Node) -> nodes.Node:
    """Return a node, or the text of a reference that leads out of this text."""
    text = node.astext()
    if not isinstance(node, nodes.problematic) or not text.endswith(("_", "|")):
        return node
    return nodes.Text(re.sub(r"(?<!\s)\s*+<[^<>]*+>\Z", "", text.strip("`_|")))


def _register_names(source: str) -> None:
    """Register with docutils every directive and role that the text uses and docutils lacks, or shows otherwise."""
    known = {str(name) for name in en.directives} - _CODE - _OBJECTS
    for name in {name.lower() for name in _DIRECTIVES.findall(source)} - known:
        directives.register_directive(name, _SphinxDirective)
    for match in _ROLES.finditer(source):
        name = (match[1] or match[2]).lower()
        if name not in en.roles or name in _NUMBERED:
            roles.register_local_role(name, _show_role)


def _show_role(
    name: str, _raw: str, text: str, *_context: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return what a reader sees of a role: the title before a target, or the name without its path."""
    text = unescape(text)
    titled = re.fullmatch(r"(.*\S)\s*<[^<>]*>", text, re.DOTALL)
    shown = titled[1] if titled else text.lstrip("!")
    if titled is None:
        shown = _NUMBERED.get(name.lower(), "") + shown
    if shown.startswith("~"):
        shown = shown[1:].rsplit(".", 1)[-1]
    kind = nodes.literal if name.lower().rsplit(":", 1)[-1] in _CODE_ROLES else nodes.inline
    return [kind("", shown)], []
