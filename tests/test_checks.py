"""System checks: each is silent on a sound project and says what to do on an unsound one."""

import copy
import os
import subprocess
import sys
import types
from decimal import Decimal

import pytest
from django.conf import settings
from django.contrib.sessions.middleware import SessionMiddleware
from django.core import checks
from django.db import OperationalError, connection, connections
from django.db.models.functions import Upper
from django.test import override_settings
from langchain_core.tools import tool

from ai_answers.indexing import index_source
from ai_answers.models import Agent, AgentTool, IndexedDocument
from ai_answers.sources import (
    PublicDirectorySource,
    PublicSource,
    get_source,
    register_source,
    unregister,
)
from ai_answers.tools import register_tool, unregister_tool
from tests.site.models import Article, Remark, Shop

OTEL = "ai_answers.contrib.otel.OpenTelemetryTracer"
LANGFUSE = "ai_answers.contrib.langfuse.LangfuseTracer"
EXTRACTIVE = "ai_answers.chat_models.extractive.ExtractiveChatModel"
DATABASE_INDEX = "ai_answers.retrieval.database.DatabaseIndex"
REMOTE = {"BACKEND": "langchain_openai.OpenAIEmbeddings"}


def ours(*, deploy=False, databases=None):
    found = checks.run_checks(include_deployment_checks=deploy, databases=databases)
    return [message for message in found if (message.id or "").startswith("ai_answers.")]


def ids(**kwargs):
    return sorted({message.id.removeprefix("ai_answers.") for message in ours(**kwargs)})


def texts(check_id, **kwargs):
    return [m.msg for m in ours(**kwargs) if m.id == f"ai_answers.{check_id}"]


def answers(**values):
    return override_settings(AI_ANSWERS={**settings.AI_ANSWERS, **values})


def test_the_test_project_is_sound():
    assert ours() == []


@override_settings()
def test_nothing_has_to_be_configured():
    """Design: works with nothing configured."""
    del settings.AI_ANSWERS
    assert ours() == []


def test_a_misspelt_key_is_named_with_the_closest_right_one():
    with answers(MAX_QUESTION_CHAR=10):
        (message,) = [m for m in ours() if m.id == "ai_answers.E001"]
    assert "'MAX_QUESTION_CHAR'" in message.msg and "'MAX_QUESTION_CHARS'" in message.msg
    assert message.level == checks.ERROR
    assert message.hint


@pytest.mark.parametrize(
    "values, named",
    [
        ({"INDEXES": {"default": {"BACKEND": DATABASE_INDEX, "EMBEDING": None}}}, "'EMBEDING'"),
        ({"CHAT_MODELS": {"default": {"BACKEND": EXTRACTIVE, "MODEL": "x"}}}, "'MODEL'"),
        ({"EMBEDDINGS": {"e": {**REMOTE, "BATCHES": 9}}}, "'BATCHES'"),
        ({"RERANKERS": {"r": {**REMOTE, "TIMEOUT": 9}}}, "'TIMEOUT'"),
        ({"THROTTLE": {"bursts": "1/min"}}, "'bursts'"),
        ({"BUDGETS": {"user": {"tokens": 1}}}, "'user'"),
        ({"BUDGETS": {"site": {"token": 1}}}, "'token'"),
        ({"PRICES": {"m": {"input": 1, "output": 2, "cached": 0}}}, "'cached'"),
        ({"TRACER": {"BACKEND": OTEL, "HOST": "x"}}, "'HOST'"),
    ],
)
def test_a_misspelt_key_inside_an_entry_is_named(values, named):
    with answers(**values):
        assert any(named in text for text in texts("E001"))


@override_settings(AI_ANSWERS=["CHAT_MODELS"])
def test_the_setting_must_be_a_dict():
    assert texts("E001") == ["AI_ANSWERS must be a dict, not ['CHAT_MODELS']."]


