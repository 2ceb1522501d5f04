"""The OpenAPI document, and a page that shows it."""

from flask import Blueprint

bp = Blueprint("documentation", __name__)
