"""The package as others install it: sdist, wheel, platforms, lowest versions."""
