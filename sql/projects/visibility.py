"""Which projects a caller sees: private ones are for their members."""

from typing import LiteralString


# Our choice: only its members see a private project, and users with the root role Admin, Editor or a custom one.
def visible_to(viewer: LiteralString) -> LiteralString:
    """Return the condition that a viewer sees a row of projects. viewer: SQL for a user's id, or null for all."""
    return f"""
        ({viewer} IS NULL
         OR projects.mode <> 'private'
         OR EXISTS (SELECT FROM user_roles WHERE user_roles.project_id = projects.id AND user_roles.user_id = {viewer}))
    """


VISIBLE = visible_to("%(viewer)s::integer")
