"""Read a running Unleash server."""
