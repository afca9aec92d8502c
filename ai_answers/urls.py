"""The endpoints. Permission and CSRF stand here, on the routes (S3)."""

from django.db.transaction import non_atomic_requests
from django.urls import path

from .api.ask_page import AskPage
from .api.guards import guarded
from .api.search import SearchView
from .api.views import (
    ConversationView,
    EventsView,
    FeedbackView,
    QuestionView,
    SessionView,
    StopView,
)

app_name = "ai_answers"

urlpatterns = [
    path("question", guarded(QuestionView), name="question"),
    path("runs/<str:run>/events", guarded(EventsView), name="events"),
    path("runs/<str:run>/stop", guarded(StopView), name="stop"),
    path("conversations/<str:conversation>", guarded(ConversationView), name="conversation"),
    path("feedback", guarded(FeedbackView), name="feedback"),
    path("search", guarded(SearchView), name="search"),
    path("session", guarded(SessionView, permission_classes=[]), name="session"),
    path("ask", non_atomic_requests(AskPage.as_view()), name="ask"),
]
