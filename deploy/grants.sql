-- What the running service may do, and who prunes the event log. Run after each migration and restore, by the owner of the schema or a superuser.
BEGIN;
SET LOCAL ROLE flags_owner;
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM flags_service, flags_prune;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM flags_service, flags_prune;
GRANT USAGE ON SCHEMA public TO flags_service, flags_prune;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO flags_service;

GRANT INSERT, DELETE
   ON roles, environments, tag_types, context_fields, strategy_types, personal_tokens, login_throttle, login_addresses, groups,
      projects, project_environments, api_keys, flag_dependencies, flag_environments, strategies, segments,
      usage_weeks, event_totals, uncounted_ids,
      past_passwords, sessions, group_users, role_permissions, project_user_roles, project_group_roles, project_favorites,
      api_key_projects, signup_token_users, variants, strategy_segments, tags, flag_tags, flag_favorites
   TO flags_service;
-- Who is deleted keeps his row, as does a flag, and a signup token. What has ended stays so.
GRANT INSERT
   ON users, flags, signup_tokens, usage_metrics,
      user_seen_days, past_flag_states, past_project_user_roles, past_project_group_roles, past_group_users, past_environment_types
   TO flags_service;
-- The log is only written on: no event is changed, deleted, or given an id of one's own choice.
GRANT INSERT (created_at, type, created_by, created_by_user_id, environment, project, feature_name, data, pre_data, tags)
   ON events
   TO flags_service;
-- To count the log anew (flask doctor --repair), without a right to give out ids.
GRANT SELECT ON SEQUENCE events_id_seq TO flags_service;

-- What changes, and no other column: ids, secrets, owners and dates of creation stay as they are.
GRANT UPDATE (email, name, password_hash, root_role_id, seen_at, login_attempts, deleted_at) ON users TO flags_service;
GRANT UPDATE (expires_at, seen_at) ON api_keys TO flags_service;
GRANT UPDATE (seen_at) ON personal_tokens TO flags_service;
GRANT UPDATE (enabled, expires_at) ON signup_tokens TO flags_service;
GRANT UPDATE (failures, last_failed_at, blocked_until) ON login_throttle TO flags_service;
GRANT UPDATE (attempts, last_attempt_at) ON login_addresses TO flags_service;
GRANT UPDATE (name, description) ON roles TO flags_service;
GRANT UPDATE (name, description, mappings_sso, root_role_id) ON groups TO flags_service;
GRANT UPDATE (name, description, mode, default_stickiness, feature_limit,
              naming_pattern, naming_example, naming_description, archived_at, updated_at)
   ON projects
   TO flags_service;
GRANT UPDATE (default_strategy) ON project_environments TO flags_service;
GRANT UPDATE (type, enabled, sort_order) ON environments TO flags_service;
GRANT UPDATE (project_id, type, description, impression_data, stale_since, archived_at, deleted_at, first_in_production_at)
   ON flags
   TO flags_service;
GRANT UPDATE (lifetime_days) ON flag_types TO flags_service;
GRANT UPDATE (enabled, variants) ON flag_dependencies TO flags_service;
GRANT UPDATE (enabled) ON flag_environments TO flags_service;
GRANT UPDATE (name, title, disabled, parameters, constraints, sort_order) ON strategies TO flags_service;
GRANT UPDATE (title, description, parameters, deprecated) ON strategy_types TO flags_service;
GRANT UPDATE (name, description, constraints, project_id) ON segments TO flags_service;
GRANT UPDATE (description, legal_values, sort_order, stickiness) ON context_fields TO flags_service;
GRANT UPDATE (description, icon) ON tag_types TO flags_service;
GRANT UPDATE (yes, no) ON usage_metrics TO flags_service;
GRANT UPDATE (yes, no, apps, flags, environments) ON usage_weeks TO flags_service;
GRANT UPDATE (before) ON usage_weeks_kept TO flags_service;
GRANT UPDATE (total, months, days) ON event_totals TO flags_service;
GRANT UPDATE (first_id, noted_at) ON uncounted_ids TO flags_service;
-- Rows that are locked, but never changed: PostgreSQL asks for the right to update a column.
GRANT UPDATE (created_at) ON sessions, flag_tags TO flags_service;
GRANT UPDATE (value) ON tags TO flags_service;

-- flask events prune, which also counts what others leave to it.
GRANT SELECT ON schema_version, events, event_totals, uncounted_ids TO flags_prune;
GRANT DELETE ON events TO flags_prune;
GRANT INSERT, DELETE ON event_totals, uncounted_ids TO flags_prune;
GRANT UPDATE (total, months, days) ON event_totals TO flags_prune;
GRANT UPDATE (first_id, noted_at) ON uncounted_ids TO flags_prune;

COMMIT;
