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
           (SELECT min(id) FROM integrations) AS integration,
           (SELECT id FROM change_requests WHERE state = 'In review') AS request,
           (SELECT max(id) FROM users WHERE account_type = 'User' AND deleted_at IS NULL) AS "user"
      FROM strategies
      JOIN flags ON flags.id = flag_id
     WHERE project_id = 'checkout' AND archived_at IS NULL AND environment = 'production'
     ORDER BY json_array_length(constraints) DESC, flags.id DESC
     LIMIT 1
"""


@dataclass(frozen=True)
class Example:
    """A page: its path in the demo, the user who reads it, or None, and its status."""

    path: str
    user: str | None = ADMIN
    status: int = 200

    def __str__(self) -> str:
        return f"{self.path} {self.status} {self.user or 'nobody'}".replace("@brightcart.example", "")


PAGES = (
    Example("/"),
    Example("/?query=nothing-has-this-name"),
    Example("/", VIEWER),
    Example("/archived-projects"),
    Example("/search"),
    Example("/search?q=one-page", VIEWER),
    Example("/search?q=nothing-has-this-name"),
    Example("/projects/checkout"),
    Example("/projects/checkout?state=old&status=production:enabled&sort=-seen"),
    Example("/projects/checkout?tag=beta", ADMIN, 400),
    Example("/projects/checkout", VIEWER),
    Example("/projects/gift-registry"),
    Example("/projects/payments-core", VIEWER, 404),
    Example("/projects/checkout/archive"),
    Example("/projects/checkout/cleanup"),
    Example("/projects/mobile-app/cleanup", VIEWER),
    Example("/projects/gift-registry/cleanup"),
    Example("/projects/checkout/access"),
    Example("/projects/checkout/environments"),
    Example("/projects/checkout/tokens"),
    Example("/projects/checkout/settings"),
    Example("/projects/checkout/change-requests"),
    Example("/projects/payments-core/change-requests"),
    Example("/projects/payments-core/change-requests/closed"),
    Example("/projects/payments-core/change-requests/{request}"),
    Example("/projects/checkout/compare?left=staging&right=production"),
    Example("/projects/checkout/flags/{flag}/compare"),
    Example("/projects/checkout/flags/{flag}"),
    Example("/projects/checkout/flags/{flag}", VIEWER),
    Example("/projects/checkout/flags/{flag}/why?environment=production&userId=7"),
    Example("/projects/checkout/flags/{flag}/environments/{environment}/strategies/new"),
    Example("/projects/checkout/flags/{flag}/environments/{environment}/strategies/{strategy}"),
    Example("/events"),
    Example("/events?offset=never", VIEWER, 400),
    Example("/insights"),
    Example("/admin"),
    Example("/admin", VIEWER),
    Example("/admin/users"),
    Example("/admin/users", VIEWER, 403),
    Example("/admin/groups"),
    Example("/admin/groups/{group}"),
    Example("/admin/roles"),
    Example("/admin/roles/new"),
    Example("/admin/roles/{role}"),
    Example("/admin/service-accounts"),
    Example("/admin/signup-tokens"),
    Example("/admin/api-tokens"),
    Example("/admin/segments"),
    Example("/admin/segments/new"),
    Example("/admin/segments/{segment}"),
    Example("/admin/context-fields"),
    Example("/admin/context-fields/{field}"),
    Example("/admin/environments"),
    Example("/admin/tag-types"),
    Example("/admin/banners"),
    Example("/admin/integrations"),
    Example("/admin/integrations", VIEWER, 403),
    Example("/admin/integrations/new?provider=webhook"),
    Example("/admin/integrations/{integration}"),
    Example("/admin/integrations/{integration}/test"),
    Example("/admin/import"),
    Example("/admin/import", VIEWER, 403),
    Example("/admin/applications"),
    Example("/admin/applications/{application}"),
    Example("/login", None),
    Example("/auth/oidc/login", None, 404),
    Example("/auth/oidc/callback", None, 404),
    Example("/new-user?invite={invitation}", None),
    Example("/new-user?invite=unknown", None, 404),
    Example("/new-user?token={reset}", None),
    Example("/reset-password?token={reset}", None),
    Example("/reset-password?token=unknown", None, 401),
    Example("/forgot-password", None),
    Example("/profile"),
)
# Routes of pages that are not pages: files, downloads and redirects.
UNLEASH = "/projects/<project_id>/features/<feature_name>"
OTHERS = {"/static/<name>", "/events/download", UNLEASH, f"{UNLEASH}/<path:_tab>"}


def values(url: str) -> dict[str, Any]:
    """Return what the paths of PAGES contain in braces, from the demo in the database of this URL. Create the links."""
    with connect(url) as conn:
        [found] = rows(conn, FIND)
        expires_at = datetime.now(UTC) + timedelta(days=1)
        secret = signup_tokens.generate()
        signup_tokens.insert(conn, secret, {"name": "Pages", "expiresAt": expires_at}, created_by=ADMIN)
        reset = reset_tokens.insert(conn, found.pop("user"), ADMIN)
        return found | {"invitation": secret, "reset": reset}
