"""goldbench: documents in, a retrieval test set out, retrievers scored."""
