"""The table of contents of the API: ALL, one line a family."""

from blueprints import (
    account,
    api_tokens,
    constraints,
    context_fields,
    dependencies,
    documentation,
    environments,
    events,
    feature_search,
    flag_environments,
    flag_export,
    flag_favorites,
    flag_import,
    flag_lifecycle,
    flag_moves,
    flag_tags,
    flag_types,
    flags,
    groups,
    health,
    insights,
    login,
    permissions,
    personal_tokens,
    project_access,
    project_environments,
    project_favorites,
    project_lifecycle,
    projects,
    roles,
    segment_strategies,
    segments,
    service_accounts,
    signup,
    signup_tokens,
    strategies,
    strategy_types,
    tag_types,
    tags,
    users,
    variants,
)

ALL = (
    api_tokens.bp,  # /api/admin/api-tokens
    signup_tokens.bp,  # /api/admin/invite-link/tokens
    permissions.bp,  # /api/admin/permissions
    roles.bp,  # /api/admin/roles
    groups.bp,  # /api/admin/groups
    insights.bp,  # /api/admin/insights
    events.bp,  # /api/admin/search/events, /api/admin/events, /api/admin/event-creators
    feature_search.bp,  # /api/admin/search/features
    flag_types.bp,  # /api/admin/feature-types
    context_fields.bp,  # /api/admin/context
    segments.bp,  # /api/admin/segments
    segment_strategies.bp,  # /api/admin/segments/strategies, /api/admin/segments/…/strategies
    constraints.bp,  # /api/admin/constraints/validate
    tag_types.bp,  # /api/admin/tag-types
    tags.bp,  # /api/admin/tags
    strategy_types.bp,  # /api/admin/strategies
    flags.bp,  # /api/admin/projects/…/features
    flag_lifecycle.bp,  # the same, /api/admin/projects/…/archive, revive and stale, /api/admin/archive
    flag_moves.bp,  # /api/admin/projects/…/features/…/clone, changeProject
    flag_tags.bp,  # /api/admin/features/…/tags
    flag_favorites.bp,  # /api/admin/projects/…/features/…/favorites
    flag_environments.bp,  # /api/admin/projects/…/features/…/environments/…, /api/admin/projects/…/bulk_features
    flag_export.bp,  # /api/admin/features-batch/export
    flag_import.bp,  # /api/admin/features-batch
    strategies.bp,  # /api/admin/projects/…/features/…/environments/…/strategies
    variants.bp,  # /api/admin/projects/…/features/…/environments/…/variants, /api/admin/projects/…/features/…/variants-batch
    dependencies.bp,  # /api/admin/projects/…/features/…/dependencies, …/parents, …/parent-variants
    projects.bp,  # /api/admin/projects
    project_environments.bp,  # /api/admin/projects/…/environments, /api/admin/environments/project
    project_access.bp,  # /api/admin/projects/…/access
    environments.bp,  # /api/admin/environments
    project_lifecycle.bp,  # /api/admin/projects/archive, /api/admin/projects/revive
    project_favorites.bp,  # /api/admin/projects/…/favorites
    login.bp,  # /auth
    account.bp,  # /api/admin/user, /logout
    personal_tokens.bp,  # /api/admin/user/tokens
    users.bp,  # /api/admin/user-admin
    service_accounts.bp,  # /api/admin/service-account
    signup.bp,  # /invite
    health.bp,  # /health, /ready
    documentation.bp,  # /openapi.json, /docs
)
