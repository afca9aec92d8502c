"""The endpoints: validate, decide, hand over. What they answer is in ``docs/api.md``."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.utils import translation
from rest_framework.renderers import JSONRenderer
from rest_framework.views import APIView

from ..answers.conversations import Question, find_conversation, find_run, open_turn
from ..answers.feedback import give_feedback
from ..answers.turns import interrupt_stale_runs
from ..bursts import release_connections
from ..conf import setting_callable
from ..exceptions import NotFound, NotPermitted
from ..models import Conversation, Run
from ..permissions import may_ask, may_see_traces
from ..runs.reading import is_delivered, wait
from ..runs.runner import get_runner
from ..runs.stop import stop
from ..values import Asker, Frame
from .errors import error_response, handle_exception
from .frames import EventStreamRenderer, trace_ids
from .negotiation import BoundedJSONParser, StreamOrJSON, accepts_stream
from .restoring import conversation_data
from .serializers import FeedbackSerializer, QuestionSerializer
from .streaming import stream_run
from .throttles import BurstThrottle, FeedbackThrottle, SustainedThrottle, throttles
from .visitors import payer_key, visitor_key


class AnswersView(APIView):
    """What all endpoints share; nothing of it comes from a site's DRF defaults."""

    parser_classes = [BoundedJSONParser]
    renderer_classes = [EventStreamRenderer, JSONRenderer]
    content_negotiation_class = StreamOrJSON
    throttle_classes: list[Any] = []
    versioning_class = None
    metadata_class = None  # OPTIONS tells nothing

    def get_exception_handler(self) -> Any:
        return handle_exception

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        response = error_response("method_not_allowed", status=405)
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        response.headers.setdefault("Cache-Control", "no-store")  # D23
        return response


class QuestionView(AnswersView):
    """``POST question``: opens a turn, starts its run, and streams it or waits for it (S5–S7)."""

    def get_throttles(self) -> list[Any]:
        return throttles(BurstThrottle, SustainedThrottle)

    def post(self, request: Any) -> Any:
        serializer = QuestionSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        body = serializer.validated_data
        plain = request._request
        streamed = accepts_stream(plain.META.get("HTTP_ACCEPT", ""))
        question = Question(
            text=body["question"],
            agent=body["agent"],
            conversation_id=body["conversation_id"],
            format=body["format"],
            request_id=body["request_id"],
            streamed=streamed,
            origin=origin_of(plain),
        )
        asker = asker_of(
            plain, language=body["language"], page=body.get("page", {}).get("path", "")
        )
        spec = start(plain, question, asker)
        traces = may_see_traces(plain.user)
        if streamed:
            return stream_run(plain, spec.run_id, asker, last_seen=0, may_see_traces=traces)
        release_connections()
        with translation.override(asker.language or None):
            return _json_answer(spec.run_id, wait(spec.run_id, asker), traces=traces)


class EventsView(AnswersView):
    """``GET runs/<run>/events``: replay after ``Last-Event-ID``, then live."""

    def get(self, request: Any, run: str) -> Any:
        row = _readable_run(request, run)
        last_seen = _last_event_id(request)
        if last_seen and is_delivered(row, last_seen=last_seen):
            return HttpResponse(status=204)
        return stream_run(
            request._request,
            row.pk,
            asker_of(request._request, language=row.language),
            last_seen=last_seen,
            may_see_traces=may_see_traces(request.user),
        )


class StopView(AnswersView):
    """``POST runs/<run>/stop``: ends the run, whichever process executes it."""

    def post(self, request: Any, run: str) -> JsonResponse:
        was_running = stop(_readable_run(request, run))
        return JsonResponse({"status": "stopping" if was_running else "ended"})


