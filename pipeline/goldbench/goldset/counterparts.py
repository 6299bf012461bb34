"""Which item of one gold set is which item of another: by id and text, then by text alone, then by id or name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

_Value = TypeVar("_Value", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Counterparts:
    """The items of two sets side by side, by their ids.

    ``same`` maps ids of the first set to ids of the second that have the same text, ``changed`` those that are the same
    item with another text. ``removed`` are only in the first set, ``added`` only in the second.
    """

    same: dict[str, str]
    changed: dict[str, str]
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def found(self) -> dict[str, str]:
        """The id in the second set by the id in the first, for every item that is in both."""
        return {**self.same, **self.changed}

    @property
    def renamed(self) -> dict[str, str]:
        """The items that have the same text under another id."""
        return {one: other for one, other in self.same.items() if one != other}


def counterparts(
    first: Mapping[str, bytes],
    second: Mapping[str, bytes],
    names: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
) -> Counterparts:
    """Return which items of two sets are the same, changed, only in the first and only in the second.

    Texts that occur several times are paired in their order. Exchanging the sets exchanges the two sides.

    Args:
        first: Digest of the text by id, in the order of the set; see `similarity.wording_digest`.
        second: The same of the other set.
        names: A second name of some items in either set, as the path of a document: items of one name are the same.
    """
    same = {one: one for one, digest in first.items() if second.get(one) == digest}
    left = {one: digest for one, digest in first.items() if one not in same}
    right = {one: digest for one, digest in second.items() if one not in same}
    _pair(left, right, same)
    changed = {one: one for one in left if one in right}
    for one in changed:
        del left[one], right[one]
    _pair(_named(left, names[0]), _named(right, names[1]), changed)
    gone, come = {**same, **changed}, {*same.values(), *changed.values()}
    ordered = {one: same[one] for one in first if one in same}
    return Counterparts(
        same=ordered,
        changed={one: changed[one] for one in first if one in changed},
        removed=tuple(one for one in first if one not in gone),
        added=tuple(one for one in second if one not in come),
    )


def _named(items: Mapping[str, object], names: Mapping[str, str]) -> dict[str, str]:
    return {one: names[one] for one in items if one in names}


def _pair(left: dict[str, _Value], right: dict[str, _Value], found: dict[str, str]) -> None:
    """Move items with equal values from both sides to those found, the first with the first."""
    waiting: defaultdict[_Value, list[str]] = defaultdict(list)
    for other, value in right.items():
        waiting[value].append(other)
    for others in waiting.values():
        others.reverse()
    for one, value in list(left.items()):
        if waiting.get(value):
            other = waiting[value].pop()
            found[one] = other
            del left[one], right[other]
