"""Blocks in the admin: targets, DOM ids, paths and suggestions."""

import pytest

from ai_answers.models import Agent, AnswerBlock, QuestionBlock, SourcesBlock

pytestmark = pytest.mark.django_db

ANSWER = "/admin/ai_answers/answerblock/"
QUESTION = "/admin/ai_answers/questionblock/"
SOURCES = "/admin/ai_answers/sourcesblock/"


@pytest.fixture
def agent():
    return Agent.objects.create(name="Library", slug="library")


@pytest.fixture
def answer(agent):
    return AnswerBlock.objects.create(name="Main", slug="main", agent=agent)


def question_data(answer, **data):
    return {"name": "Header", "slug": "header", "target": answer.pk} | data


def test_the_dom_id_is_shown_once_the_block_is_saved(admin_client, agent):
    """S77, D51."""
    assert "Known as soon as the block is saved" in admin_client.get(f"{ANSWER}add/").text
    data = {"name": "Main", "slug": "main", "agent": agent.pk, "instance_uuid": "forged"}
    assert admin_client.post(f"{ANSWER}add/", data).status_code == 302

    block = AnswerBlock.objects.get()
    page = admin_client.get(f"{ANSWER}{block.pk}/change/").text
    assert f"ai-answers-answer-{block.instance_uuid}" in page
    assert "{% ai_answer &quot;main&quot; %}" in page
    assert 'name="instance_uuid"' not in page


def test_only_agents_that_are_on_are_offered(admin_client, agent):
    """D50."""
    off = Agent.objects.create(name="Retired", slug="retired", enabled=False)

    page = admin_client.get(f"{ANSWER}add/").text

    assert f'value="{agent.pk}"' in page
    assert "Retired" not in page
    data = {"name": "Main", "slug": "main", "agent": off.pk}
    assert admin_client.post(f"{ANSWER}add/", data).status_code == 200
    assert not AnswerBlock.objects.exists()


def test_a_block_says_when_its_agent_was_switched_off(admin_client, answer):
    Agent.objects.update(enabled=False)
    url = f"{ANSWER}{answer.pk}/change/"

    assert "Library (switched off)" in admin_client.get(url).text
    data = {"name": "Main", "slug": "main", "agent": answer.agent_id}
    assert "This agent is switched off" in admin_client.post(url, data).text


@pytest.mark.parametrize("url", [QUESTION, SOURCES])
def test_every_placed_answer_block_is_offered_as_target(admin_client, answer, url):
    """S114, S118: equal names are told apart by slug."""
    AnswerBlock.objects.create(name="Main", slug="second", agent=answer.agent)

    page = admin_client.get(f"{url}add/").text

    assert "Main (main)" in page and "Main (second)" in page


def test_a_sources_block_is_saved_with_its_target(admin_client, answer):
    """S111."""
    data = {"name": "Side", "slug": "side", "target": answer.pk, "label": "Read more"}
    assert admin_client.post(f"{SOURCES}add/", data).status_code == 302
    assert SourcesBlock.objects.get().target == answer


@pytest.mark.parametrize("path", ["", "/", "/ask/", "/de/ask/?from=header", "/frägen/"])
def test_a_path_of_the_site_is_a_target_url(admin_client, answer, path):
    """D54."""
    data = question_data(answer, target_url=path)
    assert admin_client.post(f"{QUESTION}add/", data).status_code == 302
    assert QuestionBlock.objects.get().target_url == path


@pytest.mark.parametrize(
    "path",
    [
        "ask/",
        "//evil.example/ask/",
        "/\\evil.example",
        "/\t/evil.example",
        "/a\n/b",
        "\\\\evil.example",
        "https://evil.example/",
        "https:/ask/",
        "javascript:alert(1)",
        "/ask/ now",
        "/ask/#ai-answers-ask=x",
    ],
)
def test_anything_else_is_refused(admin_client, answer, path):
    """D54: the visitor must not be sent off the site."""
    response = admin_client.post(f"{QUESTION}add/", question_data(answer, target_url=path))
    assert response.status_code == 200
    assert "target_url" in response.context["adminform"].form.errors
    assert not QuestionBlock.objects.exists()


def test_suggested_questions_are_tidied(admin_client, answer):
    """D54: one per line."""
    text = "When do you open?\r\n\r\n  How   much is a card? \r\nWhen do you open?\r\n"
    admin_client.post(f"{QUESTION}add/", question_data(answer, suggested_questions=text))
    saved = QuestionBlock.objects.get().suggested_questions
    assert saved.splitlines() == ["When do you open?", "How much is a card?"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("\n".join(f"Question {n}?" for n in range(11)), "At most 10 questions, not 11."),
        ("x" * 200 + "\n" + "y" * 201, "Question 2 has 201 characters; at most 200"),
    ],
)
def test_too_many_or_too_long_suggestions_are_refused(admin_client, answer, text, message):
    data = question_data(answer, suggested_questions=text)
    assert message in admin_client.post(f"{QUESTION}add/", data).text
    assert not QuestionBlock.objects.exists()


@pytest.mark.parametrize("url", [ANSWER, QUESTION, SOURCES])
def test_lists_need_no_query_per_block(admin_client, answer, url, django_assert_max_num_queries):
    for number in range(10):
        other = Agent.objects.create(name=f"A{number}", slug=f"a{number}")
        block = AnswerBlock.objects.create(name=f"B{number}", slug=f"b{number}", agent=other)
        QuestionBlock.objects.create(name=f"B{number}", slug=f"b{number}", target=block)
        SourcesBlock.objects.create(name=f"B{number}", slug=f"b{number}", target=block)
    with django_assert_max_num_queries(8):
        assert admin_client.get(url).status_code == 200


def test_hostile_names_are_escaped_everywhere(admin_client, agent):
    name = '"><script>alert(1)</script>'
    agent.name = name
    agent.save()
    block = AnswerBlock.objects.create(name=name, slug="main", agent=agent)
    QuestionBlock.objects.create(name=name, slug="main", target=block)
    for url in (ANSWER, f"{ANSWER}{block.pk}/change/", QUESTION, f"{QUESTION}add/"):
        assert "<script>alert(1)" not in admin_client.get(url).text
