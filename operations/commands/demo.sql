-- Brightcart, an online shop, with two years of flags. operations/commands/demo.py runs this file in one transaction on a new
-- database. Each line "-- Step:" moves its progress bar. Nothing is random: chance() hashes names, so that all demos of an
-- hour have the same data. The events are created from the same rows as the state: see the steps "Flags" and "Log".

-- Step: People
CREATE FUNCTION pg_temp.today() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT date_trunc('day', now(), 'UTC') $$;
CREATE FUNCTION pg_temp.ago(days numeric, clock interval DEFAULT '10:00') RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT pg_temp.today() - days * interval '1 day' + clock $$;
CREATE FUNCTION pg_temp.chance(key text) RETURNS float LANGUAGE sql IMMUTABLE AS
    $$ SELECT (hashtextextended(key, 1) & 1048575) / 1048576.0 $$;
CREATE FUNCTION pg_temp.choose(key text, choices anyarray) RETURNS anyelement LANGUAGE sql IMMUTABLE AS
    $$ SELECT choices[1 + floor(pg_temp.chance(key) * cardinality(choices))] $$;
-- Move a time into the working hours of its week. The order of times does not change, and past days stay in the past.
CREATE FUNCTION pg_temp.working(instant timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT date_trunc('milliseconds', monday + floor(share * 5) * interval '1 day' + interval '7 hours'
                                      + (share * 5 - floor(share * 5)) * interval '11 hours')
      FROM date_trunc('week', instant, 'UTC') AS monday, LATERAL (SELECT extract(epoch FROM instant - monday) / 604800 AS share) AS position $$;

-- Events. author: a key from staff, or system for the server, or null for a member of the project's team at that time.
CREATE TEMP TABLE log (
    at timestamptz, type text, author text, project text, environment text, feature text, data json, pre_data json,
    change_request_id integer
) ON COMMIT DROP;

UPDATE users SET created_at = pg_temp.ago(730, '09:00');
UPDATE api_keys SET created_at = pg_temp.ago(730, '09:00');
UPDATE events SET created_at = pg_temp.ago(730, '09:00');
UPDATE projects SET created_at = pg_temp.ago(730, '09:00');
UPDATE project_environments SET created_at = pg_temp.ago(730, '09:00');

CREATE TEMP TABLE custom ON COMMIT DROP AS
SELECT * FROM (VALUES
    ('Release Manager', 'root-custom', 'Switches flags in every project, and keeps the segments.', '{CREATE_SEGMENT,UPDATE_SEGMENT,UPDATE_FEATURE_ENVIRONMENT}', NULL),
    ('Incident Responder', 'custom', 'Switches flags on and off in production.', '{UPDATE_FEATURE_ENVIRONMENT}', 'production'),
    ('Reviewer', 'custom', 'May approve and apply change requests.', '{APPROVE_CHANGE_REQUEST,APPLY_CHANGE_REQUEST}', NULL),
    ('Auditor', 'custom', 'Reads access and settings of the project.', '{PROJECT_USER_ACCESS_READ,PROJECT_SETTINGS_READ}', NULL)
) AS custom (name, type, description, permissions, environment);
INSERT INTO roles (name, type, description, created_at) SELECT name, type, description, pg_temp.ago(727, '09:10') FROM custom;
INSERT INTO role_permissions (role_id, permission, environment)
SELECT id, permission, environment FROM custom JOIN roles USING (name), unnest(permissions::text[]) AS permission;
INSERT INTO log (at, type, author, data)
SELECT created_at, 'role-created', 'nora.lindqvist',
       json_build_object('id', id, 'type', type, 'name', name, 'description', description, 'project', NULL, 'permissions', (
           SELECT json_agg(json_strip_nulls(json_build_object('name', permission, 'environment', environment)) ORDER BY permission)
             FROM role_permissions WHERE role_id = roles.id))
  FROM roles WHERE id > 5;

-- joined, left_at: days before today. diligence: the share of working days with a login. token: the signup token used.
CREATE TEMP TABLE staff (
    id integer, name text, key text, role text, joined integer, left_at integer, diligence float, token text, email text
) ON COMMIT DROP;
INSERT INTO staff (name, key, role, joined, left_at, diligence, token) VALUES
    ('Nora Lindqvist', 'nora.lindqvist', 'Admin', 729, NULL, 0.9, NULL), ('Tomasz Wójcik', 'tomasz.wojcik', 'Admin', 728, NULL, 0.7, NULL),
    ('Rasmus Berg', 'rasmus.berg', 'Editor', 728, 402, 0.5, NULL), ('Jonas Weber', 'jonas.weber', 'Editor', 727, NULL, 0.8, NULL),
    ('Priya Raman', 'priya.raman', 'Editor', 726, NULL, 0.7, NULL), ('Elif Yıldız', 'elif.yildiz', 'Editor', 726, NULL, 0.8, NULL),
    ('Anders Holm', 'anders.holm', 'Viewer', 725, NULL, 0.6, NULL), ('Ngozi Okafor', 'ngozi.okafor', 'Viewer', 722, NULL, 0.7, NULL),
    ('Beatriz Santos', 'beatriz.santos', 'Viewer', 718, 455, 0.5, NULL), ('CI pipeline', 'ci-pipeline', 'Viewer', 716, NULL, 0, 'none'),
    ('Terraform', 'terraform', 'Admin', 715, NULL, 0, 'none'), ('End-to-end tests', 'e2e-tests', 'Release Manager', 714, NULL, 0, 'none'),
    ('Gunnar Dahl', 'gunnar.dahl', 'Viewer', 705, NULL, 0.004, NULL), ('Yuki Tanaka', 'yuki.tanaka', 'Viewer', 701, NULL, 0.6, NULL),
    ('Mateo Fernández', 'mateo.fernandez', 'Editor', 668, NULL, 0.7, NULL), ('Pavel Novák', 'pavel.novak', 'Viewer', 640, 171, 0.5, NULL),
    ('Fatima Zahra', 'fatima.zahra', 'Viewer', 622, NULL, 0.5, NULL), ('Hana Kovács', 'hana.kovacs', 'Release Manager', 575, NULL, 0.8, NULL),
    ('Greta Vogel', 'greta.vogel', 'Viewer', 560, NULL, 0.01, NULL), ('Hugo Lefèvre', 'hugo.lefevre', 'Viewer', 541, NULL, 0.6, 'Spring intake'),
    ('Iris Papadaki', 'iris.papadaki', 'Viewer', 540, NULL, 0.5, 'Spring intake'), ('Ethan Cole', 'ethan.cole', 'Viewer', 538, 318, 0.4, 'Spring intake'),
    ('Aisha Bello', 'aisha.bello', 'Admin', 512, NULL, 0.5, NULL), ('Lars Madsen', 'lars.madsen', 'Viewer', 433, 205, 0.4, NULL),
    ('Katya Ivanova', 'katya.ivanova', 'Viewer', 420, NULL, 0.6, NULL), ('Chloé Martin', 'chloe.martin', 'Editor', 398, NULL, 0.7, NULL),
    ('Ruth Amsel', 'ruth.amsel', 'Viewer', 341, NULL, 0.005, NULL), ('Liam O''Connor', 'liam.oconnor', 'Viewer', 330, NULL, 0.6, NULL),
    ('Daiki Sato', 'daiki.sato', 'Editor', 240, NULL, 0.7, NULL), ('Zeynep Arslan', 'zeynep.arslan', 'Viewer', 188, NULL, 0.6, NULL),
    ('Arun Mehta', 'arun.mehta', 'Viewer', 64, NULL, 0.2, NULL), ('Sofia Rossi', 'sofia.rossi', 'Viewer', 28, NULL, 0.8, NULL),
    ('Leila Haddad', 'leila.haddad', 'Viewer', 12, NULL, 0.9, NULL);
UPDATE staff SET email = key || '@brightcart.example' WHERE token IS DISTINCT FROM 'none';
INSERT INTO users (account_type, name, username, email, root_role_id, created_at, deleted_at)
SELECT CASE WHEN email IS NULL THEN 'Service Account' ELSE 'User' END, staff.name, CASE WHEN token IS NULL OR token = 'none' THEN key END, email,
       roles.id, pg_temp.ago(joined, '08:10') + pg_temp.chance(key) * interval '1 hour', pg_temp.ago(left_at, '16:30')
  FROM staff JOIN roles ON roles.name = staff.role
 ORDER BY joined DESC, key;
UPDATE users SET created_at = date_trunc('milliseconds', created_at);
UPDATE staff SET id = users.id FROM users WHERE users.name = staff.name;
INSERT INTO log (at, type, author, data, pre_data)
SELECT at, CASE WHEN email IS NULL THEN 'service-account-' ELSE 'user-' END || change, author,
       CASE change WHEN 'created' THEN record END, CASE change WHEN 'deleted' THEN record END
  FROM (SELECT users.*, key, token,
               json_strip_nulls(json_build_object('id', id, 'name', name, 'username', username, 'email', users.email, 'rootRole', root_role_id)) AS record
          FROM users JOIN staff USING (id, name)) AS people
 CROSS JOIN LATERAL (VALUES
    (created_at, 'created', CASE WHEN name = 'Nora Lindqvist' THEN 'system' WHEN token <> 'none' THEN key ELSE 'nora.lindqvist' END),
    (deleted_at, 'deleted', 'tomasz.wojcik')) AS changes (at, change, author)
 WHERE at IS NOT NULL;

INSERT INTO signup_tokens (secret, name, created_at, expires_at, enabled, created_by)
SELECT replace(gen_random_uuid()::text, '-', ''), name, pg_temp.ago(created, '12:15'), pg_temp.ago(expires, '12:00'), enabled, 'nora.lindqvist@brightcart.example'
  FROM (VALUES ('Spring intake', 545, 515, true), ('Conference booth', 160, -200, false), ('New colleagues', 20, -180, true)) AS tokens (name, created, expires, enabled);
INSERT INTO signup_token_users (token_id, user_id, created_at)
SELECT signup_tokens.id, users.id, users.created_at
  FROM staff JOIN signup_tokens ON signup_tokens.name = token JOIN users ON users.id = staff.id;
INSERT INTO log (at, type, author, data, pre_data)
SELECT at, 'public-signup-token-' || change, 'nora.lindqvist', data, pre_data
  FROM signup_tokens
 CROSS JOIN LATERAL (SELECT json_build_object('id', id, 'name', name, 'enabled', true, 'expiresAt', iso(expires_at)) AS new,
                            json_build_object('id', id, 'name', name, 'enabled', false, 'expiresAt', iso(expires_at)) AS disabled) AS records
 CROSS JOIN LATERAL (VALUES (created_at, 'created', new, NULL),
                            (CASE WHEN NOT enabled THEN created_at + interval '10 days' END, 'updated', disabled, new)) AS changes (at, change, data, pre_data)
 WHERE at IS NOT NULL
 UNION ALL
SELECT used.created_at, 'public-signup-token-user-added', key, json_build_object('id', tokens.id, 'name', tokens.name, 'userId', user_id), NULL
  FROM signup_token_users AS used JOIN signup_tokens AS tokens ON tokens.id = token_id JOIN staff ON staff.id = user_id;

INSERT INTO groups (name, description, root_role_id, mappings_sso, created_by, created_at)
SELECT groups.name, groups.description, roles.id, mappings::text[], 'tomasz.wojcik@brightcart.example', pg_temp.ago(created, '13:05')
  FROM (VALUES ('Platform engineering', 'What everything else runs on.', 660, 'Editor', '{okta:platform}'),
               ('On-call', 'The people with the pager.', 570, 'Release Manager', '{okta:on-call,pagerduty:primary}'),
               ('Growth', 'Experiments, from the idea to the numbers.', 655, NULL, '{}')) AS groups (name, description, created, role, mappings)
  LEFT JOIN roles ON roles.name = role;
INSERT INTO group_users (group_id, user_id, created_at, created_by, position)
SELECT groups.id, staff.id, created_at, created_by, row_number() OVER (PARTITION BY groups.id ORDER BY staff.id)
  FROM groups
  JOIN staff ON left_at IS NULL AND pg_temp.ago(joined) < created_at
            AND key = ANY(CASE groups.name WHEN 'Growth' THEN '{elif.yildiz,priya.raman,yuki.tanaka}'
                                           WHEN 'On-call' THEN '{jonas.weber,ngozi.okafor,hana.kovacs}' ELSE '{jonas.weber,anders.holm}' END::text[]);
INSERT INTO log (at, type, author, data)
SELECT created_at, 'group-created', 'tomasz.wojcik',
       json_build_object('id', id, 'name', name, 'description', description, 'mappingsSSO', mappings_sso, 'rootRole', root_role_id,
                         'users', (SELECT json_agg(user_id ORDER BY user_id) FROM group_users WHERE group_id = id))
  FROM groups;

-- Step: Projects
INSERT INTO environments (name, type, sort_order, created_at) VALUES
    ('qa', 'test', 1, pg_temp.ago(728, '10:10')), ('staging', 'preproduction', 1, pg_temp.ago(728, '10:11'));
INSERT INTO tag_types (name, description, created_at) VALUES ('team', 'The team that owns the flag.', pg_temp.ago(730, '09:00'));
INSERT INTO tags (type, value)
SELECT CASE WHEN number <= 4 THEN 'team' ELSE 'simple' END, value
  FROM unnest('{growth,platform,mobile,money,black-friday,gdpr,q3-goal,tech-debt,höst-kampanj}'::text[]) WITH ORDINALITY AS words (value, number);
INSERT INTO context_fields (name, description, created_at) VALUES
    ('country', 'Where the customer''s parcels go, as ISO 3166-1 alpha-2.', pg_temp.ago(728, '12:10')),
    ('appVersion', 'The version of the app, as the store shows it.', pg_temp.ago(728, '12:11')),
    ('email', 'The customer''s e-mail address.', pg_temp.ago(728, '12:12')),
    ('basketValue', 'What is in the basket, in euros.', pg_temp.ago(728, '12:13'));
UPDATE context_fields
   SET legal_values = (SELECT json_agg(json_build_object('value', code, 'description', name))
                         FROM (VALUES ('NO', 'Norway'), ('SE', 'Sweden'), ('DK', 'Denmark'), ('FI', 'Finland'), ('DE', 'Germany'), ('AT', 'Austria'),
                                      ('CH', 'Switzerland'), ('NL', 'Netherlands'), ('PL', 'Poland'), ('PT', 'Portugal')) AS countries (code, name))
 WHERE name = 'country';
INSERT INTO log (at, type, author, environment, data)
SELECT created_at, 'environment-created', 'nora.lindqvist', name,
       json_build_object('name', name, 'type', type, 'enabled', enabled, 'protected', protected, 'sortOrder', sort_order)
  FROM environments WHERE name IN ('qa', 'staging')
 UNION ALL
SELECT created_at, 'context-field-created', 'tomasz.wojcik', NULL,
       json_build_object('name', name, 'description', description, 'stickiness', stickiness, 'sortOrder', sort_order, 'legalValues', legal_values,
                         'createdAt', iso(created_at))
  FROM context_fields WHERE sort_order = 10;

-- flags: their number. team: key:role:days before today[:until]. The first member of a team created the project.
CREATE TEMP TABLE plans (
    id text, name text, description text, mode text, stickiness text, created integer, archived integer, prefix text, flags integer, traffic integer,
    apps text[], subjects text[], team text, environments text[], feature_limit integer
) ON COMMIT DROP;
INSERT INTO plans VALUES
    ('checkout', 'Checkout', 'From the basket to the confirmation: the pages that earn the money.', 'open', 'default', 720, NULL, 'checkout', 78, 240000, '{web-shop,mobile-shop}',
     '{one-page,gift-cards,express-pay,address-form,basket-drawer,coupon-field,guest-order,order-summary,delivery-slots,tax-display,saved-cards}',
     'elif.yildiz:Owner:719 anders.holm:Member:719 rasmus.berg:Member:717:402 beatriz.santos:Member:700:455 yuki.tanaka:Member:690 hugo.lefevre:Member:520'
     ' lars.madsen:Member:428:205 chloe.martin:Member:380 zeynep.arslan:Member:175 greta.vogel:Auditor:150 sofia.rossi:Member:26 leila.haddad:Member:9'
     ' Growth:Member:610 On-call:Incident_Responder:560'),
    ('search', 'Search', 'Finding things: index, ranking and suggestions.', 'open', 'sessionId', 718, NULL, 'search', 64, 410000, '{web-shop,search-api}',
     '{typo-tolerance,synonyms,facets,autosuggest,voice-query,image-search,zero-results,price-filter,semantic-index}',
     'priya.raman:Owner:717 pavel.novak:Member:630:171 iris.papadaki:Member:530 katya.ivanova:Member:410 daiki.sato:Member:233 Growth:Member:500'),
    ('mobile-app', 'Mobile app', 'The shop on iOS and Android.', 'open', 'userId', 716, NULL, 'mobile', 70, 180000, '{ios-app,android-app}',
     '{biometrics,dark-mode,offline-basket,push-prompts,barcode-scan,home-feed,deep-links,widgets,photo-reviews,tab-bar}',
     'ngozi.okafor:Owner:715 jonas.weber:Member:714 fatima.zahra:Member:610 ethan.cole:Member:530:318 liam.oconnor:Member:321 On-call:Incident_Responder:550'),
    ('payments-core', 'Payments core', 'Cards, refunds, ledgers. Only for those who need it.', 'private', 'default', 712, NULL, 'pay', 60, 90000, '{payment-service}',
     '{ledger-writes,refunds,three-d-secure,sepa-debits,card-vault,fx-rates,fraud-rules,invoice-numbers,chargebacks}',
     'tomasz.wojcik:Owner:711 jonas.weber:Owner:705 rasmus.berg:Member:700:402 yuki.tanaka:Member:610 aisha.bello:Owner:505 hana.kovacs:Member:490'
     ' greta.vogel:Auditor:330 zeynep.arslan:Member:92 hana.kovacs:Reviewer:9 On-call:Incident_Responder:555'),
    ('recommendations', 'Recommendations', 'What others bought, and what you might want.', 'protected', 'userId', 640, NULL, 'rec', 50, 310000, '{recommender,web-shop}',
     '{similar-items,bundles,recently-viewed,trending,email-picks,cold-start,price-drops,seasonal-boost,embeddings}',
     'mateo.fernandez:Owner:639 priya.raman:Member:630 iris.papadaki:Member:500 daiki.sato:Owner:220 sofia.rossi:Member:20 Growth:Member:480:140'),
    ('identity', 'Identity', 'Sign-in, sessions and consent.', 'private', 'default', 560, NULL, 'id', 44, 150000, '{identity-provider}',
     '{passkeys,magic-links,session-rotation,captcha,social-login,device-list,password-meter,consent-banner}',
     'tomasz.wojcik:Owner:559 hana.kovacs:Owner:548 ngozi.okafor:Member:530 chloe.martin:Member:300 Platform_engineering:Member:550 ruth.amsel:Member:320:140'),
    ('gift-registry', 'Gift registry', 'Lists for weddings and births. Just begun.', 'open', 'userId', 16, NULL, 'registry', 3, 0, '{}',
     '{shared-lists,thank-you-notes,group-gifts}', 'sofia.rossi:Owner:15 yuki.tanaka:Member:12 arun.mehta:Member:10'),
    ('legacy-web', 'Legacy web shop', 'The shop before the great rewrite.', 'open', 'default', 724, 236, 'legacy', 14, 35000, '{legacy-shop}',
     '{old-header,jquery-removal,flash-banner,cookie-wall}', 'jonas.weber:Owner:723 rasmus.berg:Member:722:402');
UPDATE plans SET feature_limit = CASE WHEN flags > 50 THEN flags + 20 END,
                 environments = CASE WHEN flags > 50 THEN '{development,qa,staging,production}' ELSE '{development,staging,production}' END::text[];
INSERT INTO projects (id, name, description, mode, default_stickiness, feature_limit, naming_pattern, naming_example, naming_description,
                      created_at, updated_at, archived_at)
SELECT id, name, description, mode, stickiness, feature_limit,
       CASE WHEN mode = 'private' THEN '^' || prefix || '-[a-z0-9-]+$' END, CASE WHEN mode = 'private' THEN prefix || '-' || subjects[1] END,
       CASE WHEN mode = 'private' THEN 'Begins with ' || prefix || ', because the log search greps for it.' END,
       pg_temp.ago(created, '09:40'), coalesce(pg_temp.ago(archived, '15:00'), pg_temp.ago(created - 4, '11:20')), pg_temp.ago(archived, '15:00')
  FROM plans;
INSERT INTO project_environments (project_id, environment, required_approvals, default_strategy, created_at)
SELECT id, environment, CASE WHEN id = 'payments-core' AND environment = 'production' THEN 1 END, CASE WHEN feature_limit > 0 AND environment = 'production' THEN
           json_build_object('name', 'flexibleRollout', 'title', 'Bit by bit', 'disabled', false, 'sortOrder', 0, 'constraints', '[]'::json, 'variants', '[]'::json,
                             'parameters', json_build_object('rollout', '10', 'stickiness', stickiness, 'groupId', id), 'segments', '[]'::json) END,
       pg_temp.ago(created, '09:40')
  FROM plans, unnest(environments) AS environment;

-- Project members: one row for each user or group.
CREATE TEMP TABLE team ON COMMIT DROP AS
SELECT plans.id AS project, staff.id AS user_id, staff.key, groups.id AS group_id, roles.id AS role_id, roles.name IN ('Owner', 'Member') AS works,
       pg_temp.ago(word[3]::integer, '10:30') AS since, pg_temp.ago(word[4]::integer, '16:30') AS until, staff.left_at = word[4]::integer AS left_company
  FROM plans
 CROSS JOIN LATERAL (SELECT string_to_array(replace(entry, '_', ' '), ':') FROM string_to_table(team, ' ') AS entry) AS words (word)
  LEFT JOIN staff ON staff.key = word[1]
  LEFT JOIN groups ON groups.name = word[1]
  JOIN roles ON roles.name = word[2];
INSERT INTO project_user_roles (project_id, user_id, role_id, created_at)
SELECT project, user_id, role_id, since FROM team WHERE user_id IS NOT NULL AND until IS NULL;
INSERT INTO project_group_roles (project_id, group_id, role_id, created_at)
SELECT project, group_id, role_id, since FROM team WHERE group_id IS NOT NULL AND until IS NULL;
INSERT INTO past_project_user_roles SELECT project, user_id, role_id, since, until FROM team WHERE user_id IS NOT NULL AND until IS NOT NULL;
INSERT INTO past_project_group_roles SELECT project, group_id, role_id, since, until FROM team WHERE group_id IS NOT NULL AND until IS NOT NULL;
INSERT INTO project_favorites (project_id, user_id, created_at)
SELECT project, user_id, since + interval '2 hours' FROM team WHERE works AND until IS NULL AND user_id % 3 = 0;

CREATE FUNCTION pg_temp.project(plan plans, description text) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', plan.id, 'name', plan.name, 'description', description, 'mode', plan.mode, 'defaultStickiness', plan.stickiness,
                             'featureLimit', plan.feature_limit, 'environments', plan.environments, 'changeRequestEnvironments', '[]'::json) $$;
