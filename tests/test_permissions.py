import pytest
from django.contrib.auth.models import AnonymousUser, Group, Permission, User

from ai_answers.models import Agent
from ai_answers.permissions import may_ask, may_see_traces

from .content import make_agent

pytestmark = pytest.mark.django_db


class PlainUser:
    """A user model without permissions (no ``PermissionsMixin``)."""

    is_authenticated = True
    pk = 1


def test_public_asks_for_nothing_and_the_others_for_the_permission():
    agent = make_agent()
    assert may_ask(AnonymousUser(), agent) and may_ask(PlainUser(), agent)
    agent.access = Agent.Access.AUTHENTICATED
    user = User.objects.create_user("ada")
    assert not may_ask(user, agent) and not may_ask(AnonymousUser(), agent)
    user.user_permissions.add(Permission.objects.get(codename="use_ai_answers"))
    user = User.objects.get(pk=user.pk)
    assert may_ask(user, agent)
    agent.access = Agent.Access.GROUPS
    assert not may_ask(user, agent)
    group = Group.objects.create(name="readers")
    agent.groups.add(group)
    user.groups.add(group)
    assert may_ask(user, agent)


def test_superusers_may_all_and_users_without_permissions_nothing():
    """D21: traces are for those with the permission."""
    agent = make_agent(access=Agent.Access.GROUPS)
    root = User.objects.create_superuser("root")
    assert may_ask(root, agent) and may_see_traces(root)
    for who in (PlainUser(), AnonymousUser()):
        assert not may_ask(who, agent) and not may_see_traces(who)
