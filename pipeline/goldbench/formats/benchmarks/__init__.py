"""Public test collections as they lie on disk."""
