"""What a change does, for every caller: views, import, commands. Checks it, calls sql/, and records events. Knows no routes."""
