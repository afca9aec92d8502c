"""The tags, from a template to the markup that elements and visitors without script rely on."""

from __future__ import annotations

import logging
from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.template import Context, RequestContext, Template, TemplateSyntaxError
from django.template.loader import render_to_string
from django.test import Client, override_settings
from django.utils import translation
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy

from ai_answers.models import Agent, AnswerBlock, QuestionBlock, SourcesBlock

HOSTILE = "\"><script>alert(1)</script>' onload=x"


class _Page(HTMLParser):
    """All start tags with their attributes, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def all(self, tag, **attrs):
        return [
            found
            for name, found in self.tags
            if name == tag and all(found.get(key) == value for key, value in attrs.items())
        ]

    def one(self, tag, **attrs):
        (found,) = self.all(tag, **attrs)
        return found


def render(source: str, **context) -> str:
    return Template("{% load ai_answers %}" + source).render(Context(context))


@pytest.fixture
def agent(db):
    return Agent.objects.create(name="Library", slug="library", access="public")


@pytest.fixture
def answer(agent):
    return AnswerBlock.objects.create(name="Main", slug="main", agent=agent)


@pytest.fixture
def question(answer):
    return QuestionBlock.objects.create(
        name="Header",
        slug="header",
        target=answer,
        target_url="/ask/",
        placeholder="Ask the library",
        submit_label="Go",
        suggested_questions="How much is a card?\n\n  When is it open?  \n",
    )


def test_an_answer_block_is_a_shell_of_settings(answer):
    """S75, S76, D52: nothing but configuration, keyed by the DOM id."""
    element = _Page(render('{% ai_answer "main" %}')).one("ai-answers-answer")

    assert element["id"] == f"ai-answers-answer-{answer.instance_uuid}"
    assert element["data-agent"] == "library"
    assert element["data-api"] == "/ai-answers/question"
    assert element["data-language"] == "en"
    assert element["data-csrf-header"].lower() == "x-csrftoken"
    assert "data-allow-follow-up" in element


def test_switches_of_the_block_and_of_the_agent_are_kept(answer):
    """D50, S71."""
    answer.allow_follow_up = answer.show_references = False
    answer.empty_message = "Ask away."
    answer.save()
    html = render('{% ai_answer "main" %}')
    page = _Page(html)

    assert "data-allow-follow-up" not in page.one("ai-answers-answer")
    assert not page.all("section", **{"data-role": "references"})
    assert page.all("span", **{"data-role": "feedback"})
    assert "Ask away." in html

    answer.agent.feedback_enabled = False
    answer.agent.save()
    page = _Page(render('{% ai_answer "main" %}'))
    assert not page.all("span", **{"data-role": "feedback"})


def test_the_slots_an_override_has_to_keep_are_there(answer):
    """D62: roles, what is hidden at first, and what is read out."""
    page = _Page(render('{% ai_answer "main" %}'))

    for role in ("transcript", "status", "references", "follow-up", "stop", "preview"):
        assert [a for _, a in page.tags if a.get("data-role") == role], role
    for tag, role in (("section", "references"), ("form", "follow-up"), ("button", "stop")):
        assert "hidden" in page.one(tag, **{"data-role": role}), role
    assert page.one("p", **{"data-role": "status"})["role"] == "status"
    assert page.one("div", **{"data-role": "transcript"})["aria-busy"] == "false"
    assert page.one("div", **{"data-role": "error"})["role"] == "alert"
    assert page.one("template", **{"data-role": "turn-template"}) is not None
    assert page.one("template", **{"data-role": "reference-template"}) is not None


def test_a_question_block_names_its_target_and_works_without_script(question):
    """S78, D54, D56: a GET to the page that answers in one piece; no token in the shell."""
    html = render('{% ai_question "header" %}')
    page = _Page(html)
    element = page.one("ai-answers-question")

    assert element["data-target"] == question.target.dom_id
    assert element["data-target-url"] == "/ask/"
    assert [form["action"] for form in page.all("form", method="get")] == ["/ai-answers/ask"] * 2
    assert page.one("input", name="q")["placeholder"] == "Ask the library"
    assert {i["value"] for i in page.all("input", name="agent")} == {"library"}
    assert [b["value"] for b in page.all("button", name="q")] == [
        "How much is a card?",
        "When is it open?",
    ]
    assert "csrf" not in html


def test_a_sources_block_names_its_target_on_its_section(answer):
    """S111."""
    SourcesBlock.objects.create(name="Side", slug="side", target=answer, label="Read on")
    html = render('{% ai_sources "side" %}')
    section = _Page(html).one("section")

    assert section["data-ai-answers-sources-target"] == answer.dom_id
    assert "hidden" in section
    assert "Read on" in html


@pytest.mark.parametrize("tag", ['ai_answer "main"', 'ai_question "header"', 'ai_sources "side"'])
def test_a_block_costs_one_query(question, tag, django_assert_num_queries):
    SourcesBlock.objects.create(name="Side", slug="side", target=question.target)
    with django_assert_num_queries(1):
        assert render("{% " + tag + " %}").strip()


def test_inline_blocks_cost_no_query(django_assert_num_queries, db):
    with django_assert_num_queries(0):
        render(
            '{% ai_answer agent="library" id="a" %}{% ai_question target="a" %}'
            '{% ai_sources target="a" %}'
        )


def test_every_visitor_gets_the_same_bytes(question, rf):
    """S75: whoever asks, with whatever cookies and session."""
    source = Template(
        "{% load ai_answers %}{% ai_answers_media %}"
        '{% ai_question "header" %}{% ai_answer "main" %}'
    )
    pages = set()
    for user in (AnonymousUser(), User(pk=1, username="ada"), User(pk=2, is_superuser=True)):
        request = rf.get("/", HTTP_COOKIE=f"csrftoken={user.pk}", HTTP_USER_AGENT=str(user.pk))
        request.user = user
        pages.add(source.render(RequestContext(request, {"user": user})))

    assert len(pages) == 1


def test_a_page_with_blocks_touches_neither_session_nor_csrf(db):
    """S75: a cache may keep the page for everyone."""
    response = Client().get("/")

    assert response.status_code == 200
    assert b"<ai-answers-answer" in response.content
    assert "Cookie" not in response.headers.get("Vary", "")
    assert not response.cookies


def test_a_second_block_of_the_same_id_gets_another(answer):
    """S77: also in an included template and in a child's block."""
    html = render(
        '{% ai_answer "main" %}{% include included %}'
        "{% block inner %}{% ai_answer id=first agent='library' %}{% endblock %}",
        included=Template('{% load ai_answers %}{% ai_answer "main" %}'),
        first=answer.dom_id,
    )
    ids = [a["id"] for a in _Page(html).all("ai-answers-answer")]

    assert ids == [answer.dom_id, f"{answer.dom_id}-2", f"{answer.dom_id}-3"]


