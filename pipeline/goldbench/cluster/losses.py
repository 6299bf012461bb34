"""What happens to objects whose node ends: they are lost, and made again on another one until too many are lost."""

MOST_LOSSES = 5
"""Stop after this many losses in a row without an answer between them."""


class Lost(Exception):
    """An object is gone: its process, or the node that it was on, has ended."""
