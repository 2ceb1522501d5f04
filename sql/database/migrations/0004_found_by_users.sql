-- From 0.2.0: what users of 0.2.0 found.

-- Members of a group keep the order in which a client sends them.
ALTER TABLE group_users ADD COLUMN position integer NOT NULL DEFAULT 0;
