-- The second step from 0.1.0 to 0.2.0: what SDKs need.


-- What SDKs report.
-- The variants of that usage: how often each was chosen.
CREATE TABLE usage_variants (
    project_id   text NOT NULL,
    flag_name    text NOT NULL,
    environment  text NOT NULL,
    app_name     text NOT NULL,
    hour         timestamptz NOT NULL,
    variant      text NOT NULL,
    count        bigint NOT NULL,
    CONSTRAINT usage_variants_pkey PRIMARY KEY (project_id, hour, flag_name, environment, app_name, variant),
    CONSTRAINT usage_variants_usage_fkey FOREIGN KEY (project_id, hour, flag_name, environment, app_name)
        REFERENCES usage_metrics ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT usage_variants_count_positive CHECK (count > 0)
);

-- The applications that use a flag: when each first and last reported it.
CREATE TABLE flag_sightings (
    flag_id      bigint NOT NULL,
    environment  text NOT NULL,
    app_name     text NOT NULL,
    first_at     timestamptz NOT NULL,
    last_at      timestamptz NOT NULL,
    CONSTRAINT flag_sightings_pkey PRIMARY KEY (flag_id, environment, app_name),
    CONSTRAINT flag_sightings_flag_fkey FOREIGN KEY (flag_id) REFERENCES flags ON DELETE CASCADE
);
CREATE INDEX flag_sightings_app_idx ON flag_sightings (app_name);

-- Names that applications ask for, although no such flag exists.
CREATE TABLE unknown_flags (
    flag_name    text NOT NULL,
    app_name     text NOT NULL,
    environment  text NOT NULL,
    seen_at      timestamptz NOT NULL,
    CONSTRAINT unknown_flags_pkey PRIMARY KEY (flag_name, app_name, environment)
);
CREATE INDEX unknown_flags_app_idx ON unknown_flags (app_name);

-- Applications make themselves known by registering or by reporting usage. People can add a description.
CREATE TABLE applications (
    name         text NOT NULL,
    description  text,
    url          text,
    icon         text,
    color        text,
    strategies   text[] NOT NULL DEFAULT '{}',  -- the strategy types that it can evaluate
    created_at   timestamptz NOT NULL DEFAULT now(),
    seen_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT applications_pkey PRIMARY KEY (name),
    CONSTRAINT applications_name_length CHECK (length(name) BETWEEN 1 AND 255)
);

-- The running processes of an application. connection is the connectionId of newer SDKs, else the instanceId.
CREATE TABLE application_instances (
    app_name      text NOT NULL,
    environment   text NOT NULL,
    connection    text NOT NULL,
    instance_id   text NOT NULL,
    sdk_version   text,
    platform      text,
    spec_version  text,
    address       text,
    seen_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT application_instances_pkey PRIMARY KEY (app_name, environment, connection),
    CONSTRAINT application_instances_app_fkey FOREIGN KEY (app_name) REFERENCES applications ON DELETE CASCADE
);
CREATE INDEX application_instances_seen_idx ON application_instances (seen_at);

-- The sites that can use a frontend token. Null: those of the setting FRONTEND_ORIGINS.
ALTER TABLE api_keys ADD COLUMN origins text[];

-- People can complete a flag: it is kept, perhaps with one of its variants, or discarded.
ALTER TABLE flags
    ADD COLUMN completed_at timestamptz,
    ADD COLUMN completed_status text,
    ADD COLUMN completed_value text,
    ADD CONSTRAINT flags_completed_status_check CHECK (completed_status IN ('kept', 'discarded')),
    ADD CONSTRAINT flags_completed_together CHECK ((completed_at IS NULL) = (completed_status IS NULL));

-- Stages of flags come from sightings. Usage that was reported before only has hours.
INSERT INTO flag_sightings (flag_id, environment, app_name, first_at, last_at)
SELECT flags.id, environment, app_name, greatest(min(hour), flags.created_at), greatest(max(hour), flags.created_at)
  FROM usage_metrics
  JOIN flags ON flags.name = flag_name
            AND deleted_at IS NULL
            AND hour >= date_trunc('hour', flags.created_at)
 GROUP BY flags.id, environment, app_name;

-- How often the flags that applications get may have changed, by project and environment ('': changes of all). Workers read
-- the flags of an API token again when the sums of its rows change. No foreign keys: the sum of revisions must not fall.
-- mark is random, because after a failover to a standby that lags behind, or a restore, changes raise the same revisions again.
CREATE TABLE client_revisions (
    project_id   text NOT NULL,
    environment  text NOT NULL,
    revision     bigint NOT NULL DEFAULT 1,
    mark         integer NOT NULL DEFAULT floor(random() * 2147483648),
    CONSTRAINT client_revisions_pkey PRIMARY KEY (environment, project_id)
) WITH (fillfactor = 50);

-- Whether events of this type are about changes that can alter the flags of applications. An import records an event of
-- each change beside its own. Projects are archived and revived without live flags.
CREATE FUNCTION alters_client_flags(type text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (type LIKE 'feature-%' AND type NOT IN ('feature-favorited', 'feature-unfavorited', 'feature-type-updated'))
           OR type LIKE 'segment-%'
           OR type LIKE 'project-environment-%'
           OR type IN ('strategy-order-changed', 'environment-created', 'environment-deleted', 'tag-type-deleted');

-- Raise the revisions of what the events of this transaction name. The first of its events that fires raises all of them,
-- at the commit: in one order, so that transactions cannot deadlock, and after all other locks. (Other transactions can
-- have committed events with higher ids meanwhile. Raising their revisions again does no harm.)
CREATE FUNCTION raise_client_revisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.id > coalesce(nullif(current_setting('flags.raised_up_to', true), ''), '0')::bigint THEN
        INSERT INTO client_revisions AS raised (project_id, environment)
        SELECT DISTINCT CASE WHEN type <> 'feature-project-change' THEN coalesce(project, '') ELSE '' END AS project_id,
               coalesce(environment, '') AS environment
          FROM events
         WHERE id >= new.id
           AND alters_client_flags(type)
         ORDER BY environment, project_id
            ON CONFLICT (environment, project_id) DO UPDATE SET revision = raised.revision + 1, mark = excluded.mark;
        PERFORM set_config('flags.raised_up_to', max(id)::text, true) FROM events;
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER raise_client_revisions AFTER INSERT ON events
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (alters_client_flags(new.type)) EXECUTE FUNCTION raise_client_revisions();
