"""Check changes, call sql/ and record events, for views, import and commands. No routes here."""
