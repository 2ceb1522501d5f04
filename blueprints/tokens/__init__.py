"""Views of API tokens and signup tokens."""
