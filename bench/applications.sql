-- Flags as applications evaluate them: 1.8 strategies each, of which 65 % are gradual. The setting bench.size is the number
-- of flags. setseed() gives every run the same data. The project default stays empty.
SELECT setseed(0.4);
SET LOCAL synchronous_commit = off;

INSERT INTO projects (id, name) SELECT 'p' || n, 'Project ' || n FROM generate_series(1, 20) AS n;
INSERT INTO project_environments (project_id, environment) SELECT id, environment FROM projects, unnest('{development,production}'::text[]) AS environment
    WHERE id <> 'default';
INSERT INTO api_keys (name, kind, digest, secret, environment)
SELECT kind || name, kind, sha256((name || kind || current_setting('bench.token'))::bytea), 'bench-' || name || kind, 'production'
  FROM unnest('{client,frontend}'::text[]) AS kind, unnest('{all-,none-}'::text[]) AS name;
INSERT INTO api_key_projects (api_key_id, project_id) SELECT id, 'default' FROM api_keys WHERE name LIKE '%none-';

INSERT INTO segments (name, constraints)
SELECT 'segment-' || n, json_build_array(json_build_object('contextName', 'userId', 'operator', 'IN', 'values', users, 'inverted', false, 'caseInsensitive', false))
  FROM generate_series(1, 20) AS n, LATERAL (SELECT json_agg('user-' || n * user_number) AS users FROM generate_series(1, 50) AS user_number) AS chosen;

INSERT INTO flags (name, project_id)
SELECT 'flag-' || n, 'p' || 1 + n % 20 FROM generate_series(1, current_setting('bench.size')::integer) AS n;
INSERT INTO flag_environments (flag_id, environment, enabled)
SELECT id, environment, random() < 0.5 FROM flags, unnest('{development,production}'::text[]) AS environment;
INSERT INTO strategies (id, flag_id, environment, name, sort_order, parameters, constraints)
SELECT gen_random_uuid(), flag_id, environment, CASE WHEN a < 0.65 THEN 'flexibleRollout' ELSE 'default' END, place,
       CASE WHEN a < 0.65 THEN json_build_object('rollout', floor(b * 101)::text, 'stickiness', 'default', 'groupId', 'flag-' || flag_id) ELSE '{}' END,
       CASE WHEN c < 0.4 THEN '[{"contextName":"country","operator":"IN","values":["NO","SE","DK","FI"],"inverted":false,"caseInsensitive":false}]'
            ELSE '[]' END::json
  FROM (SELECT *, random() AS a, random() AS b, random() AS c
          FROM flag_environments, generate_series(1, 2) AS place WHERE place = 1 OR flag_id % 5 > 0) AS drawn;
INSERT INTO strategy_segments (strategy_id, segment_id) SELECT id, 1 + flag_id % 20 FROM strategies WHERE random() < 0.2;
INSERT INTO variants (flag_id, environment, strategy_id, name, weight, payload_type, payload_value)
SELECT flag_id, environment, id, variant, 500, 'string', 'The ' || variant || ' checkout'
  FROM (SELECT * FROM strategies WHERE name = 'flexibleRollout' AND random() < 0.3) AS chosen, unnest('{blue,green}'::text[]) AS variant;
INSERT INTO flag_dependencies (child_id, parent_id) SELECT id, id - 1 FROM flags WHERE id % 30 = 0;
