"""The documentation is open to the world."""

# What its page is made of is in none of these: its address has a version in it.
PUBLIC = (("GET /openapi.json", 200), ("GET /docs", 200))
