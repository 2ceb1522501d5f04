"""The table of contents of the API: ALL lists the blueprints, each with its paths."""

from blueprints import (
    account,
    applications,
    banners,
    documentation,
    events,
    health,
    insights,
    integrations,
    login,
    password_reset,
    personal_dashboard,
    playground,
    sign_in,
    signup,
    ui_config,
)
from blueprints.catalog import (
    constraints,
    context_fields,
    environments,
    flag_types,
    segment_strategies,
    segments,
    strategy_types,
    tag_types,
    tags,
)
from blueprints.client import edge, frontend, ofrep, reports, streaming
from blueprints.client import features as client_features
from blueprints.flags import core as flags
from blueprints.flags import dependencies, ramp_plans, strategies, variants
from blueprints.flags import environments as flag_environments
from blueprints.flags import favorites as flag_favorites
from blueprints.flags import lifecycle as flag_lifecycle
from blueprints.flags import links as flag_links
from blueprints.flags import moves as flag_moves
from blueprints.flags import search as flag_search
from blueprints.flags import stages as flag_stages
from blueprints.flags import tags as flag_tags
from blueprints.flags import transfer as flag_transfer
from blueprints.flags import usage as flag_usage
from blueprints.people import groups, permissions, personal_tokens, roles, service_accounts, users
from blueprints.projects import access as project_access
from blueprints.projects import api_tokens as project_api_tokens
from blueprints.projects import change_requests
from blueprints.projects import core as projects
from blueprints.projects import environments as project_environments
from blueprints.projects import favorites as project_favorites
from blueprints.projects import lifecycle as project_lifecycle
from blueprints.tokens import api_tokens, signup_tokens

ALL = (
    api_tokens.bp,  # /api/admin/api-tokens
    signup_tokens.bp,  # /api/admin/invite-link/tokens
    permissions.bp,  # /api/admin/permissions
    roles.bp,  # /api/admin/roles, /api/admin/projects/roles/…/access
    groups.bp,  # /api/admin/groups
    insights.bp,  # /api/admin/insights
    integrations.bp,  # /api/admin/addons
    ui_config.bp,  # /api/admin/ui-config
    banners.bp,  # /api/admin/banners
    events.bp,  # /api/admin/search/events, /api/admin/events, /api/admin/event-creators
    flag_search.bp,  # /api/admin/search/features
    flag_types.bp,  # /api/admin/feature-types
    context_fields.bp,  # /api/admin/context
    segments.bp,  # /api/admin/segments
    segment_strategies.bp,  # /api/admin/segments/strategies, /api/admin/segments/…/strategies
    constraints.bp,  # /api/admin/constraints/validate
    tag_types.bp,  # /api/admin/tag-types
    tags.bp,  # /api/admin/tags
    strategy_types.bp,  # /api/admin/strategies
    flags.bp,  # /api/admin/projects/…/features, /api/admin/features/validate, /api/admin/projects/…/flag-creators
    flag_lifecycle.bp,  # DELETE of a flag, /api/admin/archive, /api/admin/projects/…/archive, delete, revive, stale
    flag_stages.bp,  # /api/admin/projects/…/features/…/lifecycle
    flag_moves.bp,  # /api/admin/projects/…/features/…/clone, changeProject
    flag_links.bp,  # /api/admin/projects/…/features/…/link
    flag_tags.bp,  # /api/admin/features/…/tags, /api/admin/projects/…/tags
    flag_favorites.bp,  # /api/admin/projects/…/features/…/favorites
    flag_environments.bp,  # /api/admin/projects/…/features/…/environments/…, /api/admin/projects/…/bulk_features
    flag_usage.bp,  # /api/admin/client-metrics
    applications.bp,  # /api/admin/metrics
    flag_transfer.bp,  # /api/admin/features-batch
    strategies.bp,  # /api/admin/projects/…/features/…/environments/…/strategies
    ramp_plans.bp,  # /api/admin/projects/…/features/…/environments/…/plan
    variants.bp,  # /api/admin/projects/…/features/…/environments/…/variants, …/variants, …/variants-batch
    dependencies.bp,  # /api/admin/projects/…/features/…/dependencies, …/parents, …/parent-variants
    playground.bp,  # /api/admin/playground, /api/admin/projects/…/features/…/environments/…/evaluate
    projects.bp,  # /api/admin/projects
    project_environments.bp,  # /api/admin/projects/…/environments, /api/admin/environments/project
    change_requests.bp,  # /api/admin/projects/…/change-requests, /api/admin/projects/…/environments/…/change-requests
    project_access.bp,  # /api/admin/projects/…/access, …/users/…/roles, …/groups/…/roles
    project_api_tokens.bp,  # /api/admin/projects/…/api-tokens
    environments.bp,  # /api/admin/environments
    project_lifecycle.bp,  # /api/admin/projects/archive, /api/admin/projects/revive
    project_favorites.bp,  # /api/admin/projects/…/favorites
    login.bp,  # /auth/simple, /api/admin/auth/simple/settings
    password_reset.bp,  # /auth/reset
    sign_in.bp,  # /api/admin/auth
    account.bp,  # /api/admin/user, /logout
    personal_tokens.bp,  # /api/admin/user/tokens
    personal_dashboard.bp,  # /api/admin/personal-dashboard
    users.bp,  # /api/admin/user-admin
    service_accounts.bp,  # /api/admin/service-account
    signup.bp,  # /invite
    client_features.bp,  # /api/client/features, /api/client/features/…
    streaming.bp,  # /api/client/delta, /api/client/streaming
    edge.bp,  # /edge/validate
    reports.bp,  # /api/client/register, metrics, metrics/bulk, /api/frontend/client/register, metrics
    frontend.bp,  # /api/frontend
    ofrep.bp,  # /ofrep/v1/evaluate/flags, /ofrep/v1/stream
    health.bp,  # /health, /ready
    documentation.bp,  # /openapi.json, /docs
)
