"""Accelerator time: what gangs used, held and waited for, by whom and why; and the gaps in that knowledge."""
