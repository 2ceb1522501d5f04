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