INSERT INTO log (at, type, author, project, environment, data, pre_data)
SELECT at, type, split_part(plans.team, ':', 1), plans.id, NULL, data, pre_data
  FROM plans
 CROSS JOIN LATERAL (SELECT pg_temp.project(plans, NULL) AS new, pg_temp.project(plans, description) AS described) AS records
 CROSS JOIN LATERAL (VALUES (pg_temp.ago(created, '09:40'), 'project-created', new, NULL),
                            (pg_temp.ago(created - 4, '11:20'), 'project-updated', described, new),
                            (pg_temp.ago(archived, '15:00'), 'project-archived', NULL, NULL)) AS changes (at, type, data, pre_data)
 WHERE at IS NOT NULL
 UNION ALL
SELECT created_at + interval '30 hours', 'default-strategy-updated', NULL, project_id, environment, default_strategy, NULL
  FROM project_environments WHERE default_strategy IS NOT NULL
 UNION ALL
SELECT since, 'project-access-added', 'nora.lindqvist', project, NULL,
       json_build_object('roles', json_build_array(json_build_object('roleId', role_id,
           'userIds', array_remove(ARRAY[user_id], NULL), 'groupIds', array_remove(ARRAY[group_id], NULL)))), NULL
  FROM team
 UNION ALL
SELECT until, CASE WHEN user_id IS NULL THEN 'project-access-group-roles-deleted' ELSE 'project-access-user-roles-deleted' END,
       'nora.lindqvist', project, NULL, NULL,
       json_strip_nulls(json_build_object('roles', ARRAY[role_id], 'userId', user_id, 'groupId', group_id))
  FROM team WHERE until IS NOT NULL AND left_company IS NOT TRUE  -- a deleted user leaves projects without an event
 UNION ALL
