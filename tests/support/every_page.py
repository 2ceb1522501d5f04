"""Every page, with addresses that exist in the demo."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sql.database import connect, rows
from sql.people import reset_tokens
from sql.tokens import signup_tokens
from tests.support.demo import ADMIN, VIEWER

# A flag of the project checkout whose strategy has constraints, and the other names and ids that paths contain.
FIND = """
    SELECT flags.name AS flag, strategies.id AS strategy, environment,
           (SELECT max(id) FROM segments) AS segment,
           (SELECT min(name) FROM applications) AS application,
           (SELECT min(id) FROM groups) AS group,
           (SELECT max(name) FROM context_fields) AS field,
           (SELECT max(id) FROM roles) AS role,
           (SELECT max(id) FROM users WHERE account_type = 'User' AND deleted_at IS NULL) AS "user"
      FROM strategies
      JOIN flags ON flags.id = flag_id
     WHERE project_id = 'checkout' AND archived_at IS NULL AND environment = 'production'
     ORDER BY json_array_length(constraints) DESC, flags.id DESC
     LIMIT 1
"""


@dataclass(frozen=True)
class Example:
    """An address of a page: the rule of its route, its path in the demo, and the user who reads it, or None."""

    rule: str
    path: str
    user: str | None = ADMIN
    status: int = 200

    def __str__(self) -> str:
        return f"{self.path} {self.status} {self.user or 'nobody'}".replace("@brightcart.example", "")


PROJECT = "/projects/<project_id>"
FLAG = f"{PROJECT}/flags/<feature_name>"
PAGES = (
    Example("/", "/"),
    Example("/", "/?query=nothing-has-this-name"),
    Example("/", "/", VIEWER),
    Example("/archived-projects", "/archived-projects"),
    Example(PROJECT, "/projects/checkout"),
    Example(PROJECT, "/projects/checkout", VIEWER),
    Example(PROJECT, "/projects/gift-registry"),
    Example(PROJECT, "/projects/payments-core", VIEWER, 404),
    Example(f"{PROJECT}/archive", "/projects/checkout/archive"),
    Example(f"{PROJECT}/access", "/projects/checkout/access"),
    Example(f"{PROJECT}/environments", "/projects/checkout/environments"),
    Example(f"{PROJECT}/tokens", "/projects/checkout/tokens"),
    Example(f"{PROJECT}/settings", "/projects/checkout/settings"),
    Example(FLAG, "/projects/checkout/flags/{flag}"),
    Example(FLAG, "/projects/checkout/flags/{flag}", VIEWER),
    Example(f"{FLAG}/why", "/projects/checkout/flags/{flag}/why?environment=production&userId=7"),
    Example(
        f"{FLAG}/environments/<environment>/strategies/new",
        "/projects/checkout/flags/{flag}/environments/{environment}/strategies/new",
    ),
    Example(
        f"{FLAG}/environments/<environment>/strategies/<strategy_id>",
        "/projects/checkout/flags/{flag}/environments/{environment}/strategies/{strategy}",
    ),
    Example("/events", "/events"),
    Example("/events", "/events?offset=never", VIEWER, 400),
    Example("/insights", "/insights"),
    Example("/admin", "/admin"),
    Example("/admin", "/admin", VIEWER),
    Example("/admin/users", "/admin/users"),
    Example("/admin/users", "/admin/users", VIEWER, 403),
    Example("/admin/groups", "/admin/groups"),
    Example("/admin/groups/<group_id>", "/admin/groups/{group}"),
    Example("/admin/roles", "/admin/roles"),
    Example("/admin/roles/new", "/admin/roles/new"),
    Example("/admin/roles/<role_id>", "/admin/roles/{role}"),
    Example("/admin/service-accounts", "/admin/service-accounts"),
    Example("/admin/signup-tokens", "/admin/signup-tokens"),
    Example("/admin/api-tokens", "/admin/api-tokens"),
    Example("/admin/segments", "/admin/segments"),
    Example("/admin/segments/new", "/admin/segments/new"),
    Example("/admin/segments/<segment_id>", "/admin/segments/{segment}"),
    Example("/admin/context-fields", "/admin/context-fields"),
    Example("/admin/context-fields/<name>", "/admin/context-fields/{field}"),
    Example("/admin/environments", "/admin/environments"),
    Example("/admin/tag-types", "/admin/tag-types"),
    Example("/admin/applications", "/admin/applications"),
    Example("/admin/applications/<slashed:name>", "/admin/applications/{application}"),
    Example("/login", "/login", None),
    Example("/new-user", "/new-user?invite={invitation}", None),
    Example("/new-user", "/new-user?invite=unknown", None, 404),
    Example("/new-user", "/new-user?token={reset}", None),
    Example("/reset-password", "/reset-password?token={reset}", None),
    Example("/reset-password", "/reset-password?token=unknown", None, 401),
    Example("/profile", "/profile"),
)
# Routes of pages that are not pages: files and downloads.
OTHERS = {"/static/<name>", "/events/download"}


def values(url: str) -> dict[str, Any]:
    """Return what the paths of PAGES contain in braces, from the demo in the database of this URL. Create the links."""
    with connect(url) as conn:
        [found] = rows(conn, FIND)
        expires_at = datetime.now(UTC) + timedelta(days=1)
        secret = signup_tokens.generate()
        signup_tokens.insert(conn, secret, {"name": "Pages", "expiresAt": expires_at}, created_by=ADMIN)
        reset = reset_tokens.insert(conn, found.pop("user"), ADMIN)
        return found | {"invitation": secret, "reset": reset}