def test_the_next_page_starts_anew(answer):
    first, second = (render('{% ai_answer "main" %}') for _ in range(2))

    assert first == second


def test_options_in_place_of_a_saved_block():
    html = render(
        '{% ai_answer agent="library" id="here" allow_follow_up=False show_references=False '
        "show_feedback=False empty_message=message %}"
        '{% ai_question target="here" agent="library" target_url="/ask/" submit_label="Go" '
        "suggested_questions=suggestions %}"
        '{% ai_sources target="here" label="Read on" %}',
        suggestions=["One?", gettext_lazy("Sources")],
        message=gettext_lazy("Sources"),
    )
    page = _Page(html)

    assert page.one("ai-answers-answer")["id"] == "here"
    assert not page.all("span", **{"data-role": "feedback"})
    assert [b["value"] for b in page.all("button", name="q")] == ["One?", "Sources"]
    assert page.one("section")["data-ai-answers-sources-target"] == "here"


def test_without_an_id_the_agent_gives_it():
    html = render('{% ai_answer agent="library" %}')

    assert _Page(html).one("ai-answers-answer")["id"] == "ai-answers-answer-library"


@pytest.mark.parametrize(
    ("tag", "right"),
    [
        ("ai_answer", "'agent' and any of id, allow_follow_up"),
        ('ai_answer agent=""', "'agent' is missing or empty"),
        ('ai_answer agent="a" follow_up=True', "unknown: follow_up"),
        ('ai_answer agent="a" allow_follow_up="no"', "True or False, not 'no'"),
        ('ai_answer agent="a" id="not an id"', "must be a DOM id"),
        ('ai_answer "main" show_references=False', "not both"),
        ('ai_question target_url="/ask/"', "'target' is missing"),
        ('ai_question target="a" target_url="//elsewhere.example/"', "path of this site"),
        ('ai_question target="a" target_url="javascript:alert(1)"', "path of this site"),
        ('ai_question target="a b"', "must be a DOM id"),
        ('ai_sources label="x"', "'target' is missing"),
        ('ai_answer "answer" "x"', "'agent' and any of id, allow_follow_up"),
        ('ai_question "header" "x"', "too much: 'x'"),
        ('ai_sources "side" "x" "y"', "too much: 'x', 'y'"),
    ],
)
def test_wrong_arguments_raise_with_the_right_ones(tag, right):
    with pytest.raises(TemplateSyntaxError) as caught:
        render("{% " + tag + " %}")

    assert right in str(caught.value)