SELECT created_at, 'project-favorited', key, project_id, NULL, json_build_object('project', project_id), NULL FROM project_favorites JOIN staff ON id = user_id;

-- Step: Flags
CREATE FUNCTION pg_temp.days(key text, low numeric, high numeric) RETURNS interval LANGUAGE sql IMMUTABLE AS
    $$ SELECT (low + pg_temp.chance(key) * (high - low)) * interval '1 day' $$;
CREATE FUNCTION pg_temp.happened(instant timestamptz, ending timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT CASE WHEN instant < ending THEN pg_temp.working(instant) END $$;
INSERT INTO segments (name, description, project_id, created_by, created_at, constraints)
SELECT name, description, project, 'tomasz.wojcik@brightcart.example', pg_temp.ago(created, '14:10'),
       json_build_array(json_build_object('contextName', field, 'operator', operator, 'values', value, 'inverted', false, 'caseInsensitive', false))
  FROM (VALUES ('Nordics', 'Where it all began.', NULL, 705, 'country', 'IN', '{DK,FI,NO,SE}'::text[]),
               ('Staff', 'Everybody with a Brightcart address.', NULL, 703, 'email', 'STR_ENDS_WITH', '{@brightcart.example}'),
               ('Süddeutschland-Pilot', 'Café Zürich and its neighbors.', NULL, 500, 'country', 'IN', '{AT,CH,DE}'),
               ('Card testers', 'Baskets that test stolen cards.', 'payments-core', 430, 'email', 'STR_CONTAINS', '{+4111,.cards}'))
    AS segments (name, description, project, created, field, operator, value);
INSERT INTO log (at, type, author, project, data)
SELECT created_at, 'segment-created', 'tomasz.wojcik', project_id,
       json_strip_nulls(json_build_object('id', id, 'name', name, 'description', description, 'project', project_id, 'constraints', constraints,
                                          'createdBy', created_by, 'createdAt', iso(created_at)))
  FROM segments;
CREATE TEMP TABLE targets ON COMMIT DROP AS
SELECT row_number() OVER () AS number, json_build_object('contextName', field, 'operator', operator, 'values', coalesce(several, '{}'), 'inverted', false,
                                                         'caseInsensitive', operator LIKE 'STR%')::jsonb || jsonb_strip_nulls(jsonb_build_object('value', single)) AS target
  FROM (VALUES ('country', 'IN', '{DK,FI,NO,SE}'::text[], NULL), ('appVersion', 'SEMVER_GT', NULL, '5.0.0'), ('email', 'STR_ENDS_WITH', '{@brightcart.example}', NULL),
               ('basketValue', 'NUM_GTE', NULL, '100'), ('country', 'NOT_IN', '{PL,PT}', NULL), ('currentTime', 'DATE_AFTER', NULL, iso(pg_temp.ago(400))),
               ('email', 'STR_STARTS_WITH', '{qa+,test+}', NULL), ('basketValue', 'NUM_LT', NULL, '2500')) AS constraints (field, operator, several, single);

-- The life of each flag: times in order, null if the step has not happened. words: its descriptions over time.
CREATE TEMP TABLE lives ON COMMIT DROP AS
WITH names AS (
    SELECT plans.*, prefix || '-' || subject || suffix AS flag, type, replace(subject, '-', ' ') AS it,
           row_number() OVER (PARTITION BY id ORDER BY kind, place) AS number
      FROM plans, unnest(subjects) WITH ORDINALITY AS subjects (subject, place),
           (VALUES (1, 'release', ''), (2, 'kill-switch', '-kill-switch'), (3, 'experiment', '-copy-test'), (4, 'release', '-redesign'),
                   (5, 'operational', '-to-postgres'), (6, 'permission', '-early-access'), (7, 'experiment', '-placement-test'), (8, 'sunset', '-old-api')) AS kinds (kind, type, suffix)
), born AS (
    SELECT *, type IN ('operational', 'kill-switch') AS is_quick, type IN ('kill-switch', 'permission') AS is_kept,
           coalesce(pg_temp.ago(archived) - pg_temp.days(flag || 'gone', 2, 9), pg_temp.today()) AS ending,
           CASE flag WHEN 'checkout-one-page' THEN pg_temp.ago(26) WHEN 'checkout-express-pay' THEN pg_temp.ago(88)
                ELSE pg_temp.ago(created - 4) + (pg_temp.ago(coalesce(archived + 30, 0)) - pg_temp.ago(created - 4))
                     * (row_number() OVER (PARTITION BY id ORDER BY pg_temp.chance(flag)) - pg_temp.chance(flag || 'born')) / flags END AS born
      FROM names WHERE number <= flags
), tried AS (
    SELECT *, born + pg_temp.days(flag || 'dev', 0.1, 2) AS development, born + pg_temp.days(flag || 'qa', 2, 4) AS qa, born + pg_temp.days(flag || 'staging', 2, 6) AS staging,
           born + CASE WHEN flag = 'checkout-one-page' THEN interval '12 days'
                       WHEN is_kept OR pg_temp.chance(flag || 'never') > 0.1 THEN pg_temp.days(flag || 'live', 6, CASE WHEN is_quick THEN 9 ELSE 28 END) END AS production,
           CASE WHEN is_quick OR type = 'permission' THEN '{100}' WHEN flag = 'pay-fraud-rules-redesign' THEN '{25}' ELSE pg_temp.choose(flag || 'rollout', '{"{5,25,50,100}","{1,10,30,60,100}","{20,100}","{50}"}'::text[]) END::integer[] AS rollouts,
           pg_temp.days(flag || 'pace', 2, 5) AS pace
      FROM born
), marked AS (
    SELECT *, coalesce(production + cardinality(rollouts) * pace, staging) + pg_temp.days(flag || 'stale', 10, 40) AS stale,
           NOT is_kept AND pg_temp.chance(flag || 'marked') < 0.4 AS is_marked, pg_temp.chance(flag || 'unmarked') < 0.3 AS is_unmarked
      FROM tried
), ended AS (
    SELECT *, CASE WHEN flag = 'checkout-express-pay' THEN pg_temp.ago(12)
                   WHEN is_kept AND pg_temp.chance(flag || 'kept') > 0.25 THEN NULL ELSE stale + pg_temp.days(flag || 'archive', 17, 60)
                   + CASE WHEN is_kept OR pg_temp.chance(flag || 'forgotten') < 0.12 THEN interval '200 days' ELSE '0' END END AS gone,
           pg_temp.chance(flag || 'revived') < 0.08 AND archived IS NULL AS is_revived
      FROM marked
), cut AS (
    SELECT *, least(gone, ending) AS until, CASE WHEN archived IS NOT NULL THEN least(gone, ending) ELSE gone END AS first_gone FROM ended
)
SELECT id AS project, flag, type, stickiness, apps, environments, traffic, rollouts, until,
       pg_temp.happened(born, ending) AS born, pg_temp.happened(development, until) AS development, pg_temp.happened(qa, until) AS qa,
       pg_temp.happened(staging, until) AS staging, pg_temp.happened(production, until) AS production,
       ARRAY(SELECT pg_temp.happened(production + step * pace, until) FROM generate_series(0, cardinality(rollouts) - 1) AS step) AS rollout_times,
       CASE WHEN is_marked THEN pg_temp.happened(stale, until) END AS stale,
       CASE WHEN is_marked AND is_unmarked THEN pg_temp.happened(stale + interval '8 days', until) END AS unstale,
       pg_temp.happened(first_gone, pg_temp.ago(coalesce(archived, 0), '0:00')) AS archived,
       CASE WHEN is_revived THEN pg_temp.happened(gone + interval '6 days', ending) END AS revived,
       CASE WHEN is_revived THEN pg_temp.happened(gone + interval '30 days', ending) END AS archived_again,
       CASE WHEN flag = 'checkout-one-page' THEN ARRAY['One page instead of four steps.', 'One page instead of four steps. Tried out at Café Zürich; ask Elif before you change it.']
            ELSE (ARRAY['Rollout of ' || it || '.', upper(left(it, 1)) || substr(it, 2) || ': see the runbook.', 'Ask the team before you change ' || it || '.', upper(left(it, 1)) || substr(it, 2) || ', tested with research in Malmö.']
                 )[1 + floor(pg_temp.chance(flag || 'from') * 2):2 + floor(pg_temp.chance(flag || 'to') * 3)] END AS words
  FROM cut;
DELETE FROM lives WHERE born IS NULL;
CREATE TEMP TABLE descriptions ON COMMIT DROP AS
SELECT flag, number, CASE number WHEN 1 THEN born ELSE pg_temp.happened(born + (number - 1) * interval '9 days', least(until, stale)) END AS at, word
  FROM lives, unnest(words) WITH ORDINALITY AS descriptions (word, number);
DELETE FROM descriptions WHERE at IS NULL;

INSERT INTO flags (name, project_id, type, description, impression_data, created_at, created_by_user_id, stale_since, archived_at, first_in_production_at)
SELECT flag, project, type, (SELECT word FROM descriptions WHERE descriptions.flag = lives.flag ORDER BY number DESC LIMIT 1), type = 'experiment', born,
       coalesce((SELECT user_id FROM team WHERE team.project = lives.project AND works AND since <= born AND (until IS NULL OR until > born) AND user_id IS NOT NULL
                  ORDER BY pg_temp.chance(flag || user_id) LIMIT 1), (SELECT id FROM staff WHERE key = 'nora.lindqvist')),
       CASE WHEN unstale IS NULL THEN stale END, CASE WHEN revived IS NULL OR archived_again IS NOT NULL THEN coalesce(archived_again, archived) END, production
  FROM lives ORDER BY born, flag;
INSERT INTO past_flag_states SELECT id, 'stale', stale, unstale FROM lives JOIN flags ON name = flag WHERE unstale IS NOT NULL
 UNION ALL SELECT id, 'archived', archived, revived FROM lives JOIN flags ON name = flag WHERE revived IS NOT NULL;
CREATE TEMP TABLE places ON COMMIT DROP AS
SELECT flags.id, lives.*, environment, since, archived IS NULL OR (revived IS NOT NULL AND archived_again IS NULL AND environment = 'development') AS is_on
  FROM lives JOIN flags ON name = flag
 CROSS JOIN LATERAL (VALUES ('development', development), ('qa', qa), ('staging', staging), ('production', production)) AS places (environment, since)
 WHERE environment = ANY(environments);
INSERT INTO flag_environments (flag_id, environment, enabled) SELECT id, environment, is_on AND since IS NOT NULL FROM places;
DELETE FROM places WHERE since IS NULL;

-- rollouts and times: the rollout percentages of each strategy, and when each began.
CREATE TEMP TABLE rules ON COMMIT DROP AS
SELECT CASE WHEN flag = 'checkout-one-page' AND environment = 'production' AND number = 1 THEN '6e1b8d2c-4a7f-4f6e-9c1d-2b5a3c4d5e6f'
            ELSE (lpad(to_hex(hashtextextended(key, 1)), 16, '0') || lpad(to_hex(hashtextextended(key, 2)), 16, '0'))::uuid::text END AS id,
       places.id AS flag_id, flag, project, environment, stickiness, number - 1 AS sort_order, kind, title,
       number = 2 AND is_disabled AND flag <> 'checkout-one-page' AS disabled, parameters, since + (number - 2) * interval '7 minutes' AS at,
       CASE WHEN number = 2 THEN '[]'::json ELSE (
           SELECT coalesce(json_agg(target), '[]') FROM targets WHERE type <> 'kill-switch' AND (targets.number + id) % 8 = 0 AND environment <> 'qa') END AS constraints,
       CASE WHEN number = 1 AND pg_temp.chance(key || 'segment') < 0.2 THEN ARRAY(SELECT segments.id FROM segments WHERE project_id IS NULL AND created_at < since ORDER BY pg_temp.chance(key || name) LIMIT 1) ELSE '{}' END AS segments,
       CASE WHEN number = 1 AND (type = 'experiment' OR flag = 'checkout-one-page') THEN pg_temp.choose(flag, ARRAY['{"type":"csv","value":"card,wallet"}', '{"type":"json","value":"{\"columns\":2}"}',
                                                                                       '{"type":"number","value":"12"}', '{"type":"string","value":"Köp nu"}']) END AS payload,
       CASE WHEN number = 2 THEN '{100}' WHEN environment = 'production' THEN rollouts
            WHEN environment = 'development' THEN ARRAY(SELECT pg_temp.choose(flag || step, '{1,5,10,25,33,50,75}'::integer[]) + step % 2 FROM generate_series(1, 12) AS step) ELSE '{100}' END AS rollouts,
       CASE WHEN number = 2 THEN '{}' WHEN environment = 'production' THEN rollout_times
            WHEN environment = 'development' THEN ARRAY(SELECT pg_temp.happened(since + step * pg_temp.days(flag || 'tries', 3, 30), until) FROM generate_series(0, 11) AS step) ELSE '{}' END AS times
  FROM places
 CROSS JOIN generate_series(1, 2) AS number
 CROSS JOIN LATERAL (SELECT flag || environment || number AS key) AS keys
 CROSS JOIN LATERAL (SELECT * FROM (VALUES (1, 'flexibleRollout', NULL, NULL, false), (2, 'default', 'Everybody', '{}', true),
                                           (2, 'userWithId', 'The team itself', '{"userIds":"10417,20881"}', false),
                                           (2, 'remoteAddress', 'The office', '{"IPs":"192.0.2.0/24"}', false)) AS kinds (place, kind, title, parameters, is_disabled)
                      WHERE place = number ORDER BY pg_temp.chance(key || kind) LIMIT 1) AS chosen
 WHERE number = 1 OR flag = 'checkout-one-page' OR pg_temp.chance(key) < 0.25;
CREATE FUNCTION pg_temp.record(rule rules, step integer) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', rule.id, 'name', rule.kind, 'title', rule.title, 'disabled', rule.disabled, 'featureName', rule.flag, 'sortOrder', rule.sort_order,
        'constraints', rule.constraints, 'variants', CASE WHEN rule.payload IS NULL THEN '[]' ELSE (
            SELECT json_agg(json_build_object('name', name, 'weight', 500, 'weightType', 'variable', 'stickiness', rule.stickiness,
                                              'payload', rule.payload::json)) FROM unnest('{control,treatment}'::text[]) AS name) END,
        'parameters', coalesce(rule.parameters::json, json_build_object('rollout', rule.rollouts[step]::text, 'groupId', rule.flag, 'stickiness', rule.stickiness)),
        'segments', rule.segments) $$;
