"""How often a visitor may ask, search and vote; rates come from ``THROTTLE``, not from DRF."""

from __future__ import annotations

from typing import Any

from rest_framework.throttling import SimpleRateThrottle

from ..conf import THROTTLE, app_settings
from .visitors import payer_key


class QuestionThrottle(SimpleRateThrottle):
    """One rate of ``THROTTLE``, counted in the default cache."""

    def __init__(self) -> None:
        self.rate = _rates()[self.scope]
        self.num_requests, self.duration = self.parse_rate(self.rate)

    def get_cache_key(self, request: Any, view: Any) -> str:
        key = payer_key(getattr(request, "_request", request))
        return f"ai_answers:throttle:{self.scope}:{key}"


class BurstThrottle(QuestionThrottle):
    scope = "burst"


class SustainedThrottle(QuestionThrottle):
    scope = "sustained"


class FeedbackThrottle(QuestionThrottle):
    scope = "feedback"


class SearchThrottle(QuestionThrottle):
    scope = "search"


def throttles(*classes: type[QuestionThrottle]) -> list[QuestionThrottle]:
    """Return one throttle of each class whose rate is set."""
    rates = _rates()
    return [throttle() for throttle in classes if rates[throttle.scope]]


def _rates() -> dict[str, str | None]:
    # A site that sets one rate keeps the defaults of the others; ``None`` switches one off.
    return {**THROTTLE, **app_settings().THROTTLE}
