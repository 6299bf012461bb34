"""goldbench: documents in, a retrieval test set out, retrievers scored."""

__version__ = "0.1.0"
