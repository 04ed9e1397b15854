"""What pages share: declaring a field once, and making JSON, tables and CSV of it."""
