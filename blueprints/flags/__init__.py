"""Views of flags."""
