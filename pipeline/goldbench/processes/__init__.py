"""Processes of goldbench's own: how they are started, what they are sent, how they end."""
