-- Three years of an instance: 4 environments, 100 private projects, up to 5,000 flags, 20 to 500 users, usage, and events.
-- The setting bench.size is the number of events. Shares follow Zipf's law: floor(power(n, random())) is most often 1, the first of
-- n. setseed() gives every run the same data.
SELECT setseed(0.4);
SET LOCAL synchronous_commit = off;

INSERT INTO users (name, email, root_role_id, created_at)
SELECT 'User ' || n, 'user' || n || '@example.org', 3, now() - interval '3 years' + n * interval '3 years' / number
  FROM (SELECT greatest(20, least(500, current_setting('bench.size')::integer / 2000)) AS number) AS users CROSS JOIN generate_series(1, number) AS n;
INSERT INTO users (name, username, root_role_id) VALUES ('Member', 'member', 3);
INSERT INTO personal_tokens (user_id, description, digest, expires_at)
SELECT id, 'bench', sha256(current_setting('bench.token')::bytea), now() + interval '1 day' FROM users WHERE username = 'member';
INSERT INTO user_seen_days (user_id, day)
SELECT id, day FROM users, generate_series(created_at::date, now()::date, '1 day') AS day WHERE email IS NOT NULL AND random() < 0.4;

INSERT INTO environments (name, type, sort_order) VALUES ('test', 'test', 3), ('staging', 'pre-production', 4);
INSERT INTO projects (id, name, mode, created_at) SELECT 'p' || n, 'Project ' || n, 'private', now() - interval '3 years' FROM generate_series(1, 100) AS n;
INSERT INTO project_environments (project_id, environment) SELECT projects.id, environments.name FROM projects, environments
 WHERE id <> 'default';
-- The member sees 20 projects, including the busiest.
INSERT INTO project_user_roles (project_id, user_id, role_id, created_at)
SELECT 'p' || n * 5 - 4, id, 5, now() - interval '1 year' FROM users, generate_series(1, 20) AS n WHERE username = 'member';
INSERT INTO project_user_roles (project_id, user_id, role_id, created_at)
SELECT DISTINCT ON (project, id) 'p' || project, id, 5, created_at
  FROM (SELECT id, created_at, floor(power(101, random())) AS project FROM users, generate_series(1, 3) WHERE email IS NOT NULL) AS drawn;

CREATE TEMP TABLE sizes ON COMMIT DROP AS
SELECT project, greatest(1, floor(least(5000, current_setting('bench.size')::integer / 20) / project / 5.19))::integer AS flags FROM generate_series(1, 100) AS project;
INSERT INTO flags (name, project_id, type, created_at, first_in_production_at, archived_at, stale_since)
SELECT 'p' || project || '.f' || number, 'p' || project, (ARRAY['release', 'release', 'experiment', 'operational', 'kill-switch'])[1 + number % 5], born,
       least(born + a * interval '30 days', now()), CASE WHEN number > 8 AND b < 0.6 AND gone < now() THEN gone END, CASE WHEN b > 0.9 AND gone < now() THEN gone END
  FROM (SELECT project, number, now() - interval '3 years' * (1 - number::float / (flags + 1)) AS born, random() AS a, random() AS b, random() AS c
          FROM sizes, generate_series(1, flags) AS number) AS drawn
 CROSS JOIN LATERAL (SELECT born + interval '30 days' + c * interval '300 days' AS gone) AS ends;
INSERT INTO flag_environments (flag_id, environment, enabled)
SELECT id, environments.name, archived_at IS NULL FROM flags, environments;
INSERT INTO strategies (id, flag_id, environment, name) SELECT gen_random_uuid(), flag_id, environment, 'default' FROM flag_environments;
INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
SELECT 'p' || project, 'p' || project || '.f' || 1 + floor(random() * flags), 'production', 'app' || n % 5,
       date_trunc('hour', now()) - floor(random() * 26000) * interval '1 hour', 1 + n % 100, n % 37
  FROM (SELECT n, floor(power(101, random())) AS project FROM generate_series(1, current_setting('bench.size')::integer / 10) AS n) AS drawn JOIN sizes USING (project)
    ON CONFLICT DO NOTHING;
INSERT INTO flag_sightings (flag_id, environment, app_name, first_at, last_at)
SELECT flags.id, environment, app_name, min(hour), max(hour)
  FROM usage_metrics
  JOIN flags ON flags.name = flag_name AND deleted_at IS NULL
 WHERE hour >= date_trunc('hour', flags.created_at)
 GROUP BY flags.id, environment, app_name;

-- The triggers prepare nothing that a new instance needs, and take a quarter of the time.
ALTER TABLE events DISABLE TRIGGER USER;
INSERT INTO events (created_at, type, created_by, created_by_user_id, environment, project, feature_name, data, pre_data, tags)
SELECT now() - interval '3 years' * (1 - n::float / (total + 1)), type, 'user' || author || '@example.org', author + 1,
       CASE WHEN type ~ 'strategy|environment' THEN CASE WHEN n % 2 = 0 THEN 'production' ELSE 'development' END END, 'p' || project, flag,
       CASE WHEN type ~ 'created|updated|strategy' OR word = 'quetzalcoatl' THEN json_build_object('id', lpad(n::text, 36, '0'), 'name', 'flexibleRollout', 'description', word,
           'parameters', json_build_object('groupId', flag, 'stickiness', 'default', 'rollout', (n % 101)::text),
           'constraints', '[{"contextName":"appName","operator":"IN","values":["web","mobile","kiosk"],"inverted":false,"caseInsensitive":false}]'::json) END,
       CASE WHEN type LIKE '%update%' THEN json_build_object('id', lpad(n::text, 36, '0'), 'name', 'flexibleRollout', 'parameters',
           json_build_object('groupId', flag, 'stickiness', 'default', 'rollout', ((n + 50) % 101)::text)) END,
       CASE WHEN type LIKE '%tagged' THEN '[{"type":"simple","value":"brightcart"}]'::json ELSE '[]' END
  FROM (SELECT n, total, project, 'p' || project || '.f' || floor(power(flags + 1, b)) AS flag, floor(power(users + 1, c)) AS author,
               CASE WHEN n IN (total / 3, total * 9 / 10) THEN 'quetzalcoatl' ELSE 'brightcart' END AS word,
               (ARRAY['feature-strategy-update', 'feature-strategy-update', 'feature-strategy-update', 'feature-environment-enabled', 'feature-environment-disabled',
                      'feature-strategy-add', 'feature-metadata-updated', 'feature-created', 'feature-archived', 'feature-tagged'])[1 + floor(d * 10)] AS type
          FROM (SELECT n, current_setting('bench.size')::integer AS total, floor(power(101, random())) AS project, random() AS b, random() AS c, random() AS d
                  FROM generate_series(1, current_setting('bench.size')::integer) AS n) AS drawn
          JOIN sizes USING (project)
         CROSS JOIN (SELECT count(*) AS users FROM users WHERE email LIKE 'user%') AS counted) AS chosen
 ORDER BY n;
ALTER TABLE events ENABLE TRIGGER USER;