@pytest.mark.parametrize(
    "values, named",
    [
        ({"CHAT_MODELS": {"default": EXTRACTIVE}}, EXTRACTIVE),
        ({"CHAT_MODELS": {"default": {"OPTIONS": {}}}}, "'BACKEND'"),
        ({"CHAT_MODELS": {"default": {"BACKEND": "no_such_package.Model"}}}, "no_such_package"),
        ({"CHAT_MODELS": {"default": {"BACKEND": "collections.abc.Nothing"}}}, "Nothing"),
        ({"CHAT_MODELS": {"default": {"BACKEND": "langchain_openai.ChatOpenAy"}}}, "ChatOpenAy"),
        ({"CHAT_MODELS": {"a": {**REMOTE, "FALLBACK": "gone"}}}, "'gone', which is no alias."),
        ({"CHAT_MODELS": {"a": {**REMOTE, "FALLBACK": ["a"]}}}, "['a'], which is no alias."),
        ({"CHAT_MODELS": {"a": {**REMOTE, "FALLBACK": "a"}}}, "which leads back to it."),
        (
            {
                "CHAT_MODELS": {
                    "a": {**REMOTE, "FALLBACK": "b"},
                    "b": {**REMOTE, "FALLBACK": "a"},
                }
            },
            "['b'] has the FALLBACK 'a', which leads back to it.",
        ),
        ({"EMBEDDINGS": {"e": {"BACKEND": "not a path"}}}, "not a dotted path"),
        ({"RUNNER": "ai_answers.runs.runner.NoRunner"}, "NoRunner"),
        ({"RUNNER": None}, "None"),
        ({"TRACER": {"BACKEND": "ai_answers.contrib.otel.Tracker"}}, "Tracker"),
        ({"SCOPE": "tests.site.nowhere.scope"}, "tests.site.nowhere"),
        ({"MASK": 3}, "'MASK'] is 3: it is not callable"),
        ({"USER_ACCESS_TAGS": "tests.site.ai_answers.no_such_name"}, "no_such_name"),
        ({"USER_ACCESS_TAGS": "tests"}, "'tests': it is not a dotted path"),
        ({"SCOPE": "tests.settings.LANGUAGES"}, "LANGUAGES': it is not callable"),
        ({"MASK": "tests.site.ai_answers"}, "ai_answers': it is not callable"),
        (
            {"INDEXES": {"default": {"BACKEND": DATABASE_INDEX, "EMBEDDING": "gone"}}},
            "EMBEDDING 'gone'",
        ),
        (
            {"INDEXES": {"default": {"BACKEND": DATABASE_INDEX, "RERANKER": "gone"}}},
            "RERANKER 'gone'",
        ),
        (
            {"INDEXES": {"default": {"BACKEND": DATABASE_INDEX, "SOURCES": ["site.gone"]}}},
            "'site.article'",
        ),
    ],
)
def test_a_name_that_leads_nowhere_is_an_error(values, named):
    with answers(**values):
        assert any(named in text for text in texts("E002")), ours()