INSERT INTO strategies (id, flag_id, environment, name, title, disabled, sort_order, parameters, constraints, created_at)
SELECT rules.id, flag_id, environment, kind, title, disabled, sort_order, record -> 'parameters', constraints, at
  FROM rules, pg_temp.record(rules, greatest(1, cardinality(array_remove(times, NULL)))) AS record;
INSERT INTO strategy_segments SELECT id, unnest(segments) FROM rules;
INSERT INTO variants (flag_id, environment, strategy_id, name, weight, stickiness, payload_type, payload_value)
SELECT flag_id, environment, id, unnest('{control,treatment}'::text[]), 500, stickiness, payload::json ->> 'type', payload::json ->> 'value' FROM rules WHERE payload IS NOT NULL;
INSERT INTO flag_dependencies (child_id, parent_id, created_at)
SELECT child.id, parent.id, greatest(child.created_at, parent.created_at) + interval '1 hour'
  FROM flags AS child JOIN flags AS parent ON child.name = replace(parent.name, '-kill-switch', '-early-access')
 WHERE child.id <> parent.id AND child.archived_at IS NULL AND parent.archived_at IS NULL;
INSERT INTO flag_favorites (user_id, flag_id, created_at)
SELECT user_id, id, at
  FROM flags JOIN team ON team.project = project_id AND works AND team.until IS NULL AND user_id IS NOT NULL AND archived_at IS NULL,
       pg_temp.happened(greatest(created_at, since) + interval '20 hours', pg_temp.today()) AS at
 WHERE at IS NOT NULL AND pg_temp.chance(name || user_id) < 0.05;
