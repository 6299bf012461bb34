"""The way to a model: an exchange with the server, and layers above it that store, repair, retry and limit.

``model_path`` opens a path and shows its stack of layers. Nothing here logs, raises or prints a key, a prompt, a text
or a reply.
"""
