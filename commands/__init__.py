"""The command line, on flask's own: ALL, one line a command or group."""

ALL = ()
