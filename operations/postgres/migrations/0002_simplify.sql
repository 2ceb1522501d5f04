-- The first step from 0.1.0 to 0.2.0.


-- Ids of projects that were private and were then deleted or opened. Only administrators can reuse such an id, because
-- events still contain it.
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
-- Find such projects in the event log.
INSERT INTO past_private_projects
SELECT DISTINCT project
  FROM events
 WHERE project IS NOT NULL
   AND type IN ('project-created', 'project-updated')
   AND 'private' IN (data ->> 'mode', pre_data ->> 'mode')
   AND NOT EXISTS (SELECT FROM projects WHERE projects.id = events.project AND mode = 'private');

-- Searches count events and insights count usage, so stored totals of both are no longer needed.
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

-- Date events by the clock, in whole milliseconds, instead of by the start of the transaction. The end of an
-- environment's type is compared with them, so it follows.
ALTER TABLE events ALTER COLUMN created_at SET DEFAULT date_trunc('milliseconds', clock_timestamp());
CREATE OR REPLACE FUNCTION keep_past_environment_type() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR new.type <> old.type THEN
        INSERT INTO past_environment_types VALUES (old.name, old.type, date_trunc('milliseconds', clock_timestamp()));
    END IF;
    RETURN NULL;
END $$;

-- The same view and constraint, in a form that pg_dump prints the same before and after a restore (make schema-diff).
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
-- A search by project and another column counts in one index.
DROP INDEX events_project_idx;
CREATE INDEX events_project_idx ON events (project, created_at, id) INCLUDE (type, created_by_user_id) WHERE project IS NOT NULL;

-- Totals of the events of finished weeks (Monday to Sunday, UTC). Searches and insights count all other events in the
-- indexes of events. A week has all its rows, including one of the kind 'all', or none.
CREATE TABLE event_weeks (
    kind       text NOT NULL,  -- 'all', 'project', 'type' or 'environment'
    name       text NOT NULL,  -- the project, type or environment; empty for 'all'
    monday     date NOT NULL,
    number     integer NOT NULL,
    of_access  integer NOT NULL,  -- the part that is about the access list of a project
    CONSTRAINT event_weeks_pkey PRIMARY KEY (kind, name, monday)
);
CREATE INDEX event_weeks_monday_idx ON event_weeks (monday);

-- Only weeks that ended more than 26 hours ago. Any newer week was added up while the clock was ahead, and can still
-- get events.
CREATE VIEW finished_weeks AS
    SELECT kind, name, monday, number, of_access
      FROM event_weeks
     WHERE monday < date_trunc('week', (now() AT TIME ZONE 'UTC') - interval '26 hours')::date;

-- Return the time ranges from first_day to last_day (inclusive) that no finished week covers.
CREATE FUNCTION event_gaps(first_day date, last_day date) RETURNS SETOF tstzrange LANGUAGE sql STABLE AS $$
    SELECT unnest(tstzmultirange(tstzrange(first_day::timestamp AT TIME ZONE 'UTC',
                                           greatest(first_day, last_day + 1)::timestamp AT TIME ZONE 'UTC'))
                  - coalesce(range_agg(tstzrange(monday::timestamp AT TIME ZONE 'UTC', (monday + 7)::timestamp AT TIME ZONE 'UTC')), '{}'))
      FROM finished_weeks
     WHERE kind = 'all'
       AND name = ''
       AND monday >= first_day
       AND monday <= last_day - 6
$$;

-- Return whether fill_event_weeks() has weeks to add up and the caller has the privilege.
CREATE FUNCTION event_weeks_are_due() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT current_setting('transaction_read_only') = 'off'
       AND has_table_privilege('event_weeks', 'INSERT')
       AND (coalesce(bool_or((SELECT min(created_at)
                                FROM events
                               WHERE created_at >= lower(gap)
                                 AND created_at < least(upper(gap), date_trunc('week', now() - interval '26 hours', 'UTC'))) IS NOT NULL), false)
            OR (SELECT max(monday) FROM event_weeks) IS DISTINCT FROM (SELECT max(monday) FROM finished_weeks))
      FROM event_gaps('-infinity', 'infinity') AS gap
$$;

