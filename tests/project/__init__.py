"""What belongs to no room but to the whole project: settings, environment, logs, papers, test run, and that a kind is one file."""
