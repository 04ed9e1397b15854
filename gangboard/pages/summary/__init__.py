"""`summary/`: gangs by health, code and cluster, for programs."""
