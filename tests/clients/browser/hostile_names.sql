-- Every text that people, applications and scripts choose freely. Names of flags, for example, must match a pattern without < and >.
UPDATE projects SET name = %(name)s::text || id, description = %(name)s::text;
UPDATE projects SET naming_example = %(name)s::text, naming_description = %(name)s::text WHERE naming_pattern IS NOT NULL;
UPDATE users SET name = %(name)s::text || id;
UPDATE groups SET name = %(name)s::text || id, description = %(name)s::text, mappings_sso = ARRAY[%(name)s::text];
UPDATE roles SET name = %(name)s::text || id, description = %(name)s::text WHERE id > 5;
UPDATE segments SET name = %(name)s::text || id, description = %(name)s::text;
UPDATE context_fields SET description = %(name)s::text, legal_values = json_build_array(json_build_object('value', %(name)s::text, 'description', %(name)s::text));
UPDATE tag_types SET description = %(name)s::text;
INSERT INTO tags VALUES ('simple', repeat('M', 50));
INSERT INTO flag_tags (flag_id, type, value) SELECT id, 'simple', repeat('M', 50) FROM flags;
INSERT INTO flag_links (flag_id, url, title) SELECT id, 'https://example.org/' || repeat('M', 200), %(name)s::text FROM flags;
INSERT INTO flag_links (flag_id, url) SELECT id, 'https://example.org/' || repeat('M', 200) FROM flags;
UPDATE strategy_types SET description = %(name)s::text, display_name = %(name)s::text, title = %(name)s::text WHERE name <> 'default';
UPDATE flags SET description = %(name)s::text;
UPDATE strategies SET title = %(name)s::text,
    constraints = json_build_array(json_build_object('contextName', %(name)s::text, 'operator', 'IN', 'values', json_build_array(%(name)s::text))),
    parameters = json_build_object('rollout', '50', 'stickiness', %(name)s::text, 'groupId', %(name)s::text, %(name)s::text, %(name)s::text);
UPDATE variants SET name = %(name)s::text || id, payload_type = 'string', payload_value = %(name)s::text, stickiness = %(name)s::text,
    overrides = json_build_array(json_build_object('contextName', %(name)s::text, 'values', json_build_array(%(name)s::text)));
UPDATE api_keys SET name = %(name)s::text;
UPDATE signup_tokens SET name = %(name)s::text || id;
UPDATE personal_tokens SET description = %(name)s::text || id;
UPDATE application_instances SET instance_id = %(name)s::text, sdk_version = %(name)s::text, platform = %(name)s::text, address = %(name)s::text;
UPDATE applications SET description = %(name)s::text, url = 'javascript:' || %(name)s::text, icon = %(name)s::text, color = %(name)s::text;
INSERT INTO applications (name, description, url) VALUES (%(name)s::text, %(name)s::text, 'javascript:alert(1)');
INSERT INTO unknown_flags SELECT %(name)s::text, %(name)s::text, 'production', now();
INSERT INTO events (type, created_by, created_by_user_id, project, environment, feature_name, data, pre_data)
SELECT types.type, %(name)s::text, NULL, 'checkout', %(name)s::text, flags.name, json_build_object('name', %(name)s::text, %(name)s::text, %(name)s::text), json_build_object('name', 'x')
  FROM flags, (SELECT DISTINCT type FROM events) AS types
 WHERE project_id = 'checkout' AND archived_at IS NULL AND types.type LIKE 'feature%%';
UPDATE integrations SET description = %(name)s::text, events = events || %(name)s::text, projects = ARRAY[%(name)s::text], environments = ARRAY[%(name)s::text];
UPDATE deliveries SET state_details = %(name)s::text;
UPDATE banners SET message = %(name)s, link_text = %(name)s, dialog_title = %(name)s, dialog = %(name)s;
