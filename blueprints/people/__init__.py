"""Views of users, groups, roles and their tokens."""