def test_a_class_deep_in_packages_of_many_distributions_is_found(tmp_path, monkeypatch):
    """``google.cloud…`` and the like: folders without an ``__init__.py``, not imported yet."""
    folder = tmp_path / "outer_space" / "inner" / "innermost"
    folder.mkdir(parents=True)
    (folder / "models.py").write_text("class Model:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = "outer_space.inner.innermost.models"
    with answers(CHAT_MODELS={"default": {"BACKEND": f"{path}.Model"}}):
        assert texts("E002") == []
    with answers(CHAT_MODELS={"default": {"BACKEND": f"{path}.Muddle"}}):
        assert "Muddle" in texts("E002")[0]


@pytest.mark.parametrize(
    "path", ["langchain_openai.ChatOpenAI", "langchain_openai.chat_models.base.ChatOpenAI"]
)
def test_a_vendors_package_is_not_imported_to_check_its_name(path):
    """Design 1.2: checks run with every command, and this import takes seconds."""
    code = (
        "import django, sys; django.setup()\n"
        "from django.core.checks import run_checks\n"
        "from django.conf import settings\n"
        f"settings.AI_ANSWERS['CHAT_MODELS'] = {{'default': {{'BACKEND': {path!r}}}}}\n"
        "ids = [m.id for m in run_checks(tags=['ai_answers'])]\n"
        "print(ids, sorted(m for m in sys.modules if m in ('langchain_openai', 'openai')))"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert result.stdout == "[] []\n"


@pytest.mark.parametrize(
    "values, named",
    [
        ({"MAX_ROUNDS": 0}, "above 0, not 0"),
        ({"MAX_ROUNDS": "4"}, "not '4'"),
        ({"MAX_SOURCES": True}, "not True"),
        ({"RUN_SECONDS": -1}, "seconds above 0, not -1"),
        ({"HEARTBEAT_SECONDS": None}, "not None"),
        ({"ABANDON_SECONDS": 0}, "or None, not 0"),
        ({"RETENTION_DAYS": 1.5}, "or None, not 1.5"),
        ({"LOG_DAYS": 0}, "or None, not 0"),
        ({"TRUSTED_PROXIES": -1}, "0 or more, not -1"),
        ({"LINK_HOSTS": "example.com"}, "list or tuple of strings, not 'example.com'"),
        ({"LOG_TEXT": "yes"}, "True or False, not 'yes'"),
        ({"CHAT_MODELS": "x"}, "a dict, not 'x'"),
        ({"THROTTLE": {"burst": "ten/min"}}, "'10/min', or None, not 'ten/min'"),
        ({"THROTTLE": {"burst": "10/"}}, "not '10/'"),
        ({"BUDGETS": {"site": {"tokens": "5"}}}, "not '5'"),
        ({"BUDGETS": {"site": 5}}, "a dict, or None, not 5"),
        ({"BUDGETS": None}, "a dict, not None"),
        ({"TRACER": "otel"}, "a dict with a 'BACKEND', or None, not 'otel'"),
        ({"TRACER": {"OPTIONS": {}}}, "a dict with a 'BACKEND', or None"),
        ({"TRACER": {"BACKEND": OTEL, "OPTIONS": []}}, "a dict of arguments, not []"),
        ({"PRICES": None}, "a dict, not None"),
        ({"PRICES": {"m": 0.4}}, "['m'] must be a dict with 'input' and 'output'"),
        ({"PRICES": {"m": {"input": 0.4}}}, "not {'input': 0.4}"),
        ({"PRICES": {"m": {"input": 0.4, "output": -1}}}, "['output'] must be what a million"),
        ({"PRICES": {"m": {"input": "0.4", "output": 1}}}, "0 or more, not '0.4'"),
        (
            {"INDEXES": {"a": {"BACKEND": DATABASE_INDEX, "CHUNK_TOKENS": 0}}},
            "above 0, not 0",
        ),
        (
            {"INDEXES": {"a": {"BACKEND": DATABASE_INDEX, "CHUNK_OVERLAP": 300}}},
            "below CHUNK_TOKENS (300), not 300",
        ),
        (
            {"INDEXES": {"a": {"BACKEND": DATABASE_INDEX, "SOURCES": "site.article"}}},
            "not 'site.article'",
        ),
        ({"CHAT_MODELS": {"a": {**REMOTE, "TRIES": 0}}}, "['a']['TRIES'] must be a whole"),
        ({"CHAT_MODELS": {"a": {**REMOTE, "OPTIONS": []}}}, "a dict of arguments, not []"),
        ({"EMBEDDINGS": {"e": {**REMOTE, "BATCH": 0}}}, "['e']['BATCH'] must be a whole"),
        ({"EMBEDDINGS": {"e": {**REMOTE, "TRIES": "6"}}}, "above 0, not '6'"),
        ({"EMBEDDINGS": {"e": {**REMOTE, "SECONDS": 0}}}, "seconds above 0, not 0"),
        ({"EMBEDDINGS": {"e": {**REMOTE, "OPTIONS": None}}}, "a dict of arguments, not None"),
        ({"RERANKERS": {"r": {**REMOTE, "SECONDS": True}}}, "['r']['SECONDS'] must be a number"),
    ],
)
def test_a_value_of_the_wrong_type_or_size_is_an_error(values, named):
    with answers(**values):
        assert any(named in text for text in texts("E012")), ours()


@pytest.mark.parametrize(
    "values",
    [
        {"ABANDON_SECONDS": None, "RETENTION_DAYS": None, "LOG_DAYS": None, "TRUSTED_PROXIES": 2},
        {"THROTTLE": {"burst": None, "sustained": "5/day"}, "LINK_HOSTS": ["example.com"]},
        {"BUDGETS": {"site": {"questions": None, "tokens": 0}}, "RUN_SECONDS": 0.5},
        {"BUDGETS": {"site": None, "agent": {}, "visitor": None}},
        {"PRICES": {"m": {"input": Decimal("0.4"), "output": 0}}},
        {"TRACER": {"BACKEND": OTEL}},
        {"TRACER": {"BACKEND": LANGFUSE, "OPTIONS": {"public_key": "p", "secret_key": "s"}}},
        {"SCOPE": len, "MASK": "builtins.str", "RUNNER": "collections.OrderedDict"},
        {"INDEXES": {"a": {"BACKEND": DATABASE_INDEX, "SOURCES": ["site.article"]}}},
    ],
)
def test_other_right_values_are_silent(values):
    with answers(**values):
        assert ours() == []


def test_an_empty_key_of_a_tracer_is_a_warning():
    options = {"public_key": "pk", "secret_key": ""}
    with answers(TRACER={"BACKEND": LANGFUSE, "OPTIONS": options}):
        (message,) = ours()
    assert message.id == "ai_answers.W016" and "'secret_key'" in message.msg


@pytest.mark.parametrize(
    ("backend", "package", "extra"),
    [
        (OTEL, "opentelemetry", "otel"),
        (LANGFUSE, "opentelemetry.exporter.otlp.proto.http", "langfuse"),
    ],
)
def test_a_tracer_whose_package_is_missing_names_the_extra(monkeypatch, backend, package, extra):
    """E002."""
    monkeypatch.setitem(sys.modules, package, None)
    with answers(TRACER={"BACKEND": backend}):
        assert f"pip install django-ai-answers[{extra}]" in texts("E002")[0]


@pytest.mark.parametrize("kind", ["CHAT_MODELS", "EMBEDDINGS", "RERANKERS"])
def test_an_empty_key_is_a_warning(kind):
    entry = {"BACKEND": EXTRACTIVE, "OPTIONS": {"model": "m", "aws_session_token": " "}}
    with answers(**{kind: {**answered(kind), "far": entry}}):
        (message,) = ours()
    assert message.id == "ai_answers.W016" and message.level == checks.WARNING
    assert f"[{kind!r}]['far']['OPTIONS']['aws_session_token'] is empty" in message.msg
    assert message.hint


def answered(kind):
    return settings.AI_ANSWERS.get(kind, {})


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": "k", "client_secret": "s"},
        {"api_key": None, "max_tokens": None, "max_output_tokens": 0},
        {"key_prefix": "", "keywords": "", "stop_tokens": ""},
        {"api_key": len},
        None,
    ],
)
def test_keys_that_are_there_or_left_to_the_vendor_are_silent(options):
    with answers(CHAT_MODELS={"default": {"BACKEND": EXTRACTIVE, "OPTIONS": options}}):
        assert ids() == []


