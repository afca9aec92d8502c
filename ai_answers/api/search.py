"""``POST search``: what the site holds on a query, without a model and without a budget."""

from __future__ import annotations

from typing import Any

from django.http import JsonResponse
from django.utils import translation
from rest_framework import serializers

from ..answers.conversations import agent_for, masked
from ..answers.searching import find_references
from ..bursts import release_connections
from .serializers import QuestionSerializer
from .throttles import SearchThrottle, throttles
from .views import AnswersView, asker_of

AMOUNT = 10
MOST = 50


class SearchSerializer(QuestionSerializer):
    """``{agent, query, language?, amount?}``; what a question may hold, a query may."""

    conversation_id = format = request_id = page = question = None
    query = serializers.CharField(trim_whitespace=False, allow_blank=True)
    amount = serializers.IntegerField(min_value=1, max_value=MOST, default=AMOUNT)

    def validate_query(self, query: str) -> str:
        return self.validate_question(query).strip()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return attrs


class SearchView(AnswersView):
    def get_throttles(self) -> list[Any]:
        return throttles(SearchThrottle)

    def post(self, request: Any) -> JsonResponse:
        serializer = SearchSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        body = serializer.validated_data
        agent = agent_for(request.user, body["agent"])
        asker = asker_of(request._request, language=body["language"])
        with translation.override(asker.language or None):
            found = find_references(
                agent, masked(body["query"]), asker=asker, amount=body["amount"]
            )
        release_connections()
        results = [reference.as_dict() for reference in found]
        return JsonResponse({"query": body["query"], "results": results})
