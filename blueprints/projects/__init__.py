"""Views of projects."""
