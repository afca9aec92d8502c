"""The page of a run log entry: the story of a run, for those who may read it."""

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from ai_answers.models import Agent, Conversation, Feedback, Run, RunLog, Turn

pytestmark = pytest.mark.django_db

HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)</script>"


def hit(title, fate="hit", position=0, **scores):
    scores = scores or {"bm25": 0.7, "cosine": 0.8, "fused": 0.75}
    return {
        "entity_type": "site.article", "entity_id": "7", "title": title, "language": "en",
        "position": position, "score": 0.75, "score_kind": "fused", "scores": scores, "fate": fate,
    }  # fmt: skip


def search(*found, **fields):
    return {
        "kind": "tool", "at": 0.0, "seconds": 0.12, "name": "search", "round": 0, "failure": "",
        "is_declined": False, "notes": [], "found": list(found), "found_in_all": len(found),
    } | fields  # fmt: skip


def model(number=1, **fields):
    return {
        "kind": "round", "at": 0.1, "seconds": 1.5, "number": number, "finish_reason": "stop",
        "first_content_seconds": 0.4, "input_tokens": 900, "output_tokens": 42, "messages": 2,
        "characters": 160, "is_cut_off": False,
    } | fields  # fmt: skip


def source(number, title, *, index=None, **fields):
    return {
        "number": number, "index": index, "entity_type": "site.article", "entity_id": "7",
        "title": title, "language": "en", "score": 0.81, "score_kind": "cosine",
        "positions": [0, 3], "is_held": False,
    } | fields  # fmt: skip


def entry(number=0, *, steps=None, sources=None, question="When do you open?", **fields):
    agent, _ = Agent.objects.get_or_create(slug="depot", defaults={"name": "Depot"})
    conversation = Conversation.objects.create(agent=agent, expires_at=timezone.now())
    turn = Turn.objects.create(
        conversation=conversation, position=1, question=question, answer="At nine [1].",
        outcome="answered",
        sources=[{"chunks": [{"text": "Open from nine to six.", "heading": "Hours"}]}],
    )  # fmt: skip
    run = Run.objects.create(turn=turn, visitor=f"v{number}", heartbeat_at=timezone.now())
    return RunLog.objects.create(
        run=run,
        **{
            "outcome": "answered", "total_seconds": 1.75, "search_seconds": 0.12,
            "first_content_seconds": 0.52, "input_tokens": 900, "output_tokens": 42,
            "steps": [search(hit("Opening hours")), model()] if steps is None else steps,
            "sources": [source(1, "Opening hours", index=1), source(2, "Cafe")]
            if sources is None else sources,
        } | fields,
    )  # fmt: skip


def page_of(client, entry):
    response = client.get(f"/admin/ai_answers/runlog/{entry.pk}/change/")
    assert response.status_code == 200
    return response.text


@pytest.fixture
def staff(client, django_user_model):
    """Sign in somebody with these permissions and return his client."""

    def signed_in(*codenames):
        user, _ = django_user_model.objects.get_or_create(username="staff", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client.force_login(user)
        return client

    return signed_in


def test_the_page_says_in_words_how_the_answer_came_about(admin_client):
    """T24, S94: one view a run."""
    page = page_of(admin_client, entry())
    for said in (
        "Why did it say that?",
        "It searched once; hits: 1.",
        "The model was given 2 sources and cited 1 of them.",
        "When do you open?",
        "At nine [1].",
        "Open from nine to six.",
        "first content after 0.40 s",
        "900 tokens read, 42 written",
        "0.750",
    ):
        assert said in page, said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"steps": [model()], "sources": [source(1, "Hours", is_held=True)]},
         "It did not search: it had the sources of the turn before."),
        ({"steps": [model()], "sources": []}, "The model was given no source at all."),
        ({"sources": [source(1, "Hours")]}, "Nothing in the answer is backed by a source."),
        ({"outcome": "no_answer"}, "the agent&#x27;s message for when it has no answer"),
        ({"steps": [model(finish_reason="length")]}, "The model reached its output limit"),
        ({"steps": []}, "How it went is not known"),
        ({"steps": [search(failure="too_slow"), model()]}, "It took longer than TOOL_SECONDS."),
        ({"steps": [search(failure="cut_off")]}, "One tool call failed or was declined."),
        ({"steps": [search(hit("Far", "low")), model()]}, "Its score is below the lowest score."),
        ({"sources": [source(1, "", positions=[])]}, "It was taken back during the run"),
        ({"error": "openai.APIError\n  line 7", "outcome": "failed"}, "line 7"),
    ],
)  # fmt: skip
def test_what_went_otherwise_is_said(admin_client, fields, said):
    assert said in page_of(admin_client, entry(**fields))


