"""What visitors and models wrote is shown to those who may see it, escaped, and never edited."""

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from ai_answers.models import (
    Agent,
    BudgetDay,
    Conversation,
    Feedback,
    IndexedChunk,
    IndexedDocument,
    IndexedTag,
    Run,
    Turn,
)

pytestmark = pytest.mark.django_db

HOSTILE = "<img src=x onerror=alert(1)> \"'><script>alert(1)</script>"
NAMES = ["conversation", "turn", "feedback", "run", "indexeddocument", "budgetday"]


def conversation(number=0, *, text="When do you open?", user=None):
    agent, _ = Agent.objects.get_or_create(slug=f"a{number}", defaults={"name": f"Agent {number}"})
    conversation = Conversation.objects.create(agent=agent, owner=user, expires_at=timezone.now())
    turn = Turn.objects.create(
        conversation=conversation,
        position=1,
        question=text,
        answer=text,
        outcome="answered",
        references=[{"index": 1, "label": text, "url": text}],
        sources=[{"title": text}],
        usage={"total_tokens": 321},
    )
    run = Run.objects.create(
        turn=turn,
        text=text,
        visitor=f"v{number}",
        worker="worker-1",
        heartbeat_at=timezone.now(),
    )
    feedback = Feedback.objects.create(turn=turn, visitor="v", rating="negative", comment=text)
    return {"conversation": conversation, "turn": turn, "run": run, "feedback": feedback}


def document(number=0, *, text="Opening hours"):
    document = IndexedDocument.objects.create(
        index="default",
        entity_type="site.article",
        entity_id=str(number),
        title=text,
        url=text,
    )
    IndexedTag.objects.create(document=document, tag=text[:100])
    IndexedChunk.objects.create(document=document, position=0, heading=text, text=text)
    return document


def everything(**kwargs):
    rows = conversation(**kwargs)
    rows["indexeddocument"] = document(**kwargs)
    rows["budgetday"] = BudgetDay.objects.create(day=timezone.now().date(), key="site")
    return {name: (f"/admin/ai_answers/{name}/", row.pk) for name, row in rows.items()}


def test_every_page_opens_and_cannot_be_saved(admin_client):
    for name, (url, pk) in everything().items():
        assert admin_client.get(url).status_code == 200, name
        page = admin_client.get(f"{url}{pk}/change/")
        assert page.status_code == 200, name
        assert 'name="_save"' not in page.text
        assert admin_client.get(f"{url}add/").status_code == 403
        assert admin_client.post(f"{url}{pk}/change/", {}).status_code == 403


def test_hostile_text_is_escaped_on_every_page(admin_client):
    for url, pk in everything(text=HOSTILE).values():
        for page in (admin_client.get(url).text, admin_client.get(f"{url}{pk}/change/").text):
            assert "<img src=x" not in page
            assert "<script>alert(1)" not in page
            assert 'href="&lt;img' not in page


def test_an_address_a_model_cited_is_no_link(admin_client):
    rows = everything(text="javascript:alert(1)")
    url, pk = rows["turn"]
    page = admin_client.get(f"{url}{pk}/change/").text
    assert "javascript:alert(1)" in page
    assert 'href="javascript' not in page


@pytest.mark.parametrize("name", NAMES)
def test_lists_need_no_query_per_row(admin_client, admin_user, name, django_assert_max_num_queries):
    for number in range(12):
        conversation(number, user=admin_user)
        document(number)
    with django_assert_max_num_queries(12):
        assert admin_client.get(f"/admin/ai_answers/{name}/").status_code == 200


def test_text_needs_the_permission_to_view_turns(client, django_user_model):
    rows = everything(text="SECRET-QUESTION")
    staff = django_user_model.objects.create_user("staff", password="x", is_staff=True)
    client.force_login(staff)
    for url, pk in rows.values():
        assert client.get(url).status_code == 403
        assert client.get(f"{url}{pk}/change/").status_code == 403

    staff.user_permissions.set(
        Permission.objects.filter(codename__in=["view_conversation", "view_run"])
    )
    for name in ("conversation", "run"):
        url, pk = rows[name]
        assert "SECRET-QUESTION" not in client.get(url).text
        page = client.get(f"{url}{pk}/change/")
        assert page.status_code == 200
        assert "SECRET-QUESTION" not in page.text

    staff.user_permissions.add(Permission.objects.get(codename="view_turn"))
    url, pk = rows["conversation"]
    assert "SECRET-QUESTION" in client.get(f"{url}{pk}/change/").text