@pytest.mark.parametrize("tag", ["ai_answer", "ai_question", "ai_sources"])
def test_an_unknown_slug_leaves_the_page_alone_and_is_logged(tag, db, caplog):
    with caplog.at_level(logging.WARNING):
        assert render("<p>{% " + tag + ' "gone" %}</p>') == "<p></p>"

    assert "'gone'" in caplog.text


@override_settings(DEBUG=True)
def test_an_unknown_slug_is_said_where_the_developer_looks(db):
    html = render("{% ai_answer slug=slug %}", slug="<gone>")

    assert "no answer block has the slug &#x27;&lt;gone&gt;&#x27;" in html


@override_settings(DEBUG=True)
@pytest.mark.parametrize("tag", ["ai_answer", "ai_question", "ai_sources"])
def test_a_slug_without_its_quotes_is_told_from_a_wrong_one(tag, db):
    html = render("{% " + tag + " answer %}")

    assert f"{tag}: the slug is empty." in html
    assert f"{{% {tag} &quot;main&quot; %}}" in html


@pytest.mark.parametrize("tag", ['ai_answer agent="nope"', 'ai_question target="a" agent="nope"'])
def test_an_agent_that_is_not_there_is_said_where_the_developer_looks(tag, agent):
    Agent.objects.create(name="Retired", slug="retired", enabled=False)
    with override_settings(DEBUG=True):
        html = render("{% " + tag + " %}")
        retired = render("{% " + tag.replace("nope", "retired") + " %}")

    assert "the agent &#x27;nope&#x27; does not exist. Agents here: &#x27;library&#x27;." in html
    assert "the agent &#x27;retired&#x27; is switched off." in retired
    for note in (html, retired):
        assert _Page(note).one("p", role="note")
        assert not _Page(note).all("form")
    assert _Page(render("{% " + tag + " %}")).all("form")  # visitors: no note, and no query


@pytest.mark.parametrize("tag", ['ai_answer "main"', 'ai_question "header"'])
def test_a_saved_block_whose_agent_is_off_is_said_too(tag, question):
    Agent.objects.update(enabled=False)
    with override_settings(DEBUG=True):
        assert "is switched off. Agents here: none." in render("{% " + tag + " %}")
    assert _Page(render("{% " + tag + " %}")).all("form")


