"""How many questions a visitor may ask; rates come from ``THROTTLE``, not from DRF's settings."""

from __future__ import annotations

from typing import Any

from rest_framework.throttling import SimpleRateThrottle

from ..conf import app_settings
from .visitors import payer_key


class QuestionThrottle(SimpleRateThrottle):
    """One rate of ``THROTTLE``, counted in the default cache."""

    def __init__(self) -> None:
        self.rate = app_settings().THROTTLE.get(self.scope)
        self.num_requests, self.duration = self.parse_rate(self.rate)

    def get_cache_key(self, request: Any, view: Any) -> str:
        key = payer_key(getattr(request, "_request", request))
        return f"ai_answers:throttle:{self.scope}:{key}"


class BurstThrottle(QuestionThrottle):
    scope = "burst"


class SustainedThrottle(QuestionThrottle):
    scope = "sustained"
