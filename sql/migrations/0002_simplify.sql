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
