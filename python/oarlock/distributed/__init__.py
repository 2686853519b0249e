"""Jobs of several processes: their launchers."""
