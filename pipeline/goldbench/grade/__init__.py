"""Grade a set: pool chunks, ask the judges, and put the grades into its folder."""
