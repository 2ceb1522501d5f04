"""Prepare the database and create the application that gunicorn serves: wsgi:app."""

import os
import sys

from app import create_app
from operations.postgres.migrate import DatabaseProblem
from operations.start import prepare_database_once, revive
from serving.settings import SettingError

try:
    prepare_database_once(os.environ)
    app = create_app(revive=revive)
except (SettingError, DatabaseProblem) as problem:
    sys.exit(str(problem))
