"""The result of an evaluation, and what it says about the flag."""

import json
from typing import Literal, NamedTuple

from evaluation.variants import Variant

# The words of OFREP. STATIC: the context was not used. SPLIT: a rollout below 100 % or several variants decided.
# DISABLED: the flag is off in the environment. TARGETING_MATCH: everything else, also "no strategy matched".
Reason = Literal["STATIC", "SPLIT", "TARGETING_MATCH", "DISABLED"]


class FlagFacts(NamedTuple):
    """What is the same in all results of a flag."""

    name: str
    project: str = ""
    type: str = ""
    stale: bool = False
    impression_data: bool = False
    enabled: bool = False  # the flag in the environment
    has_payloads: bool = False  # a variant of the flag or of one of its strategies has a payload


class Result:
    """The result of an evaluation. Results are made when a flag is compiled, and shared by all evaluations.

    facts is None if the flag does not exist. ofrep_text: the JSON text in responses of OFREP. rules/ofrep.py sets it.
    """

    __slots__ = ("_text", "enabled", "facts", "ofrep_text", "reason", "variant")

    def __init__(self, facts: FlagFacts | None, enabled: bool, reason: Reason, variant: Variant | None = None) -> None:
        self.facts = facts
        self.enabled = enabled
        self.reason: Reason = reason
        self.variant = variant
        self._text: str | None = None
        self.ofrep_text: str | None = None

    @property
    def variant_name(self) -> str:
        """The name of the variant. A flag without a variant has the name "disabled"."""
        return self.variant.name if self.variant else "disabled"

    @property
    def text(self) -> str:
        """The JSON text (ASCII) of this result in the response of /api/frontend. It is written once."""
        if self._text is None:
            self._text = self.written()
        return self._text

    def written(self) -> str:
        """Return the JSON text of this result."""
        variant = {
            "name": self.variant_name,
            "enabled": self.variant is not None,
            "feature_enabled": self.enabled,
            "featureEnabled": self.enabled,
        }
        if self.variant and self.variant.payload:
            variant["payload"] = self.variant.payload._asdict()
        flag = {
            "name": self.facts.name if self.facts else "",
            "enabled": self.enabled,
            "impressionData": self.facts is not None and self.facts.impression_data,
            "variant": variant,
        }
        return json.dumps(flag, separators=(",", ":"))


UNKNOWN = Result(None, enabled=False, reason="DISABLED")
