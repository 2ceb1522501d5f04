-- What the running service may do, and who prunes the event log. Run after each migration and restore, by the owner of the schema or a superuser.
BEGIN;
SET LOCAL ROLE flags_owner;
GRANT USAGE ON SCHEMA public TO flags_service, flags_prune;

-- Tables that later migrations add can be used at once; this file, run again, narrows that down.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO flags_service;

REVOKE ALL ON ALL TABLES IN SCHEMA public FROM flags_service, flags_prune;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO flags_service;

GRANT INSERT, UPDATE, DELETE
   ON roles, environments, tag_types, context_fields, strategy_types, personal_tokens, login_throttle, login_addresses, groups,
      projects, project_environments, api_keys, flag_dependencies, flag_environments, strategies, segments,
      usage_weeks, event_totals, uncounted_ids
   TO flags_service;
GRANT INSERT, DELETE
   ON past_passwords, sessions, group_users, role_permissions, project_user_roles, project_group_roles, project_favorites,
      api_key_projects, signup_token_users, variants, strategy_segments, tags, flag_tags, flag_favorites
   TO flags_service;
-- Who is deleted keeps his row, as does a flag, and a signup token.
GRANT INSERT, UPDATE ON users, flags, signup_tokens, usage_metrics TO flags_service;
GRANT UPDATE ON flag_types, usage_weeks_kept TO flags_service;
-- What has ended stays so.
GRANT INSERT
   ON user_seen_days, past_flag_states, past_project_user_roles, past_project_group_roles, past_group_users, past_environment_types
   TO flags_service;
-- The log is only written on: no event is changed, deleted, or given an id of one's own choice.
GRANT INSERT (created_at, type, created_by, created_by_user_id, environment, project, feature_name, data, pre_data, tags)
   ON events
   TO flags_service;
-- To count the log anew (flask doctor --repair), without a right to give out ids.
GRANT SELECT ON SEQUENCE events_id_seq TO flags_service;
-- Rows that are locked, but never changed: PostgreSQL asks for the right to update a column.
GRANT UPDATE (created_at) ON sessions, flag_tags TO flags_service;
GRANT UPDATE (value) ON tags TO flags_service;

-- flask events prune, which also counts what others leave to it.
GRANT SELECT ON schema_version, events, event_totals, uncounted_ids TO flags_prune;
GRANT DELETE ON events TO flags_prune;
GRANT INSERT, UPDATE, DELETE ON event_totals, uncounted_ids TO flags_prune;

COMMIT;
