"""Documents to gold set: ``flow`` first, it is the table of contents."""
