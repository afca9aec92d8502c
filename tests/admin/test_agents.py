"""The agent form: opened, named and saved, it makes an agent that can answer."""

from html.parser import HTMLParser

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.test import override_settings
from django.urls import reverse
from langchain_core.tools import tool

from ai_answers.models import Agent, AgentTool
from ai_answers.tools import register_tool, unregister_tool

pytestmark = pytest.mark.django_db

ADD = "/admin/ai_answers/agent/add/"
LIST = "/admin/ai_answers/agent/"


class _Fields(HTMLParser):
    """What a browser would send when the form is submitted as it is."""

    def __init__(self):
        super().__init__()
        self.data, self._select, self._textarea = {}, None, None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "select":
            self._select = attrs.get("name")
        elif tag == "option" and self._select and "selected" in attrs:
            self.data[self._select] = attrs.get("value", "")
        elif tag == "textarea":
            self._textarea = attrs.get("name")
            self.data[self._textarea] = ""
        elif tag == "input" and attrs.get("name"):
            if attrs.get("type") in ("submit", "button"):
                return
            if attrs.get("type") != "checkbox" or "checked" in attrs:
                self.data[attrs["name"]] = attrs.get("value") or "on"
                if attrs.get("type") != "checkbox":
                    self.data[attrs["name"]] = attrs.get("value", "")

    def handle_data(self, data):
        if self._textarea:
            self.data[self._textarea] += data.removeprefix("\n")

    def handle_endtag(self, tag):
        if tag == "textarea":
            self._textarea = None
        elif tag == "select":
            self._select = None


def form_data(client, url):
    parser = _Fields()
    parser.feed(client.get(url).content.decode().split('id="agent_form"')[1])
    return parser.data


def agent_with_search(name="Library", **fields):
    agent = Agent.objects.create(name=name, slug=name.lower(), **fields)
    AgentTool.objects.create(agent=agent, tool="search", index="default")
    return agent


def test_the_form_as_it_opens_makes_an_agent_that_can_answer(admin_client):
    """S18: a search tool with a forced index, filled in beforehand."""
    data = form_data(admin_client, ADD) | {"name": "Library", "slug": "library"}

    response = admin_client.post(ADD, data)

    assert response.status_code == 302, response.context["errors"]
    agent = Agent.objects.get(slug="library")
    assert [(tool.tool, tool.index) for tool in agent.tools.all()] == [("search", "default")]
    assert agent.access == Agent.Access.AUTHENTICATED
    assert "Ready to answer." in admin_client.get(f"{LIST}{agent.pk}/change/").content.decode()


@pytest.mark.parametrize(
    "access, who",
    [
        ("public", "Everyone may ask “Library”."),
        ("authenticated", "Signed-in users who have the permission “Can ask questions” may ask"),
        ("groups", "Members of the chosen groups who have the permission “Can ask questions”"),
    ],
)
def test_a_new_agent_is_told_who_may_ask_it_and_what_comes_next(admin_client, access, who):
    group = Group.objects.create(name="Members")
    data = form_data(admin_client, ADD) | {"name": "Library", "slug": "library", "access": access}
    data |= {"groups": [group.pk]}

    page = admin_client.post(ADD, data, follow=True).content.decode()

    assert who in page
    step = f"/admin/ai_answers/answerblock/add/?agent={Agent.objects.get().pk}"
    assert f'href="{step}"' in page
    form = admin_client.get(step).content.decode()
    assert f'<option value="{Agent.objects.get().pk}" selected>' in form


def test_a_new_agent_that_cannot_answer_is_told_why_instead(admin_client):
    data = form_data(admin_client, ADD) | {"name": "A", "slug": "a", "tools-TOTAL_FORMS": "0"}

    page = admin_client.post(ADD, data, follow=True).content.decode()

    assert "Cannot answer." in page
    assert "may ask “A”" not in page


