"""The prompts, as files with declared placeholders, and the loader that checks and fills them."""
