"""Modules that are copied beside exported data: each runs alone, with the package it is written for."""
