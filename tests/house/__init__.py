"""What belongs to no room: settings, environment, logs."""
