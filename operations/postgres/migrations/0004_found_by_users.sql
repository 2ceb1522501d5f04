-- From 0.2.0: what users of 0.2.0 found.

-- Members of a group keep the order in which a client sends them.
ALTER TABLE group_users ADD COLUMN position integer NOT NULL DEFAULT 0;

-- Names can have the characters ! * ' ( ) too.
ALTER TABLE environments DROP CONSTRAINT environments_name_format;
ALTER TABLE environments ADD CONSTRAINT environments_name_format CHECK (name ~ '^[A-Za-z0-9_.~!*''()-]{1,100}$' AND name NOT IN ('.', '..'));
ALTER TABLE tag_types DROP CONSTRAINT tag_types_name_format;
ALTER TABLE tag_types ADD CONSTRAINT tag_types_name_format CHECK (name ~ '^[A-Za-z0-9_.~!*''()-]{2,50}$');
ALTER TABLE context_fields DROP CONSTRAINT context_fields_name_format;
ALTER TABLE context_fields ADD CONSTRAINT context_fields_name_format CHECK (name ~ '^[A-Za-z0-9_.~!*''()-]{1,100}$' AND name NOT IN ('.', '..'));
ALTER TABLE strategy_types DROP CONSTRAINT strategy_types_name_format;
ALTER TABLE strategy_types ADD CONSTRAINT strategy_types_name_format CHECK (name ~ '^[A-Za-z0-9_.~!*''()-]{1,100}$' AND name NOT IN ('.', '..'));
ALTER TABLE projects DROP CONSTRAINT projects_id_format;
ALTER TABLE projects ADD CONSTRAINT projects_id_format CHECK (id ~ '^[A-Za-z0-9_.~!*''()-]{1,100}$' AND id NOT IN ('.', '..'));
ALTER TABLE flags DROP CONSTRAINT flags_name_format;
ALTER TABLE flags ADD CONSTRAINT flags_name_format CHECK (name ~ '^[A-Za-z0-9_.~!*''()-]{1,100}$' AND name NOT IN ('.', '..'));

CREATE TABLE known_logins (
    digest   bytea NOT NULL,
    seen_at  timestamptz NOT NULL,
    CONSTRAINT known_logins_pkey PRIMARY KEY (digest)
);
CREATE INDEX known_logins_seen_idx ON known_logins (seen_at);

CREATE TABLE frontend_additions (
    token_id    bigint NOT NULL,
    hour        timestamptz NOT NULL,
    usage_rows  bigint NOT NULL,  -- with those that were refused
    CONSTRAINT frontend_additions_pkey PRIMARY KEY (token_id)
);

-- Administrators can find the events of a leaked API token.
ALTER TABLE events ADD COLUMN created_by_token_id integer;

-- Addresses in another form than these never match.
UPDATE strategy_types
   SET parameters = replace(parameters::text, 'The addresses, or ranges of them.', 'Addresses or networks, such as 192.0.2.7 or 192.0.2.0/24.')::json
 WHERE name = 'remoteAddress';

-- Flags that an API token created have its name. Events that were pruned since leave it null.
ALTER TABLE flags ADD COLUMN created_by text;
UPDATE flags
   SET created_by = (
        SELECT nullif(events.created_by, 'system')
          FROM events
         WHERE feature_name = flags.name
           AND type = 'feature-created'
           AND created_at >= date_trunc('milliseconds', flags.created_at)
         ORDER BY created_at, id
         LIMIT 1)
 WHERE created_by_user_id IS NULL;

-- Unleash 8 has this type too.
INSERT INTO flag_types (id, name, description, lifetime_days) VALUES
    ('sunset', 'Sunset', 'Prepares the removal of an old feature.', 90);

-- What moves in from Unleash stays as it was: the order of variants, and dependencies with variants on a disabled parent.
ALTER TABLE variants ADD COLUMN position integer NOT NULL DEFAULT 0;
ALTER TABLE flag_dependencies DROP CONSTRAINT flag_dependencies_variants_of_enabled;