-- Add up finished weeks, newest first, for about 0.2 s. Return at once if a week could still change. Transactions that
-- delete, change or back-date events hold the lock until they end. A transaction that began before the end of the week,
-- or up to 25 hours after it, could still commit events of that week. The 25 hours are needed because the trigger on
-- inserts does not fire for the date on which the transaction began, in any time zone. (Sessions of other database
-- users are only visible after they have written something.)
CREATE FUNCTION fill_event_weeks() RETURNS void LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
DECLARE
    week_start  timestamptz := date_trunc('week', clock_timestamp() - interval '26 hours', 'UTC');
    newest      timestamptz;
    this        date;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed'
       OR NOT pg_try_advisory_xact_lock(7225432)
       OR EXISTS (SELECT FROM pg_stat_activity
                   WHERE datname = current_database()
                     AND pid <> pg_backend_pid()
                     AND (xact_start < week_start + interval '25 hours' OR xact_start IS NULL AND backend_xid IS NOT NULL)) THEN
        RETURN;
    END IF;
    DELETE FROM event_weeks WHERE monday >= (week_start AT TIME ZONE 'UTC')::date;
    LOOP
        newest := (SELECT max(created_at) FROM events WHERE created_at < week_start);
        EXIT WHEN newest IS NULL OR clock_timestamp() > statement_timestamp() + interval '200 milliseconds';
        week_start := date_trunc('week', newest, 'UTC');
        this := (week_start AT TIME ZONE 'UTC')::date;
        IF NOT EXISTS (SELECT FROM event_weeks WHERE kind = 'all' AND name = '' AND monday = this) THEN
            INSERT INTO event_weeks
            SELECT CASE grouping(project, type, environment) WHEN 7 THEN 'all' WHEN 3 THEN 'project' WHEN 5 THEN 'type' ELSE 'environment' END,
                   coalesce(project, type, environment, ''), this, count(*),
                   count(*) FILTER (WHERE type LIKE ANY ('{project-access-%, project-user-%, project-group-%}'))
              FROM events
             WHERE created_at >= week_start
               AND created_at < week_start + interval '168 hours'
             GROUP BY GROUPING SETS ((), (project), (type), (environment))
            HAVING grouping(project, type, environment) = 7 OR coalesce(project, type, environment) IS NOT NULL;
        END IF;
    END LOOP;
END $$;

-- Delete the totals of weeks whose events are deleted, changed or back-dated, under the lock of fill_event_weeks(). The
-- isolation level must be read committed: only then does each statement see the commits of the lock's last holder.
CREATE FUNCTION forget_event_weeks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'Changing past events requires the isolation level read committed.';
    END IF;
    PERFORM pg_advisory_xact_lock(7225432);
    IF TG_OP = 'INSERT' THEN
        DELETE FROM event_weeks WHERE monday = date_trunc('week', new.created_at AT TIME ZONE 'UTC')::date;
    ELSIF TG_OP = 'TRUNCATE' THEN
        DELETE FROM event_weeks;
    ELSE
        DELETE FROM event_weeks WHERE monday IN (SELECT date_trunc('week', created_at AT TIME ZONE 'UTC')::date FROM old_events);
        IF TG_OP = 'UPDATE' THEN
            DELETE FROM event_weeks WHERE monday IN (SELECT date_trunc('week', created_at AT TIME ZONE 'UTC')::date FROM new_events);
        END IF;
    END IF;
    RETURN NULL;
END $$;
-- The condition uses CURRENT_DATE, because a function call would take three times as long: 6 of the 40 us of an insert.
CREATE TRIGGER forget_week_of_back_dated_event AFTER INSERT ON events
    FOR EACH ROW WHEN (new.created_at < CURRENT_DATE) EXECUTE FUNCTION forget_event_weeks();
CREATE TRIGGER forget_weeks_of_changed_events AFTER UPDATE ON events
    REFERENCING OLD TABLE AS old_events NEW TABLE AS new_events
    FOR EACH STATEMENT EXECUTE FUNCTION forget_event_weeks();
CREATE TRIGGER forget_weeks_of_deleted_events AFTER DELETE ON events
    REFERENCING OLD TABLE AS old_events
    FOR EACH STATEMENT EXECUTE FUNCTION forget_event_weeks();
CREATE TRIGGER forget_all_event_weeks AFTER TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION forget_event_weeks();

-- Texts of the vocabulary, in plain English.
UPDATE permissions SET display_name = 'Skip change requests' WHERE name = 'SKIP_CHANGE_REQUEST';
UPDATE context_fields
   SET description = 'The time of the request.'
 WHERE name = 'currentTime'
   AND description = 'The time at which the flag is asked for.';
UPDATE strategy_types
   SET parameters = replace(parameters::text, 'by which a user is known again', 'that identifies a user')::json
 WHERE name = 'flexibleRollout';

-- Merge JSON objects: the keys of the first, then those of the next. NULL adds nothing. Unlike jsonb, json keeps the
-- order of the keys and all nulls.
CREATE FUNCTION json_merge(VARIADIC objects json[]) RETURNS json
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT ('{' || string_agg(left(substr(object::text, 2), -1), ', ') || '}')::json FROM unnest(objects) AS object);

-- Links with which users set a password. A user has one at most. The digest is the SHA-256 of the token in the link.
CREATE TABLE reset_tokens (
    user_id     integer NOT NULL,
    digest      bytea NOT NULL,
    created_by  text NOT NULL,
    expires_at  timestamptz NOT NULL,
    CONSTRAINT reset_tokens_pkey PRIMARY KEY (user_id),
    CONSTRAINT reset_tokens_digest_key UNIQUE (digest),
    CONSTRAINT reset_tokens_user_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE
);
