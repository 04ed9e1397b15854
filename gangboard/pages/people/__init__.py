"""People: users, roles of groups, tokens and sessions of everybody. For admins of everything."""
