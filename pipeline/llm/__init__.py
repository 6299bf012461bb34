"""The model path: one port, four layers."""
