"""Truth: objects on real control planes, and what a good on-call engineer would say of them."""
