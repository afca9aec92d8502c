"""What a site's own ``TestCase`` does: one transaction, no threads, nothing left behind."""

import threading

from django.test import TestCase, override_settings

from ai_answers.chat_models.scripted import fail, say, scripted
from ai_answers.models import Turn

from ..content import make_agent, make_pages
from ..settings import AI_ANSWERS
from ..sse import frames_of

INLINE = AI_ANSWERS | {"RUNNER": "ai_answers.runs.runner.InlineRunner"}


@override_settings(AI_ANSWERS=INLINE)
class InlineRunnerTests(TestCase):
    @classmethod
    def setUpTestData(cls):
        make_pages()
        make_agent()

    def ask(self, accept):
        body = {"agent": "depot", "question": "When do parcels leave the depot?"}
        return self.client.post(
            "/ai-answers/question",
            body,
            content_type="application/json",
            headers={"Accept": accept},
        )

    def test_a_json_answer_sees_the_tests_uncommitted_rows(self):
        with scripted(say("On Friday [1].")):
            response = self.ask("application/json")
        self.assertEqual(response.json()["answer"]["text"], "On Friday[1].")
        self.assertEqual(Turn.objects.get().outcome, "answered")

    def test_a_stream_is_complete_when_it_is_read(self):
        threads = threading.active_count()
        with scripted(say("On Friday [1].")):
            frames = frames_of(self.ask("text/event-stream"))
        self.assertEqual(frames[-1].data["text"], "On Friday[1].")
        self.assertLessEqual(threading.active_count(), threads + 1)

    def test_a_failed_run_is_saved_too(self):
        with scripted(fail(RuntimeError("planned"))), self.assertLogs("ai_answers", "ERROR"):
            response = self.ask("application/json")
        self.assertEqual(response.status_code, 500)
        self.assertEqual(Turn.objects.get().outcome, "failed")
