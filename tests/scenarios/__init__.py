"""Truth: objects on real control planes, and the verdict a good on-call engineer would give."""
