"""Pure arithmetic of placement: fits, free room, and changes that would make a gang fit."""
