"""The run folder, and what is done to it as a whole."""