CREATE TEMP TABLE tagged ON COMMIT DROP AS
SELECT id, name AS flag, two.type, value, since, CASE WHEN pg_temp.chance(name || value) > 0.8 THEN pg_temp.happened(since + pg_temp.days(name || value || 'untag', 5, 150), lives.until) END AS until
  FROM flags JOIN lives ON flag = name CROSS JOIN LATERAL (SELECT tags.type, value FROM tags ORDER BY pg_temp.chance(name || value) LIMIT 2) AS two,
       LATERAL (SELECT born + pg_temp.chance(name || value) * interval '20 minutes' AS since) AS instants;
CREATE INDEX ON tagged (flag);
INSERT INTO flag_tags (flag_id, type, value, created_at) SELECT id, type, value, since FROM tagged WHERE until IS NULL;

-- Step: Log of flags
CREATE FUNCTION pg_temp.core(flag text, word text) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('name', name, 'type', type, 'description', word, 'project', project_id, 'stale', false, 'impressionData', impression_data,
                             'archived', false, 'createdAt', iso(created_at), 'lastSeenAt', NULL, 'archivedAt', NULL) FROM flags WHERE name = flag $$;
INSERT INTO log (at, type, author, project, feature, data, pre_data)
SELECT at, CASE number WHEN 1 THEN 'feature-created' ELSE 'feature-metadata-updated' END, CASE number WHEN 1 THEN key END, project_id, flag, data, pre_data
  FROM (SELECT flag, number, at, key, project_id, pg_temp.core(flag, word) AS data,
               CASE WHEN number > 1 THEN pg_temp.core(flag, lag(word) OVER (PARTITION BY flag ORDER BY number)) END AS pre_data
          FROM descriptions JOIN flags ON flags.name = flag JOIN staff ON staff.id = created_by_user_id) AS versions;
