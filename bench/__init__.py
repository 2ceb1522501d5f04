"""`make bench`: a real service on a log of years, beside the floor that PostgreSQL and gunicorn set. Nothing here gates the tests."""
