"""Score runs, compare them, gate them and watch them over time."""