INSERT INTO flag_links (flag_id, url, title)
SELECT id, 'https://issues.brightcart.example/' || upper(project_id) || '-' || id, 'Issue' FROM flags WHERE archived_at IS NULL AND id % 5 = 0 ORDER BY id;
INSERT INTO log (at, type, author, project, feature, data)
SELECT flags.created_at + interval '3 minutes', 'feature-link-added', key, project_id, flags.name, json_build_object('url', url, 'title', title)
  FROM flag_links JOIN flags ON flags.id = flag_id JOIN staff ON staff.id = created_by_user_id;
INSERT INTO log (at, type, author, project, feature, data)
SELECT at, changes.type, NULL, project, flag, NULL::json
  FROM lives CROSS JOIN LATERAL (VALUES (stale, 'feature-stale-on'), (unstale, 'feature-stale-off'), (archived, 'feature-archived'),
                                        (revived, 'feature-revived'), (archived_again, 'feature-archived')) AS changes (at, type)
 WHERE at IS NOT NULL
 UNION ALL
SELECT at, 'feature-potentially-stale-on', 'system', project, flag, json_build_object('type', type, 'lifetimeDays', lifetime_days)
  FROM lives JOIN flag_types ON flag_types.id = type
 CROSS JOIN LATERAL (SELECT date_trunc('day', born, 'UTC') + (lifetime_days + 1) * interval '1 day' + interval '3 hours' AS at) AS old
 WHERE at < least(archived, stale, pg_temp.today());
INSERT INTO log (at, type, author, project, environment, feature, data, pre_data)
SELECT since, 'feature-environment-enabled', NULL, project, environment, flag, NULL::json, NULL::json FROM places
 UNION ALL
SELECT revived + interval '5 minutes', 'feature-environment-enabled', NULL, project, environment, flag, NULL, NULL FROM places WHERE environment = 'development' AND revived IS NOT NULL
 UNION ALL
SELECT at, 'feature-strategy-add', NULL, project, environment, flag, pg_temp.record(rules, 1), NULL FROM rules
 UNION ALL
SELECT times[step], 'feature-strategy-update', NULL, project, environment, flag, pg_temp.record(rules, step), pg_temp.record(rules, step - 1)
  FROM rules, generate_subscripts(times, 1) AS step WHERE step > 1 AND times[step] IS NOT NULL
 UNION ALL
SELECT since, 'feature-tagged', NULL, project_id, NULL, flag, json_build_object('type', tagged.type, 'value', value), NULL FROM tagged JOIN flags USING (id)
 UNION ALL
SELECT until, 'feature-untagged', NULL, project_id, NULL, flag, NULL, json_build_object('type', tagged.type, 'value', value) FROM tagged JOIN flags USING (id) WHERE until IS NOT NULL
 UNION ALL
SELECT flag_favorites.created_at, 'feature-favorited', key, project_id, NULL, flags.name, json_build_object('feature', flags.name), NULL
  FROM flag_favorites JOIN flags ON flags.id = flag_id JOIN staff ON staff.id = user_id
 UNION ALL
SELECT flag_dependencies.created_at, 'feature-dependency-added', NULL, child.project_id, NULL, child.name, json_build_object('feature', parent.name, 'enabled', true), NULL
  FROM flag_dependencies JOIN flags AS child ON child.id = child_id JOIN flags AS parent ON parent.id = parent_id;
-- Nightly tests disable and enable flags, and incidents trigger kill switches.
INSERT INTO log (at, type, author, project, environment, feature)
SELECT off + CASE WHEN is_back THEN away ELSE '0' END, 'feature-environment-' || CASE WHEN is_back THEN 'enabled' ELSE 'disabled' END, author, project, environment, flag
  FROM places
 CROSS JOIN LATERAL (
    SELECT night + interval '2 hours' + pg_temp.chance(flag || night) * interval '50 minutes', interval '4 minutes', 'e2e-tests'
      FROM generate_series(date_trunc('day', since, 'UTC') + interval '1 day', least(archived, pg_temp.today()) - interval '1 day', '1 day') AS night
     WHERE environment IN ('development', 'qa') AND night > pg_temp.ago(712) AND pg_temp.chance(night || environment || flag) < 0.1
     UNION ALL
    SELECT day + pg_temp.days(day || flag, 1, 60), pg_temp.days(flag || day, 0.01, 0.3), NULL
      FROM generate_series(since + interval '9 days', least(archived, pg_temp.today()) - interval '62 days', '90 days') AS day
     WHERE environment = 'production' AND type = 'kill-switch') AS switched (off, away, author)
 CROSS JOIN unnest('{false,true}'::boolean[]) AS is_back;

-- Change requests in production of payments-core. What the first one did is in the log already. applied: when.
CREATE TEMP TABLE asked ON COMMIT DROP AS
SELECT title, author, coalesce(sent, pg_temp.working(applied - interval '1 day')) AS sent, applied
  FROM (SELECT times[4] AS applied FROM rules WHERE flag = 'pay-card-vault-redesign' AND environment = 'production' AND sort_order = 0) AS vault,
       (VALUES ('New card vault for everybody', 'zeynep.arslan', NULL), ('Fraud rules from PostgreSQL', 'jonas.weber', pg_temp.working(pg_temp.ago(3.4))),
               ('End of early access', 'yuki.tanaka', pg_temp.working(pg_temp.ago(2.4))),
               ('New fraud rules for half of the customers', 'zeynep.arslan', pg_temp.working(pg_temp.ago(1.2)))) AS requests (title, author, sent);
