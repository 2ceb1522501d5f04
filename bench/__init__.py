"""How fast the service answers on logs of 10 thousand and 1 million events: make bench."""
