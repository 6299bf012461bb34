"""Objects on the nodes of a Ray cluster: the one door to Ray, and the versions that all nodes must share."""
