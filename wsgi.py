"""Prepare the database and create the application that gunicorn serves: wsgi:app."""

import os
import sys

from app import create_app
from serving.settings import SettingError
from serving.start import prepare_database_once, revive
from sql.database.migrate import DatabaseProblem

try:
    prepare_database_once(os.environ)
    app = create_app(revive=revive)
except (SettingError, DatabaseProblem) as problem:
    sys.exit(str(problem))