INSERT INTO change_requests (project_id, environment, title, state, min_approvals, created_by_user_id, created_at)
SELECT 'payments-core', 'production', title, 'In review', 1, staff.id, sent FROM asked JOIN staff ON key = author ORDER BY sent;
INSERT INTO change_request_changes (change_request_id, feature_name, flag_id, segment_id, action, payload, base, created_at)
SELECT requests.id, flag, flags.id, segment, action, payload, base, requests.created_at
  FROM (
    SELECT rollouts.title, flag, NULL::integer AS segment, 'updateStrategy' AS action, jsonb_set(before, '{parameters,rollout}', share) AS payload,
           jsonb_build_object('strategy', before - 'id', 'segments', '{}'::json) AS base
      FROM (VALUES ('New card vault for everybody', 'pay-card-vault-redesign', 3, '"100"'::jsonb),
                   ('New fraud rules for half of the customers', 'pay-fraud-rules-redesign', 1, '"50"')) AS rollouts (title, flag, step, share)
      JOIN rules USING (flag), LATERAL (SELECT pg_temp.record(rules, step)::jsonb - '{featureName,sortOrder}'::text[] AS before) AS records
     WHERE environment = 'production' AND sort_order = 0
     UNION ALL
    SELECT title, flag, NULL, 'updateEnabled', jsonb_build_object('enabled', is_on),
           CASE WHEN is_on THEN jsonb_build_object('defaultStrategy', json_build_array(default_strategy, '{}'::json)) ELSE '{}' END
      FROM (VALUES ('Fraud rules from PostgreSQL', 'pay-fraud-rules-to-postgres', true), ('End of early access', 'pay-refunds-early-access', false),
                   ('End of early access', 'pay-invoice-numbers-early-access', false),
                   ('New fraud rules for half of the customers', 'pay-fraud-rules-copy-test', true)) AS switches (title, flag, is_on)
      JOIN project_environments ON project_id = 'payments-core' AND environment = 'production'
     UNION ALL
    SELECT 'New fraud rules for half of the customers', NULL, (data ->> 'id')::integer, 'updateSegment',
           jsonb_set(data::jsonb, '{constraints,0,values,2}', '".gift"') - '{project,createdBy,createdAt}'::text[], jsonb_build_object('segment', data)
      FROM log WHERE type = 'segment-created' AND data ->> 'name' = 'Card testers') AS changes
  JOIN change_requests AS requests USING (title)
  LEFT JOIN flags ON name = flag
 ORDER BY requests.id, segment NULLS FIRST, action DESC, flag;
-- What happened to each of them, and the state after that.
CREATE TEMP TABLE moves ON COMMIT DROP AS
SELECT id, title, at, key, happened, moves.state, lag(moves.state) OVER (PARTITION BY title ORDER BY at) AS source, extra::json
  FROM asked JOIN change_requests USING (title), LATERAL (VALUES
    (NULL, sent, author, 'created', 'Draft', NULL), (NULL, sent + interval '2 ms', author, 'sent-to-review', 'In review', NULL),
    ('New card vault for everybody', applied - interval '1 hour', 'hana.kovacs', 'approval-added', 'In review', '{"approvals": 1}'),
    ('New card vault for everybody', applied - interval '59 min', 'hana.kovacs', 'approved', 'Approved', NULL),
    ('New card vault for everybody', applied - interval '1 ms', 'hana.kovacs', 'applied', 'Applied', '{"changes": 1}'),
    ('Fraud rules from PostgreSQL', pg_temp.working(pg_temp.ago(2.9)), 'aisha.bello', 'rejected', 'Rejected',
     '{"comment": "The load test of the new tables is not done. Please propose it again after that."}'),
    ('End of early access', pg_temp.working(pg_temp.ago(1.8)), 'hana.kovacs', 'approval-added', 'In review', '{"approvals": 1}'),
    ('End of early access', pg_temp.working(pg_temp.ago(1.79)), 'hana.kovacs', 'approved', 'Approved', NULL),
    ('End of early access', pg_temp.working(pg_temp.ago(1.78)), 'hana.kovacs', 'scheduled', 'Scheduled',
     json_build_object('scheduledAt', iso(date_trunc('week', pg_temp.today() + interval '1 day', 'UTC') + interval '6 days 3 hours'))::text)
    ) AS moves (only_of, at, key, happened, state, extra)
 WHERE coalesce(only_of, title) = title;
UPDATE change_requests
   SET state = latest, state_times = times, scheduled_at = at, scheduled_by_user_id = CASE WHEN at IS NOT NULL THEN staff.id END,
       schedule_status = CASE WHEN at IS NOT NULL THEN 'pending' END
  FROM (SELECT id, (array_agg(state ORDER BY at DESC))[1] AS latest, max((extra ->> 'scheduledAt')::timestamptz) AS at,
               json_object_agg(state, iso(at) ORDER BY at) FILTER (WHERE happened <> 'approval-added') AS times FROM moves GROUP BY id) AS found, staff
 WHERE change_requests.id = found.id AND key = 'hana.kovacs';
INSERT INTO change_request_reviews (change_request_id, user_id, approved, created_at)
SELECT moves.id, staff.id, happened <> 'rejected', at FROM moves JOIN staff USING (key) WHERE happened IN ('approval-added', 'rejected');
INSERT INTO change_request_comments (change_request_id, user_id, text, created_at)
SELECT moves.id, staff.id, text, at + wait
  FROM moves, LATERAL (VALUES ('Fraud rules from PostgreSQL', 'rejected', moves.key, extra ->> 'comment', interval '0'),
                   ('New fraud rules for half of the customers', 'created', 'hana.kovacs', 'Does support know the new messages for declined cards?', interval '50 min'),
                   ('New fraud rules for half of the customers', 'created', moves.key, 'Yes, and they have the runbook.', interval '80 min')) AS talk (about, during, author, text, wait)
  JOIN staff ON staff.key = author
 WHERE title = about AND happened = during
 ORDER BY 4;
UPDATE log SET author = 'hana.kovacs', change_request_id = moves.id
  FROM change_request_changes JOIN moves ON moves.id = change_request_id AND happened = 'applied'
 WHERE type = 'feature-strategy-update' AND feature = feature_name AND environment = 'production' AND log.at = moves.at + interval '1 ms';
CREATE FUNCTION pg_temp.request(move moves, state text, extra json) RETURNS json LANGUAGE sql STABLE AS
    $$ SELECT json_merge(json_build_object('id', move.id, 'title', move.title, 'state', state, 'minApprovals', 1), extra) $$;
INSERT INTO log (at, type, author, project, environment, feature, data, pre_data, change_request_id)
SELECT min(sent) - interval '3 hours', 'change-request-configuration-updated', 'tomasz.wojcik', 'payments-core', 'production', NULL,
       '{"changeRequestsEnabled":true,"requiredApprovals":1}'::json, '{"changeRequestsEnabled":false,"requiredApprovals":null}'::json, NULL FROM asked
 UNION ALL
SELECT at, 'change-request-' || happened, key, 'payments-core', 'production', NULL, pg_temp.request(moves, state, extra),
       CASE WHEN happened NOT IN ('created', 'approval-added') THEN pg_temp.request(moves, source, NULL) END, CASE happened WHEN 'applied' THEN id END FROM moves
 UNION ALL
SELECT at + interval '1 ms', 'change-added', key, 'payments-core', 'production', feature_name,
       json_build_object('changeRequestId', change_request_id, 'id', changes.id, 'action', action, 'payload', payload,
                         CASE WHEN segment_id IS NULL THEN 'feature' ELSE 'segment' END, coalesce(feature_name, payload ->> 'name')), NULL, NULL
  FROM change_request_changes AS changes JOIN moves ON moves.id = change_request_id AND happened = 'created';

-- Step: Usage
WITH keys AS (
    SELECT id AS project, app, app || ' (' || id || ')' AS name, replace(gen_random_uuid()::text || gen_random_uuid(), '-', '') AS random, pg_temp.ago(least(created - 3, 700), '15:20') AS at
      FROM plans, unnest(apps) AS app WHERE archived IS NULL
), made AS (
    INSERT INTO api_keys (name, kind, digest, secret, environment, created_at)
    SELECT name, CASE WHEN app ~ '^(web|mobile|ios|android)' THEN 'frontend' ELSE 'client' END, sha256(convert_to(project || ':production.' || random, 'UTF8')),
           project || ':production.' || random, 'production', at FROM keys ORDER BY at, name
    RETURNING id, name, kind, created_at
), scoped AS (
    INSERT INTO api_key_projects SELECT id, project FROM made JOIN keys USING (name)
)
INSERT INTO log (at, type, author, project, environment, data)
SELECT at, 'api-token-created', 'terraform', project, 'production',
       json_build_object('tokenName', name, 'username', name, 'type', kind, 'environment', 'production', 'project', project, 'projects', ARRAY[project],
                         'createdAt', iso(at), 'expiresAt', NULL, 'seenAt', NULL, 'alias', NULL)
  FROM made JOIN keys USING (name);
