"""Requests that evaluate flags in the playground."""

from typing import Any, ClassVar

from marshmallow import ValidationError

from validators import Body, OpenBody
from validators.client.contexts import CONTEXT, EvaluationContext, read_context
from validators.fields import ListOf, Text


class Projects(ListOf):
    """A list of project ids. * alone, or in the list, means all projects, and is loaded as None."""

    def load_value(self, value: Any) -> Any:
        if value != "*" and not isinstance(value, list):
            raise ValidationError("must be a list of projects or *")
        projects = super().load_value([value] if value == "*" else value)
        return None if "*" in projects else projects


PROJECTS = Projects(
    Text(),
    what="projects",
    max=500,
    load_default=None,
    description="Projects of the flags. `*` means all that the caller can see.",
)


class FlagEvaluation(Body):
    """Body of an evaluation of one flag."""

    example: ClassVar = {"context": {"userId": "7", "properties": {"plan": "gold"}}}

    context = EvaluationContext(read_context, description=CONTEXT)


class PlaygroundRequest(OpenBody, FlagEvaluation):
    """Body of an evaluation of many flags. Loaded as environment, projects (None for all) and context."""

    example: ClassVar = {
        "environment": "development",
        "projects": ["default"],
        "context": {"appName": "shop", "userId": "7", "properties": {"plan": "gold"}},
    }

    environment = Text(required=True, min=1, max=100, description="Environment of the flags.")
    projects = PROJECTS


class PlaygroundComparison(OpenBody, FlagEvaluation):
    """Body of an evaluation for several contexts and environments."""

    example: ClassVar = {
        "environments": ["development", "production"],
        "projects": ["default"],
        "context": {"appName": "shop", "userId": "7,8", "properties": {"plan": "gold,silver"}},
    }

    environments = ListOf(
        Text(min=1, max=100), what="environments", max=50, required=True, description="Environments of the flags."
    )
    projects = PROJECTS
