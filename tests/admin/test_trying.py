"""The page on which staff try an index."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from ai_answers.indexing import index_source
from ai_answers.indexing.diagnosis import REASONS
from ai_answers.sources import PublicSource, register_source, unregister
from tests.content import make_pages
from tests.site.models import Article

pytestmark = pytest.mark.django_db

URL = "/admin/ai_answers/indexeddocument/try/"


def search(client, query="parcels at the depot", **fields):
    data = {"index": "default", "query": query, "amount": 5, **fields}
    return client.post(URL, data)


def test_the_list_of_documents_leads_to_it(admin_client):
    page = admin_client.get("/admin/ai_answers/indexeddocument/").content.decode()
    assert URL in page
    assert admin_client.get(URL).status_code == 200


def test_scores_fates_and_texts_are_shown(admin_client):
    make_pages()
    page = search(admin_client).content.decode()
    assert "Depot times" in page and "bm25" in page
    assert str(REASONS["hit"]) not in page and str(REASONS["other_language"]) in page
    assert "Parcels leave the depot on Friday" in page
    assert "6 documents" in page


def test_it_searches_as_somebody_else_and_names_what_is_closed(admin_client):
    made = {page.title: page for page in make_pages()}
    User.objects.create_user("member")
    assert (
        "Members&#x27; lounge"
        in search(admin_client, "coffee lounge", user="member").content.decode()
    )
    Article.objects.filter(title="Fees").update(audience="staff")
    page = search(
        admin_client, "insurance", object=f"site.article:{made['Fees'].pk}"
    ).content.decode()
    assert str(REASONS["closed"]) in page and str(REASONS["denied"]) in page


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"query": ""}, "required"),
        ({"query": "x" * 2001}, "2001"),
        ({"user": "nobody"}, "no user of this name"),
        ({"object": "nonsense"}, "blog.article:7"),
        ({"index": "gone"}, "Select a valid choice"),
        ({"amount": 0}, "greater than or equal to 1"),
    ],
)
def test_wrong_fields_are_named(admin_client, fields, words):
    assert words in search(admin_client, **fields).content.decode()


def test_hostile_texts_are_escaped(admin_client):
    Article.objects.create(title="<script>alert(1)</script>", body="<img src=x onerror=y> heron")
    page = search(admin_client, "heron <i>").content.decode()
    assert "<script>alert" not in page and "<img src=x" not in page


def test_one_searches_as_oneself_or_as_a_user_of_that_id(admin_client):
    make_pages()
    assert "Alarm routine" not in search(admin_client, "alarm").content.decode()
    assert "Alarm routine" in search(admin_client, "alarm", asker="me").content.decode()
    member = User.objects.create_user("member")
    page = search(admin_client, "alarm, coffee lounge", asker="me", user=member.pk).content.decode()
    assert "Members&#x27; lounge" in page and "Alarm routine" not in page


def test_a_found_object_leads_to_its_page_and_to_where_it_is_edited(admin_client):
    make_pages()
    assert 'href="/articles/' in search(admin_client).content.decode()
    made = User.objects.create_user("heron")
    source = UserSource()
    register_source(source)
    try:
        index_source(source)
        page = search(admin_client, "heron").content.decode()
    finally:
        unregister(source.name)
    assert f'href="/admin/auth/user/{made.pk}/change/"' in page
    assert "javascript:" not in page


class UserSource(PublicSource):
    model = User
    name = "auth.user"
    fields = ["username"]

    def get_url(self, obj, language):
        return "javascript:alert(1)"


@pytest.mark.parametrize("query", ["<b>heron</b>", "heron\x00", 'heron" OR "*', "x" * 10_000])
def test_hostile_queries_do_no_harm(admin_client, query):
    response = search(admin_client, query)
    assert response.status_code == 200
    assert "<b>heron" not in response.content.decode()


def test_a_form_from_elsewhere_is_refused(admin_user):
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    assert search(client).status_code == 403


def test_text_takes_the_permission_to_view_chunks(client):
    make_pages()
    staff = User.objects.create_user("staff", is_staff=True)
    staff.user_permissions.add(Permission.objects.get(codename="view_indexeddocument"))
    client.force_login(staff)
    page = search(client).content.decode()
    assert "Depot times" in page and "Parcels leave the depot" not in page
    staff.user_permissions.add(Permission.objects.get(codename="view_indexedchunk"))
    assert "Parcels leave the depot" in search(client).content.decode()


def test_only_those_who_may_look_at_the_index_may_try_it(client):
    assert client.get(URL).status_code == 302
    staff = User.objects.create_user("staff", is_staff=True)
    client.force_login(staff)
    assert client.get(URL).status_code == 403
    assert search(client).status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="view_indexeddocument"))
    assert client.get(URL).status_code == 200


def test_a_wrong_setting_is_shown_not_raised(admin_client, settings):
    entry = {"BACKEND": "ai_answers.retrieval.database.DatabaseIndex", "CHUNK_OVERLAP": 999}
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "INDEXES": {"default": entry}}
    assert "CHUNK_OVERLAP" in search(admin_client).content.decode()