def test_trace_ids_need_the_permission_to_see_traces(client, django_user_model):
    """D29."""
    url, pk = everything()["turn"]
    Turn.objects.update(trace_id="TRACE-ID", log_id="LOG-ID")
    staff = django_user_model.objects.create_user("staff", password="x", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename="view_turn"))
    client.force_login(staff)
    assert "TRACE-ID" not in client.get(f"{url}{pk}/change/").text

    staff.user_permissions.add(Permission.objects.get(codename="view_ai_answers_traces"))
    page = client.get(f"{url}{pk}/change/").text
    assert "TRACE-ID" in page and "LOG-ID" in page


def test_text_of_documents_needs_the_permission_to_view_chunks(client, django_user_model):
    rows = everything()
    IndexedChunk.objects.update(text="MEMBERS-ONLY-TEXT")
    staff = django_user_model.objects.create_user("staff", password="x", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename="view_indexeddocument"))
    client.force_login(staff)
    url, pk = rows["indexeddocument"]
    assert "MEMBERS-ONLY-TEXT" not in client.get(f"{url}{pk}/change/").text

    staff.user_permissions.add(Permission.objects.get(codename="view_indexedchunk"))
    assert "MEMBERS-ONLY-TEXT" in client.get(f"{url}{pk}/change/").text


def test_turns_are_found_by_words_and_by_outcome(admin_client):
    conversation(1, text="kettle")
    refused = conversation(2, text="saucepan")["turn"]
    Turn.objects.filter(pk=refused.pk).update(outcome="")

    def found(query):
        result = admin_client.get(f"/admin/ai_answers/turn/?{query}").context["cl"].result_list
        return [turn.question for turn in result]

    assert found("q=kettle") == ["kettle"]
    assert found("outcome__exact=answered") == ["kettle"]
    assert found("outcome__exact=") == ["saucepan"]
    assert len(found("feedback__rating__exact=negative")) == 2


def test_a_conversation_is_found_by_its_id(admin_client):
    wanted = conversation(1)["conversation"]
    conversation(2)
    for term, count in ((str(wanted.pk), 1), ("no uuid", 0)):
        page = admin_client.get("/admin/ai_answers/conversation/", {"q": term})
        assert page.context["cl"].result_count == count


def test_a_conversation_is_erased_with_everything_in_it(admin_client):
    pk = conversation()["conversation"].pk
    url = f"/admin/ai_answers/conversation/{pk}/delete/"

    assert admin_client.post(url, {"post": "yes"}).status_code == 302

    for model in (Conversation, Turn, Run, Feedback):
        assert not model.objects.exists()


def test_indexed_documents_are_not_deleted_by_hand(admin_client):
    """Rows taken out here would stay in the full-text table."""
    url, pk = everything()["indexeddocument"]
    assert admin_client.post(f"{url}{pk}/delete/", {"post": "yes"}).status_code == 403
    admin_client.post(url, {"action": "delete_selected", "_selected_action": [pk], "post": "yes"})
    assert IndexedDocument.objects.exists()


def test_budgets_say_whose_they_are(admin_client):
    today = timezone.now().date()
    for key in ("site", "agent:depot", "visitor:0123456789abcdef"):
        BudgetDay.objects.create(day=today, key=key)
    page = admin_client.get("/admin/ai_answers/budgetday/").text

    for whose in ("site", "agent depot", "a visitor (01234567)"):
        assert f'<td class="field-whose">{whose}</td>' in page
    detail = f"/admin/ai_answers/budgetday/{BudgetDay.objects.get(key='agent:depot').pk}/change/"
    assert "agent depot" in admin_client.get(detail).text