class Written(PublicSource):
    """A source whose fields a test sets."""

    model, name = Article, "site.written"

    def __init__(self, fields):
        self.fields = fields


class WithContent(Written):
    def get_content(self, obj, language):
        return obj.body


class WithDocuments(Written):
    def documents(self, obj):
        return iter(())


class Annotated(Written):
    def get_queryset(self):
        return Article.objects.annotate(shout=Upper("title")).extra(select={"one": "1"})


class Unready(Written):
    def get_queryset(self):
        raise OperationalError("no such table: site_article")


class NoModel(Written):
    model = None


@pytest.fixture
def registered_as(request):
    def register(source):
        register_source(source)
        request.addfinalizer(lambda: unregister(source))

    return register


@pytest.mark.parametrize(
    "source, named",
    [
        (Written([]), "'site.written': its fields are empty"),
        (Written(None), "its fields are empty"),
        (NoModel([]), "its fields are empty"),
        (Written(["title", "boddy"]), "its fields name 'boddy', which Article does not have."),
        (WithContent(["boddy"]), "'boddy'"),
        (Written(["mro"]), "'mro'"),
        (Written("title"), "a list of names, not 'title'"),
        (Written("__all__"), "a list of names, not '__all__'"),
        (Written([Article]), "a list of names, not"),
        (Written(5), "a list of names, not 5"),
        (Annotated(["shout", "whisper"]), "'whisper'"),
    ],
)
def test_a_source_that_makes_no_text_is_an_error(registered_as, source, named):
    registered_as(source)
    (message,) = [m for m in ours() if m.id == "ai_answers.E015"]
    assert named in message.msg
    assert message.level == checks.ERROR and message.obj is source and message.hint


