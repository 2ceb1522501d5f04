"""Check changes, call sql/ and record events, for views, imports and commands. Rules know no routes."""