def test_invalid_citations_and_votes_are_said(admin_client):
    log = entry()
    Turn.objects.update(invalid_citations=2)
    Feedback.objects.create(turn=log.run.turn, visitor="v", rating="negative", comment="Closed!")
    page = page_of(admin_client, log)
    assert "2 citations led to no source and were cut." in page
    assert "not helpful: Closed!" in page


def test_texts_need_the_permission_to_view_turns(staff):
    steps = [
        search(
            hit("Opening hours"), arguments='{"query": "SECRET-QUERY"}', message="SECRET-RESULT"
        ),
        model(prompt=[{"role": "human", "text": "SECRET-PROMPT"}], text="SECRET-WORDS"),
    ]
    log = entry(steps=steps, has_text=True, question="SECRET-QUESTION")
    assert staff().get(f"/admin/ai_answers/runlog/{log.pk}/change/").status_code == 403
    page = page_of(staff("view_runlog"), log)
    assert "Opening hours" in page and "SECRET" not in page and "Open from nine" not in page
    assert "SECRET" not in staff("view_runlog").get("/admin/ai_answers/runlog/").text
    found = staff("view_runlog").get("/admin/ai_answers/runlog/?q=SECRET-QUESTION")
    assert found.context["cl"].result_count == 0, "nor can it be guessed by searching"
    page = page_of(staff("view_runlog", "view_turn"), log)
    for word in ("QUERY", "RESULT", "PROMPT", "WORDS", "QUESTION"):
        assert f"SECRET-{word}" in page, word


def test_what_is_closed_to_the_asker_needs_the_permission_to_view_the_index(staff):
    log = entry(steps=[search(hit("Hours"), hit("Redundancies", "closed")), model()])
    page = page_of(staff("view_runlog", "view_turn"), log)
    assert "Redundancies" not in page and "1 more chunk is closed to the asker." in page
    page = page_of(staff("view_runlog", "view_indexeddocument"), log)
    assert "Redundancies" in page and "the asker may not see it" in page


def test_hostile_text_is_escaped(admin_client):
    steps = [
        search(hit(HOSTILE), name=HOSTILE, failure=HOSTILE, notes=[HOSTILE], arguments=HOSTILE,
               message=HOSTILE),
        model(prompt=[{"role": HOSTILE, "text": HOSTILE}], text=HOSTILE, finish_reason=HOSTILE),
    ]  # fmt: skip
    log = entry(steps=steps, sources=[source(1, HOSTILE)], has_text=True, question=HOSTILE,
                error=HOSTILE, model_name=HOSTILE)  # fmt: skip
    Turn.objects.update(answer=HOSTILE)
    for page in (page_of(admin_client, log), admin_client.get("/admin/ai_answers/runlog/").text):
        assert "<img src=x" not in page and "<script>alert(1)" not in page


def test_the_list_needs_no_query_per_row_and_finds_by_outcome_and_words(
    admin_client, django_assert_max_num_queries
):
    for number in range(12):
        entry(number)
    entry(99, outcome="failed", error_code="model_timeout", question="Where is the kettle?")
    with django_assert_max_num_queries(14):
        page = admin_client.get("/admin/ai_answers/runlog/")
    assert "1 of 2" in page.text

    def found(query):
        return admin_client.get(f"/admin/ai_answers/runlog/?{query}").context["cl"].result_count

    assert found("outcome__exact=failed") == found("error_code=model_timeout") == 1
    assert found("q=kettle") == 1 and found("q=no-such-id") == 0


def test_turn_and_run_lead_to_the_entry(admin_client, staff):
    log = entry()
    path = f"/admin/ai_answers/runlog/{log.pk}/change/"
    for name, row in (("turn", log.run.turn), ("run", log.run)):
        page = admin_client.get(f"/admin/ai_answers/{name}/{row.pk}/change/").text
        assert f'href="{path}"' in page
        assert f"/admin/ai_answers/{name}/{row.pk}/change/" in page_of(admin_client, log)
        other = staff(f"view_{name}").get(f"/admin/ai_answers/{name}/{row.pk}/change/")
        assert other.status_code == 200 and path not in other.text


def test_an_entry_cannot_be_changed_and_can_be_deleted(admin_client):
    log = entry()
    path = f"/admin/ai_answers/runlog/{log.pk}/"
    assert 'name="_save"' not in page_of(admin_client, log)
    assert admin_client.post(f"{path}change/", {}).status_code == 403
    assert admin_client.get("/admin/ai_answers/runlog/add/").status_code == 403
    assert admin_client.post(f"{path}delete/", {"post": "yes"}).status_code == 302
    assert not RunLog.objects.exists() and Turn.objects.exists()
