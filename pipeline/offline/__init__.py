"""The generator that needs no model: known-item simulation, labelled as such."""