def test_a_hostile_name_in_the_message_is_escaped(admin_client):
    name = "<script>alert(1)</script>"
    data = form_data(admin_client, ADD) | {"name": name, "slug": "a"}

    page = admin_client.post(ADD, data, follow=True).content.decode()

    assert "may ask “&lt;script&gt;" in page
    assert "<script>alert(1)" not in page


def test_labels_say_what_a_number_does(admin_client):
    page = admin_client.get(ADD).content.decode()

    for label in ("Chat model:", "Sources per search, at most:", "Earlier turns the model sees"):
        assert label in page
    assert "Only for access by groups" in page


def test_saving_an_agent_again_changes_nothing(admin_client):
    agent = agent_with_search()
    url = f"{LIST}{agent.pk}/change/"

    response = admin_client.post(url, form_data(admin_client, url))

    assert response.status_code == 302
    assert agent.tools.count() == 1
    assert LogEntry.objects.get().get_change_message() == "No fields changed."


def test_a_search_tool_without_an_index_is_refused(admin_client):
    data = form_data(admin_client, ADD) | {"name": "A", "slug": "a", "tools-0-index": ""}

    response = admin_client.post(ADD, data)

    assert "without one the agent answers nothing" in response.content.decode()
    assert not Agent.objects.exists()


def test_a_tool_is_given_once(admin_client):
    data = form_data(admin_client, ADD) | {"name": "A", "slug": "a", "tools-TOTAL_FORMS": "2"}
    data |= {"tools-1-tool": "search", "tools-1-index": "default", "tools-1-order": "0"}

    response = admin_client.post(ADD, data)

    assert "Please correct the duplicate data" in response.content.decode()


def test_a_row_without_a_tool_is_left_out(admin_client):
    data = form_data(admin_client, ADD) | {"name": "A", "slug": "a"}
    data |= {"tools-0-tool": "", "tools-0-index": ""}

    assert admin_client.post(ADD, data).status_code == 302
    assert AgentTool.objects.count() == 0


def test_aliases_come_from_the_settings(admin_client):
    """D3, D12: an editor picks among what the site has set up."""
    models = {"default": {"BACKEND": "a.B"}, "large": {"BACKEND": "a.B"}}
    indexes = {"default": {"BACKEND": "a.B"}, "archive": {"BACKEND": "a.B"}}
    with override_settings(AI_ANSWERS={"CHAT_MODELS": models, "INDEXES": indexes}):
        page = admin_client.get(ADD).content.decode()

    assert '<option value="large">large</option>' in page
    assert '<option value="archive">archive</option>' in page


def test_an_alias_that_is_gone_is_shown_and_must_be_replaced(admin_client):
    agent = agent_with_search(chat_model="retired")
    url = f"{LIST}{agent.pk}/change/"
    page = admin_client.get(url).content.decode()
    assert "retired (no longer there)" in page
    assert "has no alias &#x27;retired&#x27;" in page

    data = form_data(admin_client, url)
    assert "“retired” is no longer there" in admin_client.post(url, data).content.decode()
    assert admin_client.post(url, data | {"chat_model": "default"}).status_code == 302


def test_access_for_groups_needs_a_group(admin_client):
    group = Group.objects.create(name="Members")
    data = form_data(admin_client, ADD) | {"name": "A", "slug": "a", "access": "groups"}
    assert "Choose at least one group" in admin_client.post(ADD, data).content.decode()

    assert admin_client.post(ADD, data | {"groups": [group.pk]}).status_code == 302


@pytest.mark.parametrize("seconds, saved", [("59", False), ("60", True)])
def test_a_conversation_lives_at_least_a_minute(admin_client, seconds, saved):
    """D8."""
    data = form_data(admin_client, ADD) | {"name": "A", "slug": "a", "conversation_ttl": seconds}

    admin_client.post(ADD, data)

    assert Agent.objects.exists() is saved