def test_what_a_source_quotes_but_would_never_hear_of_is_named(registered_as):
    for name, affected in (("deaf", None), ("told", lambda self, instance: [])):
        own = {"get_affected": affected} if affected else {}
        quoting = {
            "name": name,
            "model": Article,
            "fields": ["title"],
            "depends_on": [Remark, Shop],
        }
        registered_as(type("Quoting", (PublicSource,), quoting | own)())
    (message,) = ours()
    assert message.id == "ai_answers.W022" and message.level == checks.WARNING
    assert "'deaf'" in message.msg and "Shop" in message.msg and message.hint


class OwnList(PublicDirectorySource):
    def get_ids(self):
        return []


def test_a_directory_source_without_its_folder_is_an_error(registered_as, tmp_path):
    registered_as(PublicDirectorySource(path=tmp_path / "gone", name="docs"))
    registered_as(PublicDirectorySource(path=tmp_path, name="there"))
    registered_as(OwnList(path=tmp_path / "gone", name="own"))
    (message,) = ours()
    assert message.id == "ai_answers.E017" and message.level == checks.ERROR
    assert "'docs'" in message.msg and repr(str(tmp_path / "gone")) in message.msg
    (tmp_path / "gone").mkdir()
    assert ours() == []


def test_a_misspelt_field_gets_the_closest_right_one(registered_as):
    registered_as(Written(["boddy"]))
    assert [m.hint for m in ours()] == ["Did you mean 'body'?"]


@pytest.mark.parametrize(
    "source",
    [
        Written(["title", "body_de", "get_absolute_url", "pk"]),
        Written(("title",)),
        WithContent([]),
        WithDocuments([]),
        Annotated(["shout", "one", "title"]),
        Unready(["set_elsewhere"]),
        NoModel(["anything"]),
    ],
)
def test_fields_properties_methods_and_annotations_are_right(registered_as, source):
    """A check that may be wrong about a site's code keeps silent."""
    registered_as(source)
    assert ours() == []


@pytest.mark.urls("tests.site.urls")
def test_urls_that_are_not_included_are_a_warning():
    assert ids() == ["W004"]


class _Patched(types.ModuleType):
    def is_module_patched(self, name):
        return name == "threading"

    def is_monkey_patched(self, name):
        return name == "thread"


@pytest.mark.parametrize("module", ["gevent.monkey", "eventlet.patcher"])
def test_patched_threads_are_an_error(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, _Patched(module))
    (text,) = texts("E006")
    assert text.startswith(module.split(".")[0])


def test_a_library_that_is_loaded_but_has_not_patched_is_silent(monkeypatch):
    monkeypatch.setitem(sys.modules, "gevent.monkey", types.ModuleType("gevent.monkey"))
    assert ids() == []


@pytest.mark.parametrize("name", ["LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"])
def test_tracing_by_the_environment_is_a_warning(monkeypatch, name):
    monkeypatch.setenv(name, "true")
    (text,) = texts("W010")
    assert name in text
    monkeypatch.setenv(name, "false")
    assert ids() == []


