"""One person's conversations, for that person: all that is his, and nothing else."""

import json
import stat
import uuid
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from ai_answers.chat_models.scripted import say, scripted
from ai_answers.models import Conversation

from ..api.conftest import Api
from ..content import make_agent, make_pages
from ..site.models import Article

pytestmark = pytest.mark.django_db(transaction=True)


def export(**options):
    out = StringIO()
    call_command("ai_answers_export", stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def asked():
    """A member and somebody anonymous have asked; the member voted on both answers."""
    make_pages()
    make_agent()
    member, visitor = Api(User.objects.create_user("Märta")), Api()
    answers = {}
    for name, who in (("member", member), ("visitor", visitor)):
        with scripted(say("They leave on Friday [1].")):
            answers[name] = who.ask(f"When do parcels leave, asks {name[:3]}?").json()
    for name, rating in (("member", "up"), ("visitor", "down")):
        vote = {"conversation_id": answers[name]["conversation_id"], "turn": 1, "rating": rating}
        assert member.post("feedback", vote | {"comment": f"On {name}."}).status_code == 200
    return answers


def test_a_user_gets_his_conversations_and_votes_and_nobody_elses(asked):
    found = json.loads(export(user="Märta"))
    assert found["user"] == "Märta"
    (conversation,) = found["conversations"]
    assert conversation["conversation_id"] == asked["member"]["conversation_id"]
    (turn,) = conversation["turns"]
    assert turn["question"] == "When do parcels leave, asks mem?"
    assert turn["answer"] == "They leave on Friday[1]." and turn["outcome"] == "answered"
    assert [(r["index"], r["label"]) for r in turn["references"]] == [(1, "Depot times")]
    assert [v["comment"] for v in turn["feedback"]] == ["On member."]
    (vote,) = found["votes_elsewhere"]
    assert (vote["rating"], vote["comment"]) == ("negative", "On visitor.")
    assert "asks vis" not in json.dumps(found)
    assert json.loads(export(user=str(User.objects.get().pk))) == found


def test_what_a_person_may_no_longer_see_is_not_exported(asked):
    """G10."""
    Article.objects.filter(title="Depot times").update(audience="staff")
    assert "Depot times" not in export(user="Märta")


def test_an_anonymous_conversation_goes_by_its_id(asked):
    """S21: the id is all that says whose it is."""
    found = export(conversation=asked["visitor"]["conversation_id"])
    assert "asks vis" in found and "On visitor." not in found, "that vote is the member's"
    with pytest.raises(CommandError, match="has an owner"):
        export(conversation=asked["member"]["conversation_id"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"user": "nobody"}, "There is no user 'nobody'"),
        ({"conversation": "x"}, "must be an id, not 'x'"),
        ({"conversation": str(uuid.uuid4())}, "There is no conversation"),
    ],
)
def test_whoever_is_not_there_is_named(options, said):
    with pytest.raises(CommandError, match=said):
        export(**options)


def test_a_file_is_for_its_owner_alone_and_never_written_over(asked, tmp_path):
    path = tmp_path / "export.json"
    assert "1 conversations" in export(user="Märta", output=str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text(encoding="utf-8"))["user"] == "Märta"
    Conversation.objects.all().delete()
    with pytest.raises(CommandError, match="cannot be made"):
        export(user="Märta", output=str(path))
    with pytest.raises(CommandError, match="cannot be made"):
        export(user="Märta", output=str(tmp_path / "no" / "folder"))