def test_a_question_without_a_page_has_a_warning_ready_for_the_developer(question):
    """Hidden: the script shows it if the target is not on the page when that is complete."""

    def warnings():
        html = render(
            '{% ai_question target="gone" %}{% ai_question target="a" target_url="/ask/" %}'
            '{% ai_question "header" %}'
        )
        return html, _Page(html).all("p", **{"data-role": "warning"})

    assert warnings()[1] == []
    with override_settings(DEBUG=True):
        html, (warning,) = warnings()
    assert "hidden" in warning
    assert "no Answer block with the DOM id &#x27;gone&#x27;" in html


def test_an_empty_field_says_what_it_is_for(question):
    question.placeholder = ""
    question.save()
    html = render('{% ai_question "header" %}{% ai_question target="a" %}')

    fields = _Page(html).all("input", name="q")
    assert [field["placeholder"] for field in fields] == ["Ask a question"] * 2
    with translation.override("de"):
        field = _Page(render('{% ai_question target="a" %}')).one("input", name="q")
    assert field["placeholder"] == "Eine Frage stellen"


def test_texts_of_editors_stay_text(answer, question):
    """D61."""
    for name in ("empty_message", "references_label"):
        setattr(answer, name, HOSTILE)
    answer.save()
    question.placeholder = question.submit_label = HOSTILE
    question.suggested_questions = HOSTILE
    question.target_url = '//elsewhere.example/"onload="x'
    question.save()
    SourcesBlock.objects.create(name="Side", slug="side", target=answer, label=HOSTILE)
    html = render('{% ai_answer "main" %}{% ai_question "header" %}{% ai_sources "side" %}')
    page = _Page(html)

    assert not page.all("script")
    assert not [attrs for _, attrs in page.tags if "onload" in attrs]
    assert page.one("button", name="q")["value"] == HOSTILE
    assert "data-target-url" not in page.one("ai-answers-question")
    assert "elsewhere" not in html


def test_a_site_may_override_each_template(answer, question, settings):
    """D62."""
    names = ("answer", "question", "sources", "media", "reference")
    templates = {f"ai_answers/{name}.html": f"my {name} {{{{ block.target }}}}" for name in names}
    settings.TEMPLATES = [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", templates)]},
        }
    ]
    html = render(
        '{% ai_answers_media %}, {% ai_answer "main" %}, {% ai_question "header" %}, '
        '{% ai_sources target="here" %}'
    )

    assert html == f"my media , my answer , my question {answer.dom_id}, my sources here"


def test_texts_are_in_the_language_of_the_page(answer):
    with translation.override("de"):
        element = _Page(render('{% ai_answer "main" %}')).one("ai-answers-answer")

    assert element["data-language"] == "de"


def test_the_end_of_an_answer_has_a_text_for_every_plural(answer):
    status = _Page(render('{% ai_answer "main" %}')).one("p", **{"data-role": "status"})

    assert status["data-one"] == "Answer complete, {count} source"
    for category in ("zero", "two", "few", "many", "other"):
        assert status[f"data-{category}"] == "Answer complete, {count} sources"


def test_media_links_one_stylesheet_and_one_module():
    page = _Page(render("{% ai_answers_media %}"))

    assert page.one("link")["href"].endswith("ai_answers/ai_answers.css")
    assert page.one("script")["src"].endswith("ai_answers/ai_answers.js")
    assert page.one("script")["type"] == "module"
    assert "nonce" not in page.one("script")


class LazyNonce(str):
    """Like Django's: false until something prints it."""

    def __bool__(self) -> bool:
        return False


def test_media_carries_the_nonce_even_before_it_was_used(rf):
    page = _Page(render("{% ai_answers_media %}", csp_nonce=LazyNonce("n1")))
    assert page.one("script")["nonce"] == page.one("link")["nonce"] == "n1"

    request = rf.get("/")
    request.csp_nonce = LazyNonce("n2")
    page = _Page(render("{% ai_answers_media %}", request=request))
    assert page.one("script")["nonce"] == page.one("link")["nonce"] == "n2"


def test_nothing_in_the_markup_needs_inline_script_or_style(question):
    html = render('{% ai_answers_media %}{% ai_answer "main" %}{% ai_question "header" %}')

    for tag, attrs in _Page(html).tags:
        assert tag != "style"
        assert not [name for name in attrs if name == "style" or name.startswith("on")], tag


