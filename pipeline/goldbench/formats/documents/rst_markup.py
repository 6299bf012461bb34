"""What reStructuredText means beyond docutils: the directives and roles of Sphinx, and unknown ones, for a reader.

docutils drops what it does not know. So every name that a text uses and docutils lacks is registered before the text is
parsed; which of them describe an object, show code or add nothing to read is in the tables below, and any other one
gives its text. Nothing is looked up outside the text: no file is read and no reference is resolved.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en

_DIRECTIVES = re.compile(r"^[ \t]*\.\. (?:\|[^|\n]{1,80}\| )?([\w.+:-]{1,40})::(?=\s|$)", re.MULTILINE)
_ROLES = re.compile(r":([\w.+:-]{1,40}):`|`:([\w.+:-]{1,40}):")
_OPTION = re.compile(r"[ \t]*:[\w-]{1,40}:(?:\s|\Z)")
_SILENT = frozenset({
    "acks", "audit-event", "codeauthor", "cssclass", "currentmodule", "default-domain", "default-role", "graphviz",
    "highlight", "highlightlang", "include", "index", "inheritance-diagram", "literalinclude", "meta", "module",
    "moduleauthor", "nosearch", "program", "py:currentmodule", "py:module", "raw", "sectionauthor", "tabularcolumns",
    "testcleanup", "testsetup", "toctree",
})  # fmt: skip
"""Directives that show nothing, or what stands in other files."""
_CODE = frozenset({
    "code-block", "sourcecode", "highlight-block", "productionlist", "testcode", "testoutput", "doctest", "prompt",
    "ipython", "console", "grammar-snippet",
})  # fmt: skip
_OBJECTS = frozenset({
    "function", "method", "attribute", "data", "class", "exception", "member", "type", "macro", "var", "struct", "enum",
    "union", "enumerator", "property", "classmethod", "staticmethod", "decorator", "decoratormethod", "cmdoption",
    "option", "envvar", "opcode", "describe", "object", "coroutinefunction", "coroutinemethod", "abstractmethod",
    "awaitablefunction", "awaitablemethod", "pdbcommand", "2to3fixer", "namespace", "concept", "alias", "directive",
    "role", "setting", "confval", "signal", "command", "django-admin", "templatetag", "templatefilter", "fieldlookup",
})  # fmt: skip
_QUALIFIED = frozenset(
    {"function", "class", "exception", "data", "decorator", "coroutinefunction", "awaitablefunction"}
)
"""Objects that are shown with the name of their module."""
_PREFIXES = {
    "class": "class", "exception": "exception", "classmethod": "classmethod", "staticmethod": "static",
    "property": "property", "coroutinefunction": "coroutine", "coroutinemethod": "coroutine",
    "abstractmethod": "abstractmethod", "awaitablefunction": "awaitable", "awaitablemethod": "awaitable",
    "struct": "struct", "enum": "enum", "union": "union", "type": "type",
}  # fmt: skip
_VERSIONS = {
    "versionadded": "New in version {}", "versionchanged": "Changed in version {}",
    "versionremoved": "Removed in version {}", "deprecated": "Deprecated since version {}",
    "deprecated-removed": "Deprecated since version {}",
}  # fmt: skip
_BOXES = {"seealso": "See also", "todo": "Todo"}
_CODE_ROLES = frozenset({
    "func", "meth", "class", "mod", "attr", "data", "const", "exc", "obj", "type", "member", "macro", "struct", "enum",
    "var", "expr", "keyword", "option", "envvar", "token", "file", "samp", "kbd", "opcode", "literal", "setting",
    "djadmin", "function", "method", "pdbcmd", "confval",
})  # fmt: skip
_STRONG_ROLES = frozenset({"command", "program", "strong", "guilabel", "makevar"})
_EMPHASIS_ROLES = frozenset({"dfn", "mailheader", "manpage", "newsgroup", "emphasis"})
_CALLED = frozenset({"func", "meth", "function", "method"})
_LEADS = {"issue": "bpo-", "gh": "gh-", "pep": "PEP ", "rfc": "RFC ", "cve": "CVE-", "cwe": "CWE-"}


def register_names(text: str) -> None:
    """Register with docutils every directive and role that the text uses and docutils lacks, or shows otherwise."""
    known = {str(name) for name in en.directives}
    for name in set(_DIRECTIVES.findall(text)):
        lower = name.lower()
        if (shown := _directive(lower)) is not None:
            directives.register_directive(lower, shown)
        elif lower not in known:
            directives.register_directive(lower, _Plain)
    for match in _ROLES.finditer(text):
        name = (match[1] or match[2]).lower()
        last = name.rsplit(":", 1)[-1]
        if last in _CODE_ROLES | _STRONG_ROLES | _EMPHASIS_ROLES | _LEADS.keys() or name not in en.roles:
            roles.register_local_role(name, _role)


def _directive(name: str) -> type[Directive] | None:
    """Return the class for a directive whose meaning is known here."""
    last = name.rsplit(":", 1)[-1]
    if name in _SILENT:
        return _Module if last in {"module", "currentmodule"} else _Silent
    if name in _CODE:
        return _Productions if last == "productionlist" else _Code
    if name in _VERSIONS:
        return _Version
    if name in _BOXES:
        return _Box
    if last in _OBJECTS and name != "role":
        return _Object
    return _Only if name == "only" else None


class _Silent(Directive):  # type: ignore[misc]
    """Shows nothing."""

    # Options are not declared, because docutils would take a first line such as ":func:`f` is new" for one.
    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        return []

    def argument(self) -> str:
        """Return the lines after the name, without options; empty if there are none."""
        lines = self.arguments[0].split("\n") if self.arguments else []
        return "\n".join(line for line in lines if not _OPTION.match(line))

    def inline(self, text: str) -> list[nodes.Node]:
        """Return the nodes of a line of text."""
        found, _ = self.state.inline_text(" ".join(text.split()), self.lineno)
        return list(found)

    def parsed(self, into: nodes.Element) -> nodes.Element:
        """Parse the content into an element; where the argument belongs to it, without the options after it."""
        self.content.disconnect()  # from the lines of the whole text
        place = 0
        while self.optional_arguments == 0 and place < len(self.content) and self.content[place].strip():
            if _OPTION.match(self.content[place]):
                del self.content[place]
            else:
                place += 1
        self.state.nested_parse(self.content, self.content_offset, into, match_titles=False)
        return into


class _Plain(_Silent):
    """An unknown directive: its text, as if it stood there without the directive."""

    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        block = self.parsed(nodes.container())
        first = block.children[0] if block.children else None
        if isinstance(first, nodes.paragraph) and re.fullmatch(r"[^\s./]*[./]\S+", first.astext()):
            block.remove(first)  # the name of a file or module
        return list(block.children)


class _Module(_Silent):
    """Names the module of the objects after it."""

    def run(self) -> list[nodes.Node]:
        self.state.document.settings.module_shown = self.argument().strip()
        return []


class _Code(_Silent):
    """A block of code."""

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        return [nodes.literal_block(text := self.code(), text)]

    def code(self) -> str:
        """Return the lines of the block."""
        return "\n".join(self.content)


class _Productions(_Code):
    """A grammar: each rule as ``name ::= …``, without the marks of its tokens."""

    optional_arguments = 0

    def code(self) -> str:
        lines = [re.sub(r"^(\s*[\w-]+)\s*:(?!:)", r"\1 ::=", line.replace("`", "")) for line in self.content]
        return "\n".join(lines if len(lines) < 2 or ":" in lines[0] else lines[1:])


class _Only(_Silent):
    """Content for some forms of output; a reader has the page."""

    def run(self) -> list[nodes.Node]:
        asked = self.argument()
        if "html" not in asked and re.search(r"latex|texinfo|epub|man|gettext", asked) and "not" not in asked:
            return []
        return list(self.parsed(nodes.container()).children)


class _Object(_Silent):
    """The description of a function, class, option or the like: its signatures, and the text about it."""

    def run(self) -> list[nodes.Node]:
        settings = self.state.document.settings  # a new object for each text
        name = self.name.lower().rsplit(":", 1)[-1]
        lead = _PREFIXES.get(name, "")
        outer = getattr(settings, "objects_around", 0)
        module = getattr(settings, "module_shown", "") if name in _QUALIFIED and not outer and self.in_python() else ""
        terms: list[nodes.Node] = []
        for line in self.argument().split("\n"):
            signature = re.sub(r"\\(.)", r"\1", line.strip())
            if module and not signature.startswith(f"{module}."):
                signature = f"@{module}.{signature}" if name == "decorator" else f"{module}.{signature}"
            term = nodes.term()
            if lead:
                term += [nodes.emphasis(lead, lead), nodes.Text(" ")]
            term += nodes.Text(signature)
            terms.append(term)
        settings.objects_around = outer + 1
        try:
            body = self.parsed(nodes.definition())
        finally:
            settings.objects_around = outer
        items = [nodes.definition_list_item("", term) for term in terms]
        if items:
            items[-1] += body
        return [nodes.definition_list("", *items)]

    def in_python(self) -> bool:
        """Whether the object is of Python, the domain without a name."""
        return ":" not in self.name or self.name.startswith("py:")


class _Version(_Silent):
    """When something came, changed or went."""

    def run(self) -> list[nodes.Node]:
        name = self.name.lower()
        version, text = (*self.argument().split(maxsplit=1), "", "")[:2]
        lead = _VERSIONS[name].format(version)
        if name == "deprecated-removed":
            removed, text = (*text.split(maxsplit=1), "", "")[:2]
            lead += f", will be removed in version {removed}"
        block = self.parsed(nodes.container())
        shown = nodes.paragraph("", "", nodes.inline("", f"{lead}{': ' if text.strip() or self.content else '.'}"))
        if text.strip():
            shown += self.inline(text)
        elif block.children and isinstance(block.children[0], nodes.paragraph):
            shown += block.children.pop(0).children
        return [shown, *block.children]


class _Box(_Silent):
    """A note with a title of its own."""

    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        title = _BOXES[self.name.lower()]
        box = nodes.admonition("", nodes.title(title, title), classes=["admonition"])
        return [self.parsed(box)]


def _title_before(text: str) -> str | None:
    """Return the title that stands before a target in angle brackets; None if the text does not end with a target."""
    title, opens, target = text.removesuffix(">").rpartition("<")
    return title.rstrip() if text.endswith(">") and opens and title.strip() and ">" not in target else None


def _role(
    name: str,
    _raw: str,
    text: str,
    _line: int,
    _inliner: object,
    options: dict[str, Any] | None = None,  # noqa: ARG001  # docutils calls it so
    content: Sequence[str] = (),  # noqa: ARG001
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return what a reader sees of a role: the title that it gives, or the name without its path."""
    last = name.lower().rsplit(":", 1)[-1]
    text = re.sub(r"\x00(.)", r"\1", text, flags=re.DOTALL)
    titled = _title_before(text)
    shown = titled if titled and last != "samp" else text.lstrip("!")
    if titled is None and shown.startswith("~"):
        shown = shown[1:].rsplit(".", 1)[-1]
    if titled is None and last in _CALLED and not shown.endswith(")") and not text.startswith("!"):
        shown += "()"
    if titled is None and last == "abbr":
        shown = shown.partition(" (")[0]
    if last == "samp":
        shown = re.sub(r"\{([^{}]*)\}", r"\1", shown)
    if last == "menuselection":
        shown = shown.replace("-->", "‣")
    if lead := _LEADS.get(last):
        shown = shown if titled else lead + shown.partition("#")[0]
        return [nodes.strong("", shown) if last in {"pep", "rfc"} else nodes.inline("", shown)], []
    if last in _CODE_ROLES:
        return [nodes.literal("", shown)], []
    if last == "ref" and not titled:
        return [nodes.inline("", shown, label=shown.lower())], []
    kind = nodes.strong if last in _STRONG_ROLES else nodes.emphasis if last in _EMPHASIS_ROLES else nodes.inline
    return [kind("", shown)], []
