"""Whether the service lives and can serve is open to the world."""

PUBLIC = (("GET /health", 200), ("GET /ready", 200))