@pytest.mark.parametrize(
    "setting, entry",
    [
        ("INSTALLED_APPS", "rest_framework"),
        ("MIDDLEWARE", "django.contrib.sessions.middleware.SessionMiddleware"),
        ("MIDDLEWARE", "django.middleware.csrf.CsrfViewMiddleware"),
        ("MIDDLEWARE", "django.contrib.auth.middleware.AuthenticationMiddleware"),
    ],
)
def test_what_the_app_builds_on_must_be_there(setting, entry):
    kept = [name for name in getattr(settings, setting) if name != entry]
    with override_settings(**{setting: kept}):
        assert [text for text in texts("E011") if entry in text]


class Sessions(SessionMiddleware):
    """A site's own variant."""


def test_a_subclass_of_a_middleware_counts():
    swapped = [
        f"{__name__}.Sessions" if "SessionMiddleware" in name else name
        for name in settings.MIDDLEWARE
    ]
    with override_settings(MIDDLEWARE=swapped):
        assert ids() == []


@override_settings(TEMPLATES=[])
def test_cards_need_a_django_template_engine():
    assert any("template engine" in text for text in texts("E011"))


@pytest.fixture
def database(monkeypatch):
    """The settings of the default database, to be changed by a test."""
    changed = copy.deepcopy(connection.settings_dict)
    monkeypatch.setattr(connections["default"], "settings_dict", changed)
    return changed


@pytest.mark.parametrize(
    "options, missing",
    [
        ({}, ["IMMEDIATE", "WAL"]),
        ({"transaction_mode": "IMMEDIATE"}, ["WAL"]),
        ({"transaction_mode": "DEFERRED", "init_command": "PRAGMA journal_mode = wal"}, ["IMM"]),
    ],
)
def test_sqlite_with_its_defaults_is_a_warning(database, options, missing):
    database["OPTIONS"] = options
    if connection.vendor != "sqlite":
        pytest.skip("another database")
    (text,) = texts("W009")
    assert all(word in text for word in missing)
    assert len(missing) == 2 or " and " not in text.split(";")[0]


def test_sqlite_in_memory_is_silent(database):
    database["OPTIONS"], database["NAME"] = {}, "file:memorydb?mode=memory&cache=shared"
    assert ids() == []


def test_the_extractive_model_is_a_warning_at_deployment_only():
    assert "W005" not in ids()
    assert "W005" in ids(deploy=True)
    with answers(CHAT_MODELS={"default": {"BACKEND": "langchain_openai.ChatOpenAI"}}):
        assert "W005" not in ids(deploy=True)


@pytest.mark.parametrize("age", [60, None])
def test_persistent_connections_under_asgi_are_a_warning(database, age):
    database["CONN_MAX_AGE"] = age
    with override_settings(ASGI_APPLICATION="site.asgi.application"):
        assert f"CONN_MAX_AGE is {age!r}" in texts("W007", deploy=True)[0]
    with override_settings(ASGI_APPLICATION=None):
        assert "W007" not in ids(deploy=True)


@pytest.mark.parametrize(
    "pool, warned",
    [
        (True, True),
        ({"min_size": 2, "max_size": 4}, True),
        ({"min_size": 2, "max_size": 16}, False),
        (False, False),
    ],
)
def test_a_pool_smaller_than_the_bursts_is_a_warning(database, pool, warned):
    database["OPTIONS"] = {**database["OPTIONS"], "pool": pool}
    assert ("W007" in ids(deploy=True)) is warned


def test_throttles_need_a_cache_that_processes_share():
    with answers(THROTTLE={"burst": "10/min", "sustained": None}):
        assert "W008" in ids(deploy=True)
        shared = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache"}}
        with override_settings(CACHES=shared):
            assert "W008" not in ids(deploy=True)
    assert "W008" not in ids(deploy=True)  # the tests' settings switch the throttles off


def agent(*, index="default", **fields):
    made = Agent.objects.create(name="Library", slug="library", **fields)
    if index is not None:
        AgentTool.objects.create(agent=made, tool="search", index=index)
    return made


DEFAULT = {"databases": ["default"]}


