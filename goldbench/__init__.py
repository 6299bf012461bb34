"""Documents in, a retrieval test set out, retrievers scored."""