-- Flags have links to other pages, such as their issue. SDKs do not get them.
CREATE TABLE flag_links (
    id       bigint GENERATED ALWAYS AS IDENTITY,
    flag_id  bigint NOT NULL,
    url      text NOT NULL,
    title    text,
    CONSTRAINT flag_links_pkey PRIMARY KEY (id),
    CONSTRAINT flag_links_flag_fkey FOREIGN KEY (flag_id) REFERENCES flags ON DELETE CASCADE,
    CONSTRAINT flag_links_url_scheme CHECK (url ~* '^https?://')
);
CREATE INDEX flag_links_flag_idx ON flag_links (flag_id);
CREATE OR REPLACE FUNCTION alters_client_flags(type text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (type LIKE 'feature-%' AND type NOT LIKE 'feature-link-%'
            AND type NOT IN ('feature-favorited', 'feature-unfavorited', 'feature-type-updated', 'feature-potentially-stale-on'))
           OR type LIKE 'segment-%'
           OR type LIKE 'project-environment-%'
           OR type IN ('strategy-order-changed', 'environment-created', 'environment-deleted', 'tag-type-deleted');

-- Searches find all events of an import or a bulk change.
ALTER TABLE events ADD COLUMN group_id bigint;
CREATE INDEX events_group_idx ON events (group_id) WHERE group_id IS NOT NULL;

-- Records have a version, which their ETags contain.
CREATE FUNCTION new_version() RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (extract(epoch FROM now()) * 1000000)::bigint;
CREATE FUNCTION raise_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_jsonb(old) - coalesce(TG_ARGV, '{}') <> to_jsonb(new) - coalesce(TG_ARGV, '{}') THEN
        new.version := greatest(old.version + 1, new_version());
    END IF;
    RETURN new;
END $$;
CREATE FUNCTION raise_version_of_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('UPDATE %I SET version = version + 1 WHERE id = ($1).%I', TG_ARGV[0], TG_ARGV[1]) USING coalesce(new, old);
    RETURN NULL;
END $$;
ALTER TABLE roles ADD COLUMN version bigint NOT NULL DEFAULT new_version();
CREATE TRIGGER raise_version BEFORE UPDATE ON roles FOR EACH ROW EXECUTE FUNCTION raise_version('scope');
ALTER TABLE context_fields ADD COLUMN version bigint NOT NULL DEFAULT new_version();
CREATE TRIGGER raise_version BEFORE UPDATE ON context_fields FOR EACH ROW EXECUTE FUNCTION raise_version();
ALTER TABLE groups ADD COLUMN version bigint NOT NULL DEFAULT new_version();
CREATE TRIGGER raise_version BEFORE UPDATE ON groups FOR EACH ROW EXECUTE FUNCTION raise_version('root_role_scope');
ALTER TABLE projects ADD COLUMN version bigint NOT NULL DEFAULT new_version();
CREATE TRIGGER raise_version BEFORE UPDATE ON projects FOR EACH ROW EXECUTE FUNCTION raise_version();
ALTER TABLE flags ADD COLUMN version bigint NOT NULL DEFAULT new_version();
CREATE TRIGGER raise_version BEFORE UPDATE ON flags FOR EACH ROW EXECUTE FUNCTION raise_version('first_in_production_at', 'created_by_user_id', 'potentially_stale_at');
ALTER TABLE strategies ADD COLUMN version bigint NOT NULL DEFAULT new_version();
CREATE TRIGGER raise_version BEFORE UPDATE ON strategies FOR EACH ROW EXECUTE FUNCTION raise_version();
ALTER TABLE segments ADD COLUMN version bigint NOT NULL DEFAULT new_version();
CREATE TRIGGER raise_version BEFORE UPDATE ON segments FOR EACH ROW EXECUTE FUNCTION raise_version();
CREATE TRIGGER raise_version AFTER INSERT OR UPDATE OR DELETE ON group_users FOR EACH ROW EXECUTE FUNCTION raise_version_of_owner('groups', 'group_id');
CREATE TRIGGER raise_version AFTER INSERT OR UPDATE OR DELETE ON role_permissions FOR EACH ROW EXECUTE FUNCTION raise_version_of_owner('roles', 'role_id');
CREATE TRIGGER raise_version AFTER INSERT OR UPDATE OR DELETE ON strategy_segments FOR EACH ROW EXECUTE FUNCTION raise_version_of_owner('strategies', 'strategy_id');
-- An event names the one that it undoes.
ALTER TABLE events ADD COLUMN undoes bigint;

-- Pages with OpenFeature read all flags of a token at once, which says nothing about the use of a single flag.
ALTER TABLE api_keys ADD COLUMN bulk_read_on date;

-- Flags that are older than their type should get have an event. Those that are too old already get none.
ALTER TABLE flags ADD COLUMN potentially_stale_at timestamptz;
UPDATE flags
   SET potentially_stale_at = now()
  FROM flag_types
 WHERE flag_types.id = type
   AND archived_at IS NULL
   AND stale_since IS NULL
   AND now() - created_at > make_interval(days => lifetime_days);

-- Administrators write banners.
CREATE TABLE banners (
    id            integer GENERATED ALWAYS AS IDENTITY,
    message       text NOT NULL,
    enabled       boolean NOT NULL,
    variant       text NOT NULL,
    sticky        boolean NOT NULL,
    icon          text,
    link          text,
    link_text     text,
    dialog_title  text,
    dialog        text,
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT banners_pkey PRIMARY KEY (id),
    CONSTRAINT banners_variant_check CHECK (variant IN ('info', 'warning', 'error', 'success'))
);

-- Integrations get events.
CREATE TABLE integrations (
    id             integer GENERATED BY DEFAULT AS IDENTITY,
    provider       text NOT NULL,
    description    text,
    enabled        boolean NOT NULL,
    parameters     json NOT NULL,
    events         text[] NOT NULL,
    projects       text[] NOT NULL,
    environments   text[] NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    editor_id      integer,
    failing_since  timestamptz,
    blocked_until  timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT integrations_pkey PRIMARY KEY (id),
    CONSTRAINT integrations_provider_check CHECK (provider IN ('webhook', 'slack', 'teamsworkflow', 'discord')),
    CONSTRAINT integrations_editor_fkey FOREIGN KEY (editor_id) REFERENCES users
);

CREATE TABLE deliveries (
    integration_id  integer NOT NULL,
    event_id        bigint NOT NULL,
    next_at         timestamptz DEFAULT now(),
    attempts        integer NOT NULL DEFAULT 0,
    first_at        timestamptz,
    last_at         timestamptz,
    state           text,
    state_details   text,
    details         json,
    CONSTRAINT deliveries_pkey PRIMARY KEY (integration_id, event_id),
    CONSTRAINT deliveries_state_check CHECK (state IN ('success', 'failed', 'successWithErrors'))
);
CREATE INDEX deliveries_waiting_idx ON deliveries (integration_id, event_id) WHERE next_at IS NOT NULL;

-- People see how and from where each of their sessions began.
ALTER TABLE sessions
    ADD COLUMN id integer GENERATED ALWAYS AS IDENTITY,
    ADD COLUMN via text NOT NULL DEFAULT 'password',
    ADD COLUMN address text,
    ADD COLUMN user_agent text;

-- People log in with their account at an identity provider.
CREATE TABLE user_identities (
    user_id     integer NOT NULL,
    issuer      text NOT NULL,
    subject     text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT user_identities_pkey PRIMARY KEY (issuer, subject),
    CONSTRAINT user_identities_user_key UNIQUE (user_id, issuer),
    CONSTRAINT user_identities_user_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE
);

-- Single sign-on keeps what it needs between two requests in a signed cookie. gen_random_uuid() has 122 random bits.
CREATE TABLE instance_key (
    key         bytea NOT NULL,
    single_row  boolean NOT NULL DEFAULT true,
    CONSTRAINT instance_key_pkey PRIMARY KEY (single_row),
    CONSTRAINT instance_key_single_row_check CHECK (single_row)
);
INSERT INTO instance_key (key)
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- Changes of flags in an environment can need a change request.
ALTER TABLE project_environments ADD COLUMN required_approvals smallint;
ALTER TABLE project_environments ADD CONSTRAINT project_environments_required_approvals_check CHECK (required_approvals BETWEEN 0 AND 10);
ALTER TABLE events ADD COLUMN change_request_id integer;
CREATE INDEX events_change_request_idx ON events (change_request_id) WHERE change_request_id IS NOT NULL;
ALTER TABLE event_weeks ADD COLUMN of_change_requests integer NOT NULL DEFAULT 0;
CREATE OR REPLACE VIEW finished_weeks AS
    SELECT kind, name, monday, number, of_access, of_change_requests
      FROM event_weeks
     WHERE monday < date_trunc('week', (now() AT TIME ZONE 'UTC') - interval '26 hours')::date;
CREATE OR REPLACE FUNCTION fill_event_weeks() RETURNS void LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
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
                   count(*) FILTER (WHERE type LIKE ANY ('{project-access-%, project-user-%, project-group-%}')),
                   count(*) FILTER (WHERE type LIKE 'change-%')
              FROM events
             WHERE created_at >= week_start
               AND created_at < week_start + interval '168 hours'
             GROUP BY GROUPING SETS ((), (project), (type), (environment))
            HAVING grouping(project, type, environment) = 7 OR coalesce(project, type, environment) IS NOT NULL;
        END IF;
    END LOOP;
END $$;
CREATE TABLE change_requests (
    id                    integer GENERATED ALWAYS AS IDENTITY,
    project_id            text NOT NULL,
    environment           text NOT NULL,
    title                 text NOT NULL,
    state                 text NOT NULL DEFAULT 'Draft',
    min_approvals         smallint,
    revision              integer NOT NULL DEFAULT 1,
    created_by_user_id    integer NOT NULL,
    created_at            timestamptz NOT NULL DEFAULT now(),
    state_times           json NOT NULL DEFAULT '{}',
    scheduled_at          timestamptz,
    scheduled_by_user_id  integer,
    schedule_status       text,
    schedule_reason       text,
    CONSTRAINT change_requests_pkey PRIMARY KEY (id),
    CONSTRAINT change_requests_project_fkey FOREIGN KEY (project_id) REFERENCES projects ON DELETE CASCADE,
    CONSTRAINT change_requests_author_fkey FOREIGN KEY (created_by_user_id) REFERENCES users,
    CONSTRAINT change_requests_scheduler_fkey FOREIGN KEY (scheduled_by_user_id) REFERENCES users,
    CONSTRAINT change_requests_state_check
        CHECK (state IN ('Draft', 'In review', 'Approved', 'Scheduled', 'Applied', 'Cancelled', 'Rejected')),
    CONSTRAINT change_requests_schedule_status_check CHECK (schedule_status IN ('pending', 'failed', 'suspended')),
    CONSTRAINT change_requests_schedule_check
        CHECK (num_nonnulls(scheduled_at, scheduled_by_user_id, schedule_status) = CASE state WHEN 'Scheduled' THEN 3 ELSE 0 END
               AND (schedule_reason IS NOT NULL) = (coalesce(schedule_status, 'pending') <> 'pending'))
);
CREATE UNIQUE INDEX change_requests_one_draft ON change_requests (project_id, environment, created_by_user_id) WHERE state = 'Draft';
CREATE INDEX change_requests_due_idx ON change_requests (scheduled_at) WHERE schedule_status = 'pending';
CREATE INDEX change_requests_project_idx ON change_requests (project_id, id);

CREATE TABLE change_request_changes (
    id                 integer GENERATED ALWAYS AS IDENTITY,
    change_request_id  integer NOT NULL,
    feature_name       text,
    flag_id            bigint,
    segment_id         integer,
    action             text NOT NULL,
    payload            json,
    base               json,
    created_at         timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT change_request_changes_pkey PRIMARY KEY (id),
    CONSTRAINT change_request_changes_request_fkey FOREIGN KEY (change_request_id) REFERENCES change_requests ON DELETE CASCADE,
    CONSTRAINT change_request_changes_subject_check
        CHECK (num_nonnulls(flag_id, segment_id) = 1 AND (flag_id IS NULL) = (feature_name IS NULL))
);
CREATE INDEX change_request_changes_request_idx ON change_request_changes (change_request_id);
CREATE INDEX change_request_changes_feature_idx ON change_request_changes (feature_name) WHERE feature_name IS NOT NULL;

CREATE TABLE change_request_reviews (
    change_request_id  integer NOT NULL,
    user_id            integer NOT NULL,
    approved           boolean NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT change_request_reviews_pkey PRIMARY KEY (change_request_id, user_id),
    CONSTRAINT change_request_reviews_request_fkey FOREIGN KEY (change_request_id) REFERENCES change_requests ON DELETE CASCADE,
    CONSTRAINT change_request_reviews_user_fkey FOREIGN KEY (user_id) REFERENCES users
);

CREATE TABLE change_request_comments (
    id                 integer GENERATED ALWAYS AS IDENTITY,
    change_request_id  integer NOT NULL,
    user_id            integer NOT NULL,
    text               text NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT change_request_comments_pkey PRIMARY KEY (change_request_id, id),
    CONSTRAINT change_request_comments_request_fkey FOREIGN KEY (change_request_id) REFERENCES change_requests ON DELETE CASCADE,
    CONSTRAINT change_request_comments_user_fkey FOREIGN KEY (user_id) REFERENCES users
);
