-- Grant privileges to the roles of the service and of the prune command. Run this file after each migration and each
-- restore, as the owner of the schema or as a superuser. You can run it more than once.
BEGIN;
SET LOCAL ROLE flags_owner;
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM flags_service, flags_prune;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM flags_service, flags_prune;
GRANT USAGE ON SCHEMA public TO flags_service, flags_prune;

GRANT SELECT ON ALL TABLES IN SCHEMA public TO flags_service;
GRANT INSERT, UPDATE, DELETE
   ON roles, environments, tag_types, context_fields, strategy_types, personal_tokens, reset_tokens, login_throttle, login_addresses, known_logins, groups,
      projects, project_environments, api_keys, flag_dependencies, flag_environments, strategies, segments,
      past_passwords, sessions, group_users, role_permissions, project_user_roles, project_group_roles, project_favorites,
      api_key_projects, signup_token_users, variants, strategy_segments, tags, flag_tags, flag_links, flag_favorites,
      flag_sightings, unknown_flags, integrations, deliveries, applications, application_instances, frontend_additions,
      banners, user_identities, change_requests, change_request_changes, change_request_reviews, change_request_comments
   TO flags_service;
-- Deleted users, flags and signup tokens keep their rows. Usage is deleted with its project, and by the command metrics prune.
GRANT INSERT, UPDATE ON users, flags, signup_tokens, usage_metrics, usage_variants TO flags_service;
GRANT UPDATE ON flag_types TO flags_service;
GRANT INSERT, UPDATE ON client_revisions TO flags_service;
GRANT INSERT, DELETE ON event_weeks TO flags_service;
-- History is never updated or deleted.
GRANT INSERT
   ON user_seen_days, past_flag_states, past_project_user_roles, past_project_group_roles, past_group_users, past_environment_types,
      past_private_projects
   TO flags_service;
-- By column: INSERT on the whole table would allow OVERRIDING SYSTEM VALUE, and so any id.
GRANT INSERT (created_at, type, created_by, created_by_user_id, environment, project, feature_name, data, pre_data, tags,
              created_by_token_id, group_id, undoes, change_request_id)
   ON events
   TO flags_service;
-- The command events prune.
GRANT SELECT, DELETE ON events, event_weeks TO flags_prune;
GRANT SELECT ON schema_version TO flags_prune;
-- The command metrics prune.
GRANT SELECT ON projects TO flags_prune;
GRANT SELECT, UPDATE, DELETE ON usage_metrics TO flags_prune;
GRANT SELECT, INSERT, UPDATE ON usage_variants TO flags_prune;
COMMIT;
