"""The generator that needs no model: simulated queries (known-item simulation), labelled as simulated."""
