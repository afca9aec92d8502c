"""``manage.py ai_answers_setup``: one command to a page that can be asked."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ai_answers.models import Agent, AgentTool, AnswerBlock, QuestionBlock, SourcesBlock

pytestmark = pytest.mark.django_db


def setup(*arguments):
    out, err = StringIO(), StringIO()
    call_command("ai_answers_setup", *arguments, stdout=out, stderr=err, no_color=True)
    return out.getvalue(), err.getvalue()


def test_it_makes_an_agent_that_can_answer_and_a_block_of_each_kind():
    """S18."""
    out, err = setup("--access", "public")

    agent = Agent.objects.get()
    assert (agent.slug, agent.name, agent.access, agent.enabled) == ("site", "Site", "public", True)
    assert [(t.tool, t.index) for t in agent.tools.all()] == [("search", "default")]
    assert AnswerBlock.objects.get(slug="answer").agent == agent
    assert QuestionBlock.objects.get(slug="question").target.slug == "answer"
    assert SourcesBlock.objects.get(slug="sources").target.slug == "answer"
    assert err == ""


def test_it_says_what_to_put_in_a_template_and_what_comes_next():
    out, _ = setup()
    for line in (
        "{% load ai_answers %}",
        "{% ai_answers_media %}",
        '{% ai_question "question" %}',
        '{% ai_answer "answer" %}',
        '{% ai_sources "sources" %}',
        "ai_answers.use_ai_answers",
        "manage.py ai_answers_index --index default",
    ):
        assert line in out


def test_by_default_only_signed_in_users_may_ask():
    setup()
    assert Agent.objects.get().access == Agent.Access.AUTHENTICATED


def test_a_second_run_changes_nothing_an_editor_changed():
    setup("--access", "public")
    Agent.objects.update(name="Ask the library", access="groups", enabled=False)
    AgentTool.objects.all().delete()
    AnswerBlock.objects.update(empty_message="Ask away.")

    out, _ = setup("--name", "Site")

    agent = Agent.objects.get()
    assert (agent.name, agent.access, agent.enabled) == ("Ask the library", "groups", False)
    assert not AgentTool.objects.exists()
    assert AnswerBlock.objects.get().empty_message == "Ask away."
    assert "created" not in out
    assert "It has no search tool with an index." in out
    assert "Switch the agent 'site' on" in out
    assert "Choose the groups" in out


def test_an_access_that_is_asked_for_is_given_to_an_agent_that_is_there_and_said():
    out, _ = setup()
    assert "created agent 'site': signed-in users with ai_answers.use_ai_answers may ask" in out

    out, _ = setup("--access", "public")
    assert "changed agent 'site': everyone may ask" in out
    assert Agent.objects.get().access == Agent.Access.PUBLIC

    for arguments in ([], ["--access", "public"]):
        out, _ = setup(*arguments)
        assert "kept    agent 'site': everyone may ask" in out
        assert "changed" not in out and "created" not in out
    assert Agent.objects.get().access == Agent.Access.PUBLIC


def test_a_second_agent_leaves_the_blocks_to_the_first():
    setup()
    _, err = setup("--agent", "members", "--name", "For members")
    assert Agent.objects.get(slug="members").name == "For members"
    assert AnswerBlock.objects.get().agent.slug == "site"
    assert "belongs to another agent, 'site'" in err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--index", "archive"], "has no alias 'archive'; there are: 'default'."),
        (["--agent", "my agent"], "not 'my agent'"),
    ],
)
def test_a_wrong_argument_creates_nothing(arguments, message):
    with pytest.raises(CommandError, match=message):
        setup(*arguments)
    assert not Agent.objects.exists() and not AnswerBlock.objects.exists()
