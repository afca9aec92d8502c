"""The page without JavaScript: ``GET ask?q=`` shows the question, ``POST ask`` the answer.

The block's form leads here with a GET, since a cached page holds no CSRF token; asking costs
money, so only the POST of this page asks.
"""

from __future__ import annotations

import logging
import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.utils.safestring import mark_safe
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from rest_framework.exceptions import Throttled

from ..answers.conversations import Question
from ..answers.showing import answer_html, references_now, support_now
from ..bursts import release_connections
from ..exceptions import AnswersError, ConfigurationError
from ..models import Agent, Turn
from ..permissions import may_ask
from ..runs.reading import wait
from .errors import message_for
from .serializers import QuestionSerializer
from .throttles import BurstThrottle, SustainedThrottle, throttles
from .views import asker_of, origin_of, start

logger = logging.getLogger(__name__)


@method_decorator([never_cache, csrf_protect], name="dispatch")
class AskPage(View):
    """A form and, below it, the finished answer with its sources."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._page(request, request.GET.get("q", ""), request.GET)

    def post(self, request: HttpRequest) -> HttpResponse:
        form = {
            "agent": request.POST.get("agent", ""),
            "question": request.POST.get("q", ""),
            "conversation_id": request.POST.get("conversation_id") or None,
            "request_id": request.POST.get("request_id") or None,
        }
        serializer = QuestionSerializer(data=form)
        if not serializer.is_valid():
            message = next(iter(serializer.errors.values()))[0]
            error = {"code": "invalid", "message": str(message)}
            return self._page(request, form["question"], request.POST, error=error, status=400)
        try:
            answer, conversation_id = self._answer(request, serializer.validated_data)
        except (AnswersError, Throttled) as failure:
            return self._refusal(request, form["question"], failure)
        return self._page(request, "", request.POST, answer=answer, conversation_id=conversation_id)

    def _answer(self, request: HttpRequest, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
        for throttle in throttles(BurstThrottle, SustainedThrottle):
            if not throttle.allow_request(request, self):
                raise Throttled(throttle.wait())
        question = Question(
            text=body["question"],
            agent=body["agent"],
            conversation_id=body["conversation_id"],
            format="html",
            request_id=body["request_id"],
            streamed=False,
            origin=origin_of(request),
        )
        asker = asker_of(request)
        spec = start(request, question, asker)
        release_connections()
        last = wait(spec.run_id, asker)
        if last.kind == "error":
            failure = AnswersError(last.data["code"])
            failure.code = last.data["code"]
            raise failure
        turn = Turn.objects.select_related("conversation__agent").get(pk=spec.turn_id)
        mode = turn.conversation.agent.reference_view_mode
        support = support_now(turn, asker, view_mode=mode)
        html = answer_html(turn, support, origin=question.origin)
        answer = {
            "question": turn.question,
            "html": mark_safe(html),  # noqa: S308 - rendering
            "references": references_now(turn.references, asker, view_mode=mode),
            "outcome": turn.outcome,
        }
        return answer, str(spec.conversation_id)

    def _refusal(
        self, request: HttpRequest, question: str, failure: AnswersError | Throttled
    ) -> HttpResponse:
        if isinstance(failure, ConfigurationError):
            logger.error("A question could not be asked: %s", failure)
        known = isinstance(failure, AnswersError)
        code = failure.code if known else "throttled"
        error = {"code": code, "message": str(message_for(code))}
        status = failure.status if known else 429
        response = self._page(request, question, request.POST, error=error, status=status)
        wait_seconds = getattr(failure, "retry_after" if known else "wait", None)
        if wait_seconds:
            response["Retry-After"] = str(max(1, int(wait_seconds)))
        return response

    def _page(
        self,
        request: HttpRequest,
        question: str,
        form: Any,
        *,
        answer: dict[str, Any] | None = None,
        conversation_id: str = "",
        error: dict[str, str] | None = None,
        status: int = 200,
    ) -> HttpResponse:
        context = {
            "form_question": question,
            "agent": form.get("agent", ""),
            "agents": [] if form.get("agent") else _agents(request.user),
            "conversation_id": conversation_id or form.get("conversation_id", ""),
            "request_id": str(uuid.uuid4()),  # sent twice by a reload, it is one question
            "answer": answer,
            "error": error,
        }
        return render(request, "ai_answers/ask.html", context, status=status)


def _agents(user: Any) -> list[dict[str, str]]:
    """Return the agents that ``user`` may ask, where the address names none."""
    agents = Agent.objects.filter(enabled=True)[:20]
    return [{"slug": agent.slug, "name": agent.name} for agent in agents if may_ask(user, agent)]