def test_the_list_tells_which_agents_can_answer(admin_client):
    """D13, S18: switched off, without a tool, or ready."""
    agent_with_search("Ready")
    agent_with_search("Off", enabled=False)
    Agent.objects.create(name="Bare", slug="bare")

    response = admin_client.get(LIST)

    usable = {a.name: response.context["cl"].model_admin.is_usable(a) for a in _rows(response)}
    assert usable == {"Ready": True, "Off": False, "Bare": False}
    assert response.content.decode().count('alt="True"') == 3  # two are enabled, one can answer


def test_the_list_needs_no_query_per_agent(admin_client, django_assert_max_num_queries):
    for number in range(12):
        agent_with_search(f"Agent{number}")
    with django_assert_max_num_queries(9):
        admin_client.get(LIST)


def test_chosen_agents_are_switched_off_and_on(admin_client):
    agents = [agent_with_search("One"), agent_with_search("Two")]
    for action, expected in (("switch_off", 0), ("switch_on", 2)):
        admin_client.post(LIST, {"action": action, "_selected_action": [a.pk for a in agents]})
        assert Agent.objects.filter(enabled=True).count() == expected
    assert LogEntry.objects.count() == 4


def test_model_permissions_decide_who_configures_agents(client, django_user_model):
    """D20."""
    editor = django_user_model.objects.create_user("editor", password="x", is_staff=True)
    client.force_login(editor)
    assert client.get(ADD).status_code == 403

    codenames = [f"{verb}_{name}" for verb in ("add", "view") for name in ("agent", "agenttool")]
    editor.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    data = form_data(client, ADD) | {"name": "A", "slug": "a"}
    assert client.post(ADD, data).status_code == 302
    agent = Agent.objects.get()
    assert agent.tools.count() == 1
    assert client.post(f"{LIST}{agent.pk}/change/", {"name": "B"}).status_code == 403
    assert client.get(f"{LIST}{agent.pk}/change/").status_code == 200  # view only
    actions = client.get(LIST).context["action_form"]
    assert actions is None or "switch_off" not in str(actions)


def test_an_existing_agent_keeps_its_slug_when_renamed(admin_client):
    agent = agent_with_search()
    page = admin_client.get(reverse("admin:ai_answers_agent_change", args=[agent.pk]))
    assert "prepopulated_fields" not in page.content.decode().split("data-prepopulated-fields")[0]
    assert page.context["adminform"].prepopulated_fields == []


def _rows(response):
    return response.context["cl"].result_list


def test_a_lowest_score_remembers_its_kind(admin_client):
    """R14: so that a check can say when it no longer fits."""
    agent = agent_with_search()
    url = f"{LIST}{agent.pk}/change/"
    data = form_data(admin_client, url) | {"tools-0-min_score": "2.5"}
    assert admin_client.post(url, data).status_code == 302
    assert agent.tools.get().score_kind == "bm25"


def test_arguments_that_do_not_fit_the_tool_are_refused(admin_client):
    """T7."""

    @tool
    def weather(place: str) -> str:
        """Tell the weather."""
        return place

    register_tool(weather)
    try:
        agent = agent_with_search()
        url = f"{LIST}{agent.pk}/change/"
        row = AgentTool.objects.create(agent=agent, tool="weather")
        assert (
            "This tool takes: place (string, required)." in admin_client.get(url).content.decode()
        )
        data = form_data(admin_client, url)
        wrong = admin_client.post(url, data | {"tools-1-arguments": '{"town": {"value": "x"}}'})
        assert "has no argument" in wrong.content.decode()
        right = admin_client.post(
            url,
            data | {"tools-1-arguments": '{"place": {"value": "Oslo"}}', "tools-1-is_source": "on"},
        )
        assert right.status_code == 302
        row.refresh_from_db()
        assert row.arguments == {"place": {"value": "Oslo"}} and row.is_source
    finally:
        unregister_tool("weather")
