"""The card of a gold set: how far it can be trusted, computed from its own files."""

from goldbench.card.contents import make_card, write_card

__all__ = ["make_card", "write_card"]