class ConversationView(AnswersView):
    """``GET`` and ``DELETE conversations/<id>``: restore after a reload; erase."""

    def get(self, request: Any, conversation: str) -> JsonResponse:
        plain = request._request
        data = conversation_data(
            _readable_conversation(request, conversation),
            asker_of(plain),
            visitor=visitor_key(plain),
            origin=origin_of(plain),
        )
        return JsonResponse(data)

    def delete(self, request: Any, conversation: str) -> JsonResponse:
        row = _readable_conversation(request, conversation)
        interrupt_stale_runs(row.pk)  # gives back what a dead process has reserved
        row.delete()
        return JsonResponse({"status": "deleted"})


class FeedbackView(AnswersView):
    """``POST feedback`` (D33–D35)."""

    def get_throttles(self) -> list[Any]:
        return throttles(FeedbackThrottle)

    def post(self, request: Any) -> JsonResponse:
        serializer = FeedbackSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        body = serializer.validated_data
        give_feedback(
            body["conversation_id"],
            body["turn"],
            user=request.user,
            visitor=visitor_key(request._request),
            rating=body["rating"],
            reasons=body["reasons"],
            comment=body["comment"],
        )
        return JsonResponse({"status": "recorded"})


class SessionView(AnswersView):
    """``GET session``: the CSRF token, for pages that are cached without one (D24)."""

    def get(self, request: Any) -> JsonResponse:
        return JsonResponse({"csrf_token": get_token(request._request)})


def asker_of(request: HttpRequest, *, language: str | None = None, page: str = "") -> Asker:
    """Return who asks: the user, a language, and what ``SCOPE`` makes of the request."""
    scope = setting_callable("SCOPE")
    return Asker(
        user=request.user,
        language=language or translation.get_language() or "",
        scope=scope(request) if scope else None,
        page=page,
    )


def origin_of(request: HttpRequest) -> str:
    """Return scheme and host of the site as the visitor sees it."""
    return request.build_absolute_uri("/").rstrip("/")


def start(request: HttpRequest, question: Question, asker: Asker) -> Any:
    """Open the turn and start its run, unless the same request did before."""
    runner = get_runner()
    spec = open_turn(question, asker, visitor=visitor_key(request), payer=payer_key(request))
    if spec.is_new:
        runner.start(spec)
    return spec


def _json_answer(run_id: uuid.UUID, last: Frame, *, traces: bool) -> JsonResponse:
    data = last.data
    if last.kind == "error":
        return error_response(data["code"], status=500)
    answer = {"text": data["text"], "references": data["references"]}
    row = Run.objects.filter(pk=run_id, format="html").values("parts").first()
    if row is not None:
        answer["html"] = "".join(row["parts"])
    body = {
        "conversation_id": data["conversation_id"],
        "turn": data["turn"],
        "run": str(run_id),
        "answer": answer,
        "outcome": data["outcome"],
        "usage": data["usage"],
    }
    if "support" in data:
        body["support"] = data["support"]
    if traces:
        body |= trace_ids(data)
    return JsonResponse(body)


def _readable_run(request: Any, run: str) -> Run:
    row = find_run(_uuid(run), request.user)
    _check_permission(request, row.turn.conversation)
    return row


def _readable_conversation(request: Any, conversation: str) -> Conversation:
    row = find_conversation(_uuid(conversation), request.user)
    _check_permission(request, row)
    return row


def _check_permission(request: Any, conversation: Conversation) -> None:
    if not may_ask(request.user, conversation.agent):
        raise NotPermitted(f"The agent {conversation.agent.slug!r} does not answer this user.")


def _uuid(value: str) -> uuid.UUID:
    try:
        return uuid.UUID(value)
    except ValueError:
        raise NotFound(f"{value!r} is not an id.") from None


def _last_event_id(request: Any) -> int:
    """Return the id a reader has seen; a strange one counts as unknown: it gets a snapshot."""
    value = request.META.get("HTTP_LAST_EVENT_ID") or request.GET.get("last_event_id") or "0"
    try:
        number = int(value)
    except ValueError:
        return -1
    return number if 0 <= number < 2**31 else -1
