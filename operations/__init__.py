"""Everything that starts a process, writes a file or is typed by an operator."""