@pytest.mark.django_db
def test_agents_are_looked_at_only_when_the_database_is_asked_for():
    agent(chat_model="gone")
    assert ids() == []
    assert "E002" in ids(**DEFAULT)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "fields, named",
    [({"chat_model": "gone"}, "'CHAT_MODELS'"), ({"index": "gone"}, "'INDEXES'")],
)
def test_an_agent_that_names_a_missing_alias_is_an_error(fields, named):
    agent(**fields)
    (text,) = texts("E002", **DEFAULT)
    assert "'library'" in text and named in text and "'gone'" in text


@pytest.mark.django_db
def test_an_agent_with_a_tool_nobody_registered_is_an_error():
    AgentTool.objects.create(agent=agent(), tool="weather")
    assert "No tool 'weather' is registered." in texts("E002", **DEFAULT)[0]


@pytest.mark.django_db
def test_an_agent_that_cannot_answer_is_a_warning_unless_it_is_off():
    """S18."""
    made = agent(index=None)
    assert ids(**DEFAULT) == ["W013"]
    Agent.objects.filter(pk=made.pk).update(enabled=False)
    assert ids(**DEFAULT) == []


@pytest.mark.django_db
def test_an_empty_index_is_a_warning_once_an_agent_searches_it():
    assert ids(**DEFAULT) == []
    agent()
    (text,) = texts("W003", **DEFAULT)
    assert "'default'" in text
    IndexedDocument.objects.create(index="default", entity_type="site.article", entity_id="1")
    assert "W003" not in ids(**DEFAULT)


@pytest.mark.django_db
def test_an_index_that_was_built_with_other_settings_is_a_warning():
    """Design 6: a changed embedding or chunk size marks the index stale."""
    agent()
    Article.objects.create(title="Hours", body="We open at nine.")
    index_source(get_source("site.article"))
    assert ids(**DEFAULT) == []

    with answers(INDEXES={"default": {"BACKEND": DATABASE_INDEX, "CHUNK_TOKENS": 150}}):
        (text,) = texts("W014", **DEFAULT)
    assert "'default'" in text


@pytest.mark.django_db(transaction=True)
def test_a_database_without_tables_is_not_looked_at():
    with connection.schema_editor() as editor:
        editor.alter_db_table(AgentTool, "ai_answers_agenttool", "moved_away")
    try:
        assert ids(**DEFAULT) == []
    finally:
        with connection.schema_editor() as editor:
            editor.alter_db_table(AgentTool, "moved_away", "ai_answers_agenttool")


@pytest.mark.django_db
def test_a_lowest_score_for_another_kind_of_score_is_a_warning():
    """R14, R22: a reranker's relevance is not a full-text score."""
    made = agent()
    made.tools.update(min_score=2.5, score_kind="bm25")
    IndexedDocument.objects.create(index="default", entity_type="site.article", entity_id="1")
    assert "W018" not in ids(**DEFAULT)
    made.tools.update(score_kind="")  # set in code: nothing tells what it is for
    assert "no kind" in texts("W018", **DEFAULT)[0]
    made.tools.update(score_kind="bm25")
    reranked = {"default": {"BACKEND": DATABASE_INDEX, "RERANKER": "order"}}
    backend = {"order": {"BACKEND": "ai_answers.retrieval.rerank_endpoint.RerankEndpoint"}}
    with answers(INDEXES=reranked, RERANKERS=backend):
        (text,) = texts("W018", **DEFAULT)
    assert "2.5" in text and "'bm25'" in text and "'order'" in text


@pytest.mark.django_db
def test_arguments_that_do_not_fit_their_tool_are_a_warning():
    """T7: the tool has changed since they were set."""

    @tool
    def weather(place: str) -> str:
        """Tell the weather."""
        return place

    register_tool(weather)
    try:
        AgentTool.objects.create(
            agent=agent(), tool="weather", arguments={"town": {"value": "Oslo"}}
        )
        (text,) = texts("W019", **DEFAULT)
    finally:
        unregister_tool("weather")
    assert "“town”" in text and "place" in text