def test_citations_of_the_page_without_script_lead_to_their_sources():
    html = mark_safe('<p>12 €<a data-ref-index="2">2</a> <a href="/x">x</a></p>')
    linked = render('{{ html|citation_links:"source-" }}', html=html)

    assert linked == '<p>12 €<a href="#source-2" data-ref-index="2">2</a> <a href="/x">x</a></p>'
    assert isinstance(html, SafeString)
    assert "&lt;a" in render('{{ html|citation_links:"source-" }}', html="<a>")


def ask_page(rf, **context) -> str:
    everything = {
        "form_question": "",
        "agent": "library",
        "conversation_id": "",
        "request_id": "r1",
        "answer": None,
        "error": None,
        **context,
    }
    return render_to_string("ai_answers/ask.html", everything, rf.get("/"))


def test_the_page_without_script_asks_by_post(rf):
    page = _Page(ask_page(rf, form_question=HOSTILE))

    assert page.one("form", method="post")["action"] == "/ai-answers/ask"
    assert page.one("input", name="q")["value"] == HOSTILE
    assert page.one("input", name="agent")["value"] == "library"
    assert page.one("input", name="request_id")["value"] == "r1"
    assert page.one("input", name="csrfmiddlewaretoken")["value"]
    assert not page.all("input", name="conversation_id")


def test_the_page_without_script_lets_one_choose_among_several_agents(rf):
    agents = [{"slug": "library", "name": "Library"}, {"slug": "archive", "name": HOSTILE}]
    page = _Page(ask_page(rf, agent="", agents=agents))
    select = page.one("select", name="agent")

    assert select["form"] == page.one("form", method="post")["id"]
    assert [option["value"] for option in page.all("option")] == ["library", "archive"]
    assert not page.all("input", name="agent")
    assert not page.all("script", type=None)


def test_the_page_without_script_asks_the_only_agent_there_is(rf):
    page = _Page(ask_page(rf, agent="", agents=[{"slug": "library", "name": "Library"}]))

    assert page.one("input", name="agent")["value"] == "library"
    assert not page.all("select")


def test_the_page_without_script_asks_nobody_where_one_may_ask_nobody(rf):
    html = ask_page(rf, agent="", agents=[])

    assert "You may not ask questions here." in html
    assert not _Page(html).all("form")


def test_the_page_without_script_shows_the_answer_and_its_sources(rf):
    references = [
        {"index": 1, "label": "Fees", "url": "/fees/", "html": '<a href="/fees/">Fees</a>'},
        {"index": 2, "label": HOSTILE, "url": "", "html": ""},
    ]
    answer = {
        "question": HOSTILE,
        "html": mark_safe('<p>12 €<a data-ref-index="1">1</a></p>'),
        "references": references,
        "outcome": "answered",
    }
    html = ask_page(rf, answer=answer, conversation_id="c1")
    page = _Page(html)

    assert page.one("a", href="#ai-answers-source-1")
    assert page.one("li", id="ai-answers-source-1")
    assert page.one("a", href="/fees/")
    assert page.one("input", name="conversation_id")["value"] == "c1"
    assert "alert(1)</script>" not in html


def test_the_page_without_script_says_what_went_wrong(rf):
    html = ask_page(rf, error={"code": "invalid", "message": "Too <long>."})

    assert _Page(html).one("div", role="alert")
    assert "Too &lt;long&gt;." in html


def test_the_plain_card_is_a_link_of_text():
    reference = {"label": HOSTILE, "url": "/a/?b=1&c=2", "key": "a:1", "quote": HOSTILE}
    page = _Page(render_to_string("ai_answers/references/default.html", {"reference": reference}))

    assert page.one("a")["href"] == "/a/?b=1&c=2"
    assert not page.all("script")
    bare = {**reference, "url": "", "quote": ""}
    assert not _Page(
        render_to_string("ai_answers/references/default.html", {"reference": bare})
    ).all("a")
