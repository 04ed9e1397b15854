"""The confirmation of actions, in a dialog or as a page, and their progress until they are over."""
