"""Judgments of people, to other tools and back."""
