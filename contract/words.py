"""What the OpenAPI document says beside what the code tells, and names of bodies."""

from typing import Any

from rules.access import SESSION_COOKIE
from validators import Body
from validators.catalog.constraints import Constraint
from validators.events import DeprecatedEventSearch
from validators.flags.variants import Variant
from validators.login import Login
from validators.people.users import InvitedUser
from validators.tokens.signup_tokens import SignupTokenUpdate

ABOUT = """The admin API of Flags, a small feature-flag server that is compatible with Unleash.

## Authentication

Send an API token or a personal access token in the header `Authorization`, with or without the word `Bearer` before it.
Browsers send the cookie of a session instead. `POST /auth/simple/login` creates the session. If a request has both,
only the header counts. An invalid header is 401 even if the cookie is valid.

## Errors

Every response with status 400 or higher has the same JSON body: `id`, `name` and `message`. The 401 of
`GET /api/admin/user` also describes the login form. For an invalid request, the message names each invalid field.
A request that is wrong in several ways gets the first of these: 413 (size), 401 (authentication), 403 (permission),
404 for a project that is unknown or hidden from the caller, 415 (content type), 400 (validation), and last, the
errors of the operation itself. With If-Match, 404 and 412 of the record come before 415. Imports and reports check the
size after 401 and 403.

## Requests

Bodies are JSON. Unknown properties are 400, except in the deprecated event search. Values are not converted: `"5"` is
not a number. Unknown query parameters are ignored. A known parameter that is sent twice is 400, unless it is an array.

Records with an ETag can be changed safely: send their ETag in If-Match. If somebody else has changed the record since,
the response is 412 and nothing changes.

## Responses

Date-times can have any offset in a request. In a response they are in UTC, with milliseconds. Days are days in UTC.
Records omit optional properties that are not set, except those that can be null.
"""

# Names that generated clients know. The other bodies are named after their classes.
BODIES: dict[type[Body], str] = {
    SignupTokenUpdate: "publicSignupTokenUpdateSchema",
    DeprecatedEventSearch: "deprecatedSearchEventsSchema",
    Login: "loginSchema",
    InvitedUser: "createInvitedUserSchema",
    # These have the names of records.
    Constraint: "constraintInputSchema",
    Variant: "variantInputSchema",
}

SECURITY = {
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "An API token or a personal access token, with or without the word `Bearer` before it.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": SESSION_COOKIE,
        "description": "The session that a login creates. With it, changes must come from the service's own origin.",
    },
}

HEADERS = {
    "X-Request-ID": (
        "Id of the request, also in the log. If the request has a valid X-Request-ID, the response has the same. "
        "Otherwise it is new."
    ),
    "Retry-After": "Seconds to wait before the next attempt.",
    "Location": "URL of the new record, relative to the request, or the target of a redirect.",
    "Set-Cookie": (
        f"The session in the cookie `{SESSION_COOKIE}`: HttpOnly, SameSite=Lax, and Secure where BASE_URL is https."
    ),
    "Clear-Site-Data": "What the browser deletes.",
    "Deprecation": "Always `true`: a future version may remove this operation.",
    "ETag": "Version of the content or of the record. Send it back in If-None-Match, or in If-Match of a change.",
    "Vary": "Headers of the request that the response depends on.",
    "Cache-Control": "Whether caches may keep the response.",
    "Link": 'The operation to use instead, with rel="successor-version".',
}

IF_MATCH = (
    "ETags of the record, or `*`. 412 if the record has another one now. `W/` and the suffix `-gzip` are ignored."
)

# By media type: description and schema.
CONTENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "application/json": ("The document.", {"type": "object"}),
    "text/html": ("The page.", {"type": "string"}),
    "text/javascript": ("The script.", {"type": "string"}),
    "text/event-stream": ("Server-sent events.", {}),
}

# By path parameter: description and example. PATH_WORDS_OF has those of single views and blueprints.
PATH_WORDS: dict[str, tuple[str, str]] = {
    "token": ("Secret of the signup token.", "5f0c9e2b7a1d4c3e8f6b0a9d2c1e4f7a"),
    "appName": ("Name of the application.", "web-shop"),
    "apiToken": ("Secret of the token.", "checkout:production.5f0c9e2b7a1d4c3e8f6b0a9d2c1e4f7a"),
    "projectId": ("Id of the project.", "default"),
    "featureName": ("Name of the flag.", "new-checkout"),
    "environment": ("Name of the environment.", "development"),
    "strategyId": ("Id of the strategy.", "b4ad7b8a-3f5d-4a0c-9d6e-1c2b3a4d5e6f"),
    "eventId": ("Id of the event.", "4711"),
    "bannerId": ("Id of the banner.", "7"),
    "addonId": ("Id of the integration.", "3"),
    "changeRequestId": ("Id of the change request.", "12"),
    "changeId": ("Id of the change.", "34"),
    "linkId": ("Id of the link.", "7"),
    "userId": ("Id of the user.", "7"),
    "groupId": ("Id of the group.", "3"),
    "roleId": ("Id of the role.", "4"),
    "segmentId": ("Id of the segment.", "2"),
    "accountId": ("Id of the service account.", "31"),
    "tokenId": ("Id of the token.", "12"),
    "sessionId": ("Id of the session.", "12"),
    "typeId": ("Id of the flag type.", "release"),
    "type": ("Type of the tag.", "simple"),
    "value": ("Value of the tag.", "beta"),
    "legalValue": ("Legal value to delete.", "NO"),
    "parent": ("Name of the parent flag.", "new-cart"),
    "tagType": ("Type of the tag.", "simple"),
    "tagValue": ("Value of the tag.", "beta"),
    "id": ("Id of the record.", "1"),
}
# By endpoint or blueprint, and path parameter.
PATH_WORDS_OF: dict[tuple[str, str], tuple[str, str]] = {
    ("api_tokens.list_api_tokens_by_name", "apiToken"): ("Name of the tokens.", "checkout-service"),
    ("context_fields", "name"): ("Name of the context field.", "country"),
    ("environments", "name"): ("Name of the environment.", "staging"),
    ("environments.clone_environment", "name"): ("Name of the environment to copy.", "development"),
    ("strategy_types", "name"): ("Name of the strategy type.", "byHost"),
    ("tag_types", "name"): ("Name of the tag type.", "team"),
}
