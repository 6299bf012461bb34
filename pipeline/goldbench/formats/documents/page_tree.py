"""The elements and texts of an HTML page, as lxml's parser tells them, in a tree that is quick to make and to walk.

The tree is the one that Beautiful Soup makes of the same page with its builder ``lxml``: texts that stand side by side
are one, white space alone is one space or line break outside ``pre`` and ``textarea``, and comments are texts, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from lxml import etree

_WHITE = " \n\t\f\r"
_EXACT = frozenset({"pre", "textarea"})
"""Elements whose white space stays."""
_SPECIAL = frozenset({"rt", "rp", "style", "script", "template"})
"""Elements whose texts are not part of the text around them."""
DOCUMENT = "[document]"
"""The name of the outermost element, which stands for the page."""

Node: TypeAlias = "Element | Text"


class Text(str):
    """A text in an element."""

    __slots__ = ("parent",)
    parent: Element | None


class SpecialText(Text):
    """A text that is not part of the text around its element: of a script, or small letters beside a character."""

    __slots__ = ()


class Remark(Text):
    """A comment or document type, which nobody sees."""

    __slots__ = ()


class Instruction(Remark):
    """A processing instruction, of which a converter shows the text."""

    __slots__ = ()


class Element:
    """An element: its name, its attributes, and what stands in it.

    ``place`` is its position in its parent, set by the converter once the tree does not change any more.
    ``size`` and ``linked`` are the characters in it, and of these the ones in links, ``links`` the number of links.
    """

    __slots__ = ("attrs", "contents", "linked", "links", "name", "parent", "place", "size")

    def __init__(self, name: str, attrs: Mapping[str, str], parent: Element | None) -> None:
        self.name, self.attrs, self.parent = name, attrs, parent
        self.contents: list[Node] = []
        self.place = self.size = self.linked = self.links = 0

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the value of an attribute."""
        return self.attrs.get(name, default)

    def __getitem__(self, name: str) -> str:
        return self.attrs[name]

    @property
    def parents(self) -> Iterator[Element]:
        """The elements around this one, the closest first."""
        parent = self.parent
        while parent is not None:
            yield parent
            parent = parent.parent

    def descendants(self) -> Iterator[Node]:
        """Yield everything in this element, in the order of the page."""
        waiting = self.contents[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            if node.__class__ is Element:
                waiting += node.contents[::-1]

    def tags(self) -> list[Element]:
        """Return all elements in this one, in the order of the page."""
        found: list[Element] = []
        waiting: list[Node] = [node for node in reversed(self.contents) if node.__class__ is Element]
        while waiting:
            element = waiting.pop()
            assert isinstance(element, Element)
            found.append(element)
            within = element.contents
            if len(within) > 1:
                waiting += [node for node in reversed(within) if node.__class__ is Element]
            elif within and within[0].__class__ is Element:
                waiting += within
        return found

    def find_all(self, names: str | Collection[str], attrs: Collection[str] = ()) -> list[Element]:
        """Return the elements in this one that have one of the names, and all of the attributes."""
        wanted = {names} if isinstance(names, str) else names
        found = [element for element in self.tags() if element.name in wanted]
        return [element for element in found if all(name in element.attrs for name in attrs)] if attrs else found

    def first(self, *names: str) -> Element | None:
        """Return the first element in this one that has one of the names."""
        nodes = self.descendants()
        return next((node for node in nodes if isinstance(node, Element) and node.name in names), None)

    def texts(self) -> list[Text]:
        """Return all texts in this element, also those that nobody sees."""
        return [node for node in self.descendants() if isinstance(node, Text)]

    def text(self) -> str:
        """Return the text that an ordinary element shows."""
        return "".join(node for node in self.descendants() if node.__class__ is Text)

    def find_previous_sibling(self) -> Element | None:
        """Return the closest element before this one in the same element."""
        if self.parent is None:
            return None
        beside = self.parent.contents
        place = self.place if beside[self.place : self.place + 1] == [self] else beside.index(self)
        before = (beside[number] for number in reversed(range(place)))
        return next((node for node in before if isinstance(node, Element)), None)

    def replace(self, nodes: Iterable[Node]) -> None:
        """Put nodes that stand nowhere into this element, in place of what stands in it."""
        self.contents = list(nodes)
        for node in self.contents:
            node.parent = self


def closest(node: Node, name: str) -> Element | None:
    """Return the closest element around a node that has a name."""
    parent = node.parent
    while parent is not None and parent.name != name:
        parent = parent.parent
    return parent


def is_within(node: Node, name: str) -> bool:
    """Whether an element with a name stands around a node."""
    return closest(node, name) is not None


def take_out(elements: Iterable[Element]) -> None:
    """Take elements out of the page; what stands beside them is walked through once, however many they are."""
    around: dict[int, Element] = {}
    for element in elements:
        if element.parent is not None:
            around[id(element.parent)] = element.parent
            element.parent = None
    for parent in around.values():
        parent.contents = [node for node in parent.contents if node.parent is parent]


def unwrap(elements: Iterable[Element]) -> None:
    """Put what stands in elements in their place; none of them stands directly in another one."""
    around = {id(element): element.parent for element in elements}
    for parent in {id(parent): parent for parent in around.values() if parent is not None}.values():
        parent.replace(
            [
                inner
                for node in parent.contents
                for inner in (node.contents if isinstance(node, Element) and id(node) in around else (node,))
            ]
        )


class _Builder:
    """Makes the tree of what the parser tells."""

    def __init__(self) -> None:
        self.page = self._current = Element(DOCUMENT, {}, None)
        self._open = [self.page]
        self._exact = self._special = 0
        self._waiting: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._waiting:
            self._put()
        if attributes and "{" in "".join(attributes):
            attributes = {_without_braces(key): value for key, value in attributes.items()}
        element = Element(name, attributes, self._current)
        self._current.contents.append(element)
        self._current = element
        self._open.append(element)
        if name in _EXACT:
            self._exact += 1
        elif name in _SPECIAL:
            self._special += 1

    def end(self, name: str) -> None:
        if self._waiting:
            self._put()
        element = self._open[-1]
        if element.name != name and all(outer.name != name for outer in self._open):
            return
        while len(self._open) > 1:
            element = self._open.pop()
            if element.name in _EXACT:
                self._exact -= 1
            elif element.name in _SPECIAL:
                self._special -= 1
            if element.name == name:
                break
        self._current = self._open[-1]

    def data(self, text: str) -> None:
        self._waiting.append(text)

    def comment(self, text: str) -> None:
        self._put()
        self._waiting.append(text)
        self._put(Remark)

    def pi(self, target: str, text: str) -> None:
        self._put()
        self._waiting.append(f"{target} {text}")
        self._put(Instruction)

    def doctype(self, name: str, public_id: str | None, system: str | None) -> None:
        self._put()
        self._waiting.append(name or public_id or system or "")
        self._put(Remark)

    def close(self) -> Element:
        self._put()
        return self.page

    def _put(self, kind: type[Text] = Text) -> None:
        if not self._waiting:
            return
        text = self._waiting[0] if len(self._waiting) == 1 else "".join(self._waiting)
        self._waiting.clear()
        if not self._exact and not text.strip(_WHITE):
            text = "\n" if "\n" in text else " "
        node = (SpecialText if self._special and kind is Text else kind)(text)
        node.parent = self._current
        self._current.contents.append(node)


def _without_braces(name: str) -> str:
    """Return the name of an attribute without what lxml would call its namespace."""
    return name[1:].partition("}")[2] if name.startswith("{") and "}" in name else name


def page_tree(html: str) -> Element:
    """Return the page as a tree.

    Raises:
        UnicodeError: The text cannot be encoded.
    """
    builder = _Builder()
    # lxml's parser ends <li>, <p> and <td> that a page leaves open; html.parser nests them.
    parser = etree.HTMLParser(target=builder, recover=True, huge_tree=False)
    parser.feed(html.removeprefix("\ufeff"))
    page: Element = parser.close()
    return page