-- In the last week, applications report every two hours until now, and before that in one hour of some days. Some flags are
-- not asked for any more, or never were.
INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
SELECT project, flag, 'production', pg_temp.choose(flag || day, apps), hour, floor(asked * share), asked - floor(asked * share)
  FROM lives
 CROSS JOIN LATERAL generate_series(date_trunc('day', production, 'UTC') + interval '1 day',
                                    least(archived - interval '1 day', pg_temp.today(),
                                          CASE WHEN pg_temp.chance(flag || 'unasked') < 0.02 THEN production
                                               WHEN pg_temp.chance(flag || 'unasked') < 0.1 THEN date_trunc('day', pg_temp.today() - pg_temp.days(flag, 33, 60), 'UTC') END), '1 day') AS day
 CROSS JOIN LATERAL (
    SELECT day + floor(pg_temp.chance(day || flag) * 24) * interval '1 hour' AS hour, 1 AS reports
     WHERE day < pg_temp.today() - interval '7 days' AND pg_temp.chance(flag || day || 'seen') < 0.4
     UNION ALL
    SELECT hour, 30 FROM generate_series(day, day + interval '22 hours', '2 hours') AS hour WHERE day >= pg_temp.today() - interval '7 days' AND hour <= now()) AS hours
 CROSS JOIN LATERAL (SELECT 1 + floor(traffic * (0.05 + pg_temp.chance(flag) / 5) * (0.7 + pg_temp.chance(flag || hour) / 2)
                                      * CASE WHEN extract(isodow FROM day) > 5 THEN 1.4 ELSE 1 END / reports) AS asked,
                            CASE WHEN flag = 'checkout-one-page' THEN 0.96 -- Its second strategy is on for everybody.
                                 ELSE (SELECT rollouts[max(step)] * 0.0096 FROM generate_subscripts(rollout_times, 1) AS step WHERE rollout_times[step] <= day) END AS share) AS counts
 WHERE cardinality(apps) > 0;
UPDATE api_keys SET seen_at = used.at
  FROM (SELECT app_name || ' (' || project_id || ')' AS name, max(hour) AS at FROM usage_metrics GROUP BY app_name, project_id) AS used
 WHERE api_keys.name = used.name;
UPDATE api_keys SET bulk_read_on = pg_temp.ago(2)::date WHERE name = 'web-shop (search)';
INSERT INTO flag_sightings (flag_id, environment, app_name, first_at, last_at)
SELECT flags.id, environment, app_name, greatest(min(hour), flags.created_at), greatest(max(hour), flags.created_at)
  FROM usage_metrics JOIN flags ON flags.name = flag_name AND deleted_at IS NULL AND hour >= date_trunc('hour', flags.created_at)
 GROUP BY flags.id, environment, app_name;
INSERT INTO usage_variants (project_id, flag_name, environment, app_name, hour, variant, count)
SELECT used.project_id, flag_name, used.environment, app_name, hour, variant, yes * weight / 1000
  FROM usage_metrics AS used
  JOIN flags ON flags.name = flag_name AND deleted_at IS NULL
 CROSS JOIN LATERAL (SELECT name AS variant, max(weight) AS weight FROM variants WHERE flag_id = flags.id AND environment = used.environment GROUP BY name) AS chosen
 WHERE yes * weight >= 1000;
INSERT INTO applications (name, strategies, created_at, seen_at)
SELECT app_name, ARRAY['applicationHostname', 'default', 'flexibleRollout', 'remoteAddress', 'userWithId'], min(hour), max(hour)
  FROM usage_metrics GROUP BY app_name;
UPDATE applications SET description = 'The web shop', url = 'https://wiki.brightcart.example/web' WHERE name = (SELECT min(name) FROM applications WHERE name LIKE 'web%');
-- Instances that are still seen. Browsers and phones are not kept one by one.
INSERT INTO application_instances (app_name, environment, connection, instance_id, sdk_version, platform, spec_version, address, seen_at)
SELECT name, 'production', md5(name || number), name || '-' || number, sdk, NULL, '5.2.0', '10.20.0.' || 10 + number, seen_at - number * interval '1 minute'
  FROM applications
 CROSS JOIN generate_series(1, 3) AS number
 CROSS JOIN LATERAL (SELECT pg_temp.choose(name, ARRAY['unleash-client-node:6.12.1', 'unleash-python-sdk:6.9.1', 'unleash-client-java:11.2.0']) AS sdk) AS chosen
 WHERE name !~ '^(web|mobile|ios|android)' AND seen_at > pg_temp.today() - interval '7 days';
-- A misspelled name.
INSERT INTO unknown_flags (flag_name, app_name, environment, seen_at)
SELECT 'checkout-expres-pay', name, 'production', seen_at FROM applications WHERE name = 'web-shop';

-- Step: Events
-- Remove the spaces from payloads, as the server writes them. No text contains the replaced strings.
CREATE FUNCTION pg_temp.compact(payload json) RETURNS json LANGUAGE sql IMMUTABLE AS
    $$ SELECT regexp_replace(regexp_replace(payload::text, '" ?: ', '":', 'g'), ',\s+(["{\[])', ',\1', 'g')::json $$;
INSERT INTO events (created_at, type, created_by, created_by_user_id, environment, project, feature_name, data, pre_data, change_request_id, tags)
SELECT date_trunc('milliseconds', at), log.type, coalesce(users.email, users.username, 'system'), users.id, environment, log.project, feature, pg_temp.compact(data), pg_temp.compact(pre_data), change_request_id,
       pg_temp.compact((SELECT coalesce(json_agg(json_build_object('type', type, 'value', value) ORDER BY type, value), '[]')
          FROM tagged WHERE flag = feature AND since <= at AND (until IS NULL OR until > at)))
  FROM log
  LEFT JOIN LATERAL (
    SELECT key FROM team
     WHERE author IS NULL AND team.project = log.project AND works AND user_id IS NOT NULL AND since <= at AND (until IS NULL OR until > at)
     ORDER BY pg_temp.chance(user_id || feature || extract(epoch FROM at)) LIMIT 1) AS worker ON true
  LEFT JOIN staff ON staff.key = coalesce(author, worker.key, 'nora.lindqvist')
  LEFT JOIN users ON users.id = staff.id
 ORDER BY at, log.type, feature, environment;
UPDATE flags
   SET potentially_stale_at = created_at + lifetime_days * interval '1 day'
  FROM flag_types
 WHERE flag_types.id = type AND archived_at IS NULL AND now() - created_at > make_interval(days => lifetime_days);
INSERT INTO user_seen_days (user_id, day)
SELECT created_by_user_id, (created_at AT TIME ZONE 'UTC')::date FROM events WHERE created_by_user_id IS NOT NULL
 UNION
SELECT staff.id, day::date FROM staff, generate_series(pg_temp.ago(joined - 1) AT TIME ZONE 'UTC', pg_temp.ago(coalesce(left_at + 1, 1)) AT TIME ZONE 'UTC', '1 day') AS day
 WHERE extract(isodow FROM day) < 6 AND pg_temp.chance(key || day) < diligence;
UPDATE users SET seen_at = (SELECT max(day) FROM user_seen_days WHERE user_id = users.id) + interval '11 hours' WHERE id IN (SELECT id FROM staff);
-- Disabled, because its receiver does not exist.
INSERT INTO integrations (provider, description, enabled, parameters, events, projects, environments, created_at)
VALUES ('slack', 'Changes in production', false, '{"url": "https://hooks.brightcart.example/T0"}', '{feature-environment-enabled,feature-environment-disabled}', '{}', '{production}', pg_temp.ago(90));
INSERT INTO deliveries (integration_id, event_id, next_at, attempts, first_at, last_at, state, state_details, details)
SELECT integrations.id, told.id, NULL, 1, told.created_at, told.created_at, 'success', '200 after 1 attempt',
       '{"attempts": 1, "status": 200, "milliseconds": 120, "host": "hooks.brightcart.example"}'
  FROM integrations
 CROSS JOIN LATERAL (SELECT * FROM events WHERE type = ANY(integrations.events) AND environment = 'production' ORDER BY id DESC LIMIT 20) AS told;
