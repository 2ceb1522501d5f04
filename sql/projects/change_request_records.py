"""The JSON records of change requests."""

from typing import LiteralString

from sql.projects.change_requests import JOIN_SEGMENTS, MIN_APPROVALS, SEGMENT_NAME, TITLE


def person(user: LiteralString) -> LiteralString:
    """Return the SQL of a person. user: the SQL of the id of a user."""
    return f"""
        (SELECT json_build_object('id', id, 'username', coalesce(username, name, email), 'imageUrl', image_url)
           FROM users
          WHERE id = {user})
    """


def reviews(condition: LiteralString) -> LiteralString:
    """Return the SQL of a list of reviews."""
    return f"""
        (SELECT coalesce(json_agg(
                    json_strip_nulls(json_build_object('createdBy', {person("user_id")}, 'createdAt', iso(created_at)))
                    ORDER BY created_at, user_id), '[]')
           FROM change_request_reviews
          WHERE change_request_id = change_requests.id
            AND {condition})
    """


SCHEDULE: LiteralString = """
    CASE WHEN state = 'Scheduled'
         THEN json_build_object('schedule', json_strip_nulls(json_build_object(
                  'scheduledAt', iso(scheduled_at),
                  'status', schedule_status,
                  'reason', schedule_reason,
                  'failureReason', schedule_reason)))
    END
"""

# conflicts: a text by the id of a change. defaults: an object with the defaultChange by the name of a flag.
# bases: whether changes have their base.
CONFLICT: LiteralString = "(%(conflicts)s::json ->> changes.id::text)"
FLAG_CONFLICT: LiteralString = f"(min({CONFLICT}) FILTER (WHERE {CONFLICT} LIKE 'The flag %%'))"

CHANGE: LiteralString = f"""
    json_merge(
        json_build_object(
            'id', changes.id,
            'action', action,
            'payload', coalesce(payload, '{{}}'),
            'createdBy', {person("change_requests.created_by_user_id")}),
        json_strip_nulls(json_build_object('createdAt', iso(changes.created_at), 'conflict', {CONFLICT})),
        CASE WHEN %(bases)s::boolean THEN json_build_object('base', base) END)
"""

FEATURES: LiteralString = f"""
    (SELECT coalesce(json_agg(record ORDER BY feature_name), '[]')
       FROM (SELECT feature_name,
                    json_merge(
                        json_strip_nulls(json_build_object('name', feature_name, 'conflict', {FLAG_CONFLICT})),
                        json_build_object('changes', json_agg({CHANGE} ORDER BY changes.id)),
                        %(defaults)s::json -> feature_name) AS record
               FROM change_request_changes AS changes
              WHERE change_request_id = change_requests.id
                AND feature_name IS NOT NULL
              GROUP BY feature_name) AS features)
"""

SEGMENTS: LiteralString = f"""
    (SELECT coalesce(json_agg(
                json_merge({CHANGE}, json_build_object('name', {SEGMENT_NAME})) ORDER BY changes.id), '[]')
       FROM change_request_changes AS changes
       {JOIN_SEGMENTS}
      WHERE change_request_id = change_requests.id
        AND segment_id IS NOT NULL)
"""

COMMENTS: LiteralString = f"""
    (SELECT coalesce(json_agg(json_build_object(
                'id', id,
                'text', text,
                'createdBy', {person("user_id")},
                'createdAt', iso(created_at)) ORDER BY id), '[]')
       FROM change_request_comments
      WHERE change_request_id = change_requests.id)
"""

RECORD: LiteralString = f"""
    json_merge(
        json_build_object(
            'id', id,
            'title', {TITLE},
            'project', project_id,
            'environment', environment,
            'state', state,
            'revision', revision,
            'minApprovals', {MIN_APPROVALS},
            'features', {FEATURES},
            'segments', {SEGMENTS},
            'approvals', {reviews("approved")},
            'rejections', {reviews("NOT approved")},
            'comments', {COMMENTS},
            'createdBy', {person("created_by_user_id")},
            'createdAt', iso(created_at),
            'stateTimestamps', state_times),
        {SCHEDULE})
"""