@pytest.mark.django_db
def test_vectors_in_postgresql_need_postgresql():
    if connection.vendor == "postgresql":
        pytest.skip("the whole suite runs on PostgreSQL")
    pytest.importorskip("psycopg")
    path = "ai_answers.contrib.pgvector.index.PgVectorIndex"
    with answers(INDEXES={"default": {"BACKEND": path}}):
        (text,) = texts("E020", **DEFAULT)
    assert "'default'" in text and "'sqlite'" in text


STORE_INDEX = "ai_answers.retrieval.vector_store.VectorStoreIndex"
RETRIEVER_INDEX = "ai_answers.retrieval.retriever.RetrieverIndex"
OPENSEARCH = "ai_answers.contrib.opensearch.OpenSearchWords"
EMBEDDINGS = {"concepts": {"BACKEND": "tests.retrieval.embedding.ConceptEmbedding"}}
MEMORY = {"BACKEND": "langchain_core.vectorstores.InMemoryVectorStore"}


def one_index(backend, embedding="concepts", **options):
    entry = {"BACKEND": backend, "EMBEDDING": embedding, "OPTIONS": options}
    return answers(EMBEDDINGS=EMBEDDINGS, INDEXES={"default": entry})


@pytest.mark.parametrize(
    ("backend", "options", "named", "hint"),
    [
        (STORE_INDEX, {}, "needs 'store'", "dotted path"),
        (STORE_INDEX, {"store": {"OPTIONS": {}}}, "needs 'store'", "dotted path"),
        (STORE_INDEX, {"store": {"BACKEND": "no_such_store.Store"}}, "'no_such_store'",
         "pip install no-such-store"),
        (STORE_INDEX, {"store": {"BACKEND": "langchain_core.vectorstores.Nothing"}}, "Nothing",
         "Correct it."),
        (STORE_INDEX, {"store": MEMORY, "filter": "tests.nowhere.filter"}, "nowhere",
         "leave it out"),
        (RETRIEVER_INDEX, {}, "needs 'retriever'", "dotted path"),
        (RETRIEVER_INDEX, {"retriever": {"BACKEND": "no_such.R"}}, "'no_such'", "pip install"),
        (DATABASE_INDEX, {"words": "opensearch"}, "needs 'words'", "dotted path"),
        (DATABASE_INDEX, {"words": {"BACKEND": "no_such.W"}}, "'no_such'", "pip install"),
    ],
)  # fmt: skip
def test_a_part_of_an_index_that_leads_nowhere_is_an_error(backend, options, named, hint):
    with one_index(backend, **options):
        [message] = ours()
    assert message.id == "ai_answers.E002"
    assert named in message.msg and hint in message.hint


def test_parts_that_are_there_are_silent():
    words = {"BACKEND": OPENSEARCH, "OPTIONS": {"hosts": ["http://127.0.0.1:9"]}}
    with one_index(STORE_INDEX, store=MEMORY, words=words):
        assert ours() == []
    with one_index(DATABASE_INDEX, embedding=None, words=words):
        assert ours() == []


def test_a_vector_store_without_embedding_is_an_error():
    with one_index(STORE_INDEX, embedding=None, store=MEMORY):
        assert "no EMBEDDING" in texts("E021")[0]


def test_a_database_without_full_text_is_an_error_that_names_the_way_out(monkeypatch):
    """MySQL and MariaDB."""
    monkeypatch.setattr(type(connections["default"]), "vendor", "mysql")
    [message] = [message for message in ours() if message.id == "ai_answers.E021"]
    assert "'mysql'" in message.msg and "VectorStoreIndex" in message.hint
    with one_index(STORE_INDEX, store=MEMORY):
        assert texts("E021") == []


def test_opensearch_without_its_client_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "opensearchpy", None)
    words = {"BACKEND": OPENSEARCH, "OPTIONS": {}}
    with one_index(DATABASE_INDEX, embedding=None, words=words):
        [message] = [message for message in ours() if message.id == "ai_answers.E021"]
    assert "django-ai-answers[opensearch]" in message.hint
