-- From 0.1.0 to 0.2.0. This file changes until 0.2.0 is released.


-- Ids of projects that were private and have since been deleted or opened. Events keep the id, so only an administrator can reuse it.
CREATE TABLE past_private_projects (
    project_id  text NOT NULL,
    CONSTRAINT past_private_projects_pkey PRIMARY KEY (project_id)
);

CREATE FUNCTION keep_past_private_project() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO past_private_projects VALUES (old.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER keep_past_private_project AFTER DELETE OR UPDATE OF mode ON projects
    FOR EACH ROW WHEN (old.mode = 'private') EXECUTE FUNCTION keep_past_private_project();
-- What the log tells of the past.
INSERT INTO past_private_projects
SELECT DISTINCT project
  FROM events
 WHERE project IS NOT NULL
   AND type IN ('project-created', 'project-updated')
   AND 'private' IN (data ->> 'mode', pre_data ->> 'mode')
   AND NOT EXISTS (SELECT FROM projects WHERE projects.id = events.project AND mode = 'private');

-- Searches count events, and insights count usage: neither is kept any more.
DROP TRIGGER count_newest_events ON events;
DROP TRIGGER uncount_events ON events;
DROP TRIGGER recount_changed_events ON events;
DROP TRIGGER uncount_all_events ON events;
DROP FUNCTION recount_events(), uncount_all_events(), forget_event_totals(), recount_changed_events(), uncount_events(),
              count_newest_events(), count_events(integer), lock_event_totals(), add_event_totals(event_count[]);
DROP AGGREGATE put_number(integer, integer);
DROP FUNCTION put_number(integer[], integer, integer), event_key(text, text, bigint, text);
DROP TYPE event_count;
DROP VIEW uncounted_events;
DROP TABLE uncounted_ids, event_totals;

DROP TRIGGER recount_inserted_usage ON usage_metrics;
DROP TRIGGER recount_updated_usage ON usage_metrics;
DROP TRIGGER recount_deleted_usage ON usage_metrics;
DROP TRIGGER forget_usage_weeks ON usage_metrics;
DROP FUNCTION recount_usage_weeks(), forget_usage_weeks(), recount_changed_usage(), recount_changed_weeks(usage_week[]),
              keep_usage_weeks(), lock_usage_weeks();
DROP TYPE usage_week;
DROP TABLE usage_weeks_kept, usage_weeks;

-- Events are dated when they are written, in whole milliseconds; so is the end of an environment's type, which they are compared with.
ALTER TABLE events ALTER COLUMN created_at SET DEFAULT date_trunc('milliseconds', clock_timestamp());
CREATE OR REPLACE FUNCTION keep_past_environment_type() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR new.type <> old.type THEN
        INSERT INTO past_environment_types VALUES (old.name, old.type, date_trunc('milliseconds', clock_timestamp()));
    END IF;
    RETURN NULL;
END $$;

-- Written so that PostgreSQL prints them alike before and after a backup is restored (make schema-diff).
CREATE OR REPLACE VIEW environment_types AS
    SELECT environment,
           type,
           coalesce(lag(ended_at) OVER (PARTITION BY environment ORDER BY ended_at), '-infinity') AS started_at,
           ended_at
      FROM (SELECT environment, type, ended_at FROM past_environment_types
         UNION ALL
            SELECT name, type, NULL::timestamptz AS ended_at FROM environments) AS types;
ALTER TABLE users
    DROP CONSTRAINT users_username_format,
    ADD CONSTRAINT users_username_format CHECK (length(username) >= 1 AND length(username) <= 255 AND strpos(username, '@') = 0);
