"""Call the nine operations with the client that openapi-python-client generated, and print a JSON object with a fact of
each answer.

The test runs this program with the folder of the package `client` in PYTHONPATH, and with its input as JSON in the
first argument.
"""

import json
import sys
from datetime import UTC, date, datetime
from http import HTTPStatus
from typing import TypeVar

from client import AuthenticatedClient, Client, models  # pyright: ignore[reportMissingImports]
from client.api.events import search_events, search_events_deprecated  # pyright: ignore[reportMissingImports]
from client.api.insights import get_insights  # pyright: ignore[reportMissingImports]
from client.api.login import log_in  # pyright: ignore[reportMissingImports]
from client.api.projects import get_project_access, get_project_overview  # pyright: ignore[reportMissingImports]
from client.api.signup import sign_up  # pyright: ignore[reportMissingImports]
from client.api.signup_tokens import update_signup_token  # pyright: ignore[reportMissingImports]
from client.api.strategies import delete_strategy  # pyright: ignore[reportMissingImports]

Model = TypeVar("Model")


def expect(kind: type[Model], answer: object) -> Model:
    """Return the answer if it is a model of this kind; raise TypeError otherwise."""
    if not isinstance(answer, kind):
        raise TypeError(f"{answer} is no {kind.__name__}")
    return answer


given = json.loads(sys.argv[1])
admin = AuthenticatedClient(base_url=given["url"], token=given["apiToken"], prefix="")
anonymous = Client(base_url=given["url"])
place = [given[name] for name in ("project", "flag", "environment", "strategy")]

change = models.PublicSignupTokenUpdateSchema(expires_at=datetime(2040, 1, 1, tzinfo=UTC))
token = expect(
    models.PublicSignupTokenSchema, update_signup_token.sync(given["signupToken"], client=admin, body=change)
)
fields = {name: given[name] for name in ("email", "username", "password")}
person = models.CreateInvitedUserSchema(name="Ada", **fields)
user = expect(models.UserSchema, sign_up.sync(given["signupToken"], client=anonymous, body=person))
login = models.LoginSchema(username=given["username"], password=given["password"])
logged_in = expect(models.UserSchema, log_in.sync(client=anonymous, body=login))
insights = expect(
    models.InstanceInsightsSchema, get_insights.sync(client=admin, from_=date(2026, 1, 5), to=date(2026, 1, 11))
)
overview = expect(models.ProjectOverviewSchema, get_project_overview.sync(given["project"], client=admin))
access = expect(models.ProjectAccessSchema, get_project_access.sync(given["project"], client=admin))
deletion = delete_strategy.sync_detailed(*place, client=admin)
search = expect(
    models.EventSearchResponseSchema, search_events.sync(client=admin, feature=f"IS:{given['flag']}", limit=1)
)
query = models.DeprecatedSearchEventsSchema(feature=given["flag"], type_=models.EventTypeSchema.FEATURE_STRATEGY_REMOVE)
found = expect(models.EventsSchema, search_events_deprecated.sync(client=admin, body=query))

print(
    json.dumps(
        {
            "updateSignupToken": [token.enabled, token.expires_at.year],
            "signUp": user.email,
            "logIn": logged_in.username,
            "getInsights": [trend.date.year for trend in insights.user_trends],
            "getProjectOverview": [overview.name, overview.version],
            "getProjectAccess": sorted(role.name for role in access.roles),
            "deleteStrategy": deletion.status_code == HTTPStatus.OK,
            "searchEvents": [search.events[0].type_.value, search.events[0].created_at.tzinfo is not None],
            "searchEventsDeprecated": [found.version, found.events[0].feature_name],
        }
    )
)
