"""A model server for tests: a real HTTP server in a process of its own, on loopback, that does what it is told."""
