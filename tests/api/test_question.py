import json
import uuid
from contextlib import ExitStack, contextmanager
from decimal import Decimal

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from django.db.backends.signals import connection_created
from django.db.models import F
from django.test import Client

from ai_answers.chat_models.scripted import call, fail, say, scripted
from ai_answers.models import Agent, BudgetDay, Conversation, Run, RunLog, Turn
from ai_answers.runs import live
from ai_answers.values import Usage

from ..content import make_agent
from ..sse import frames_of
from .conftest import elsewhere

ANSWER = "They leave on Friday at six [1]."


def written():
    return (Conversation.objects.count(), Turn.objects.count(), Run.objects.count())


def error_of(response):
    body = json.loads(response.content)
    assert set(body) == {"error"} and set(body["error"]) == {"code", "message"}
    assert body["error"]["message"]
    return response.status_code, body["error"]["code"]


def test_a_question_streams_its_answer_and_ends_with_done(visitor):
    """S5, S7, S60, S64-S66, S68, D25-D27: turn, references, citation, text, done."""
    with scripted(say(ANSWER, usage=Usage(input_tokens=5, output_tokens=7))):
        response = visitor.ask(stream=True)
        frames = frames_of(response)
    assert response["Content-Type"].startswith("text/event-stream")
    assert response["Cache-Control"] == "no-store, no-transform"
    assert response["X-Accel-Buffering"] == "no"
    kinds = [frame.kind for frame in frames]
    assert kinds[0] == "turn" and kinds[-1] == "done"
    citing = next(n for n, f in enumerate(frames) if "[1]" in f.data.get("text", ""))
    assert kinds.index("references") < kinds.index("citation") < citing
    assert [frame.id for frame in frames] == sorted({frame.id for frame in frames})
    text = "".join(frame.data["text"] for frame in frames if frame.kind == "token")
    done = frames[-1].data
    assert text == done["text"] == "They leave on Friday at six[1]."
    assert done["outcome"] == "answered" and done["usage"]["total_tokens"] == 12
    (reference,) = done["references"]
    assert reference["index"] == 1 and reference["label"] == "Depot times"
    assert reference["key"] == f"{reference['entity_type']}:{reference['entity_id']}"
    assert "Friday" not in json.dumps(reference)  # D30: chunk text never leaves the server
    provisional = next(frame for frame in frames if frame.kind == "references").data["references"]
    assert len(provisional) >= 1 and all("index" not in row for row in provisional)


def test_any_other_accept_value_gives_one_json_answer(visitor):
    """S6, S67, D23, D29: JSON, not 406; no trace ids without the permission (D21)."""
    with scripted(say(ANSWER)):
        response = visitor.post(
            "question", {"agent": "depot", "question": "Parcels?"}, HTTP_ACCEPT="image/png"
        )
    assert response.status_code == 200 and response["Cache-Control"] == "no-store"
    body = response.json()
    assert set(body) == {"conversation_id", "turn", "run", "answer", "outcome", "usage"}
    assert body["answer"]["text"] == "They leave on Friday at six[1]."
    assert [row["index"] for row in body["answer"]["references"]] == [1]


def test_html_format_sends_parts_and_keeps_them_for_json(visitor):
    with scripted(say(ANSWER), say(ANSWER)):
        frames = frames_of(visitor.ask(stream=True, format="html"))
        body = visitor.ask(format="html").json()
    assert not [frame for frame in frames if frame.kind == "token"]
    parts = {f.data["index"]: f.data["html"] for f in frames if f.kind == "part"}
    assert "".join(parts.values()) == body["answer"]["html"]
    assert 'data-ref-index="1"' in body["answer"]["html"]


def test_trace_ids_come_with_the_permission_only(agent, api):
    """D21, D27, D29, S69: absent without the permission, from whichever process it is read."""
    user = User.objects.create_user("tracer")
    user.user_permissions.add(Permission.objects.get(codename="view_ai_answers_traces"))
    with scripted(say(ANSWER), say(ANSWER), say(ANSWER)):
        body = api(user).ask().json()
        done = frames_of(api(user).ask(stream=True))[-1].data
        plain = frames_of(api().ask(stream=True))
    logged = {str(entry.run_id): str(entry.pk) for entry in RunLog.objects.all()}
    assert body["log_id"] == logged[body["run"]] and body["trace_id"] is None
    assert done["log_id"] in logged.values() and done["trace_id"] is None
    assert {"log_id", "trace_id"}.isdisjoint(plain[-1].data)
    live.forget_ended(older_than=0)
    run = plain[0].data["run"]
    from_the_database = frames_of(api().get(f"runs/{run}/events"))[-1]
    assert from_the_database.kind == "done"
    assert {"log_id", "trace_id"}.isdisjoint(from_the_database.data)
    traced = frames_of(api(user).get(f"runs/{run}/events"))[-1]
    assert traced.data["log_id"] == logged[run]


BODIES = [
    ({"agent": "depot", "question": ""}, 400, "invalid"),
    ({"agent": "depot", "question": " \n\t "}, 400, "invalid"),
    ({"agent": "depot", "question": None}, 400, "invalid"),
    ({"agent": "depot"}, 400, "invalid"),
    ({"agent": "depot", "question": {"a": 1}}, 400, "invalid"),
    ({"agent": "depot", "question": "x" * 2001}, 400, "invalid"),
    ({"agent": "depot", "question": "nul \x00 in it"}, 400, "invalid"),
    ({"question": "no agent"}, 400, "invalid"),
    ({"agent": "nobody", "question": "unknown agent"}, 404, "not_found"),
    ({"agent": "depot", "question": "x", "conversation_id": "no-uuid"}, 400, "invalid"),
    ({"agent": "depot", "question": "x", "conversation_id": str(uuid.uuid4())}, 404, "not_found"),
    ({"agent": "depot", "question": "x", "format": "pdf"}, 400, "invalid"),
    ({"agent": "depot", "question": "x", "language": "klingon"}, 400, "invalid"),
    ({"agent": "depot", "question": "x", "page": "not an object"}, 400, "invalid"),
    ({"agent": "depot", "question": "x", "request_id": "r" * 101}, 400, "invalid"),
    ([1, 2], 400, "invalid"),
    ("text", 400, "invalid"),
    (None, 400, "invalid"),
]
RAW = [
    (b"", 400, "invalid"),
    (b"{", 400, "invalid"),
    (b'{"agent": "depot", "question": "\xff"}', 400, "invalid"),
    (b'{"agent": "depot", "question": "lone \\ud800 half"}', 400, "invalid"),
    (b"[" * 30_000, 400, "invalid"),
    (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, 400, "invalid"),
    (b'{"agent": "depot", "question": "' + b"x" * 1_000_000 + b'"}', 413, "too_large"),
]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
@pytest.mark.parametrize(("body", "status", "code"), BODIES)
def test_a_bad_body_is_refused_in_one_shape_and_nothing_is_written(
    visitor, body, status, code, stream
):
    """S4, S10, S11, S13: whatever was accepted, the error is JSON."""
    response = visitor.post("question", body, stream=stream)
    assert error_of(response) == (status, code)
    assert response["Content-Type"] == "application/json"
    assert written() == (0, 0, 0) and not BudgetDay.objects.exists()


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
@pytest.mark.parametrize(
    ("raw", "status", "code"), RAW, ids=[r[:12].decode("latin1") for r, *_ in RAW]
)
def test_bad_json_is_refused_and_nothing_is_written(visitor, raw, status, code, stream):
    assert error_of(visitor.post("question", raw=raw, stream=stream)) == (status, code)
    assert written() == (0, 0, 0)


def test_another_content_type_is_refused(visitor):
    response = visitor.post("question", raw="q=1", content_type="text/plain")
    assert error_of(response) == (415, "unsupported_media_type")


def test_a_wrong_method_is_refused_in_the_same_shape(visitor):
    response = visitor.get("question")
    assert error_of(response) == (405, "method_not_allowed") and "POST" in response["Allow"]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
def test_no_csrf_token_is_refused_for_anonymous_and_signed_in(agent, api, stream):
    """S2, S3: checked on the route, for everyone."""
    for who in (None, User.objects.create_superuser("root")):
        response = api(who, csrf=False).ask(stream=stream)
        assert error_of(response) == (403, "csrf_failed")
    assert written() == (0, 0, 0)


def test_a_page_that_was_cached_gets_its_token_from_the_session_endpoint(agent):
    """D24, S80: the cookie comes with it; agent and question are all that a body needs."""
    client = Client(enforce_csrf_checks=True)
    sent = {"content_type": "application/json", "data": {"agent": "depot", "question": "When?"}}
    assert client.post("/ai-answers/question", **sent).status_code == 403
    session = client.get("/ai-answers/session")
    assert session["Cache-Control"] == "no-store" and client.cookies["csrftoken"].value
    headers = {"X-CSRFToken": session.json()["csrf_token"]}
    with scripted(say(ANSWER)):
        assert client.post("/ai-answers/question", headers=headers, **sent).status_code == 200


def test_a_disabled_agent_is_a_conflict(visitor, agent):
    """S9, S16, D2."""
    Agent.objects.update(enabled=False)
    assert error_of(visitor.ask()) == (409, "agent_not_usable")
    assert written() == (0, 0, 0)


def test_an_agent_without_an_index_is_a_conflict(visitor, agent):
    """S17-S19."""
    agent.tools.update(index="")
    assert error_of(visitor.ask(stream=True)) == (409, "agent_not_usable")
    agent.tools.all().delete()
    assert error_of(visitor.ask()) == (409, "agent_not_usable")
    assert written() == (0, 0, 0)


def test_access_of_an_agent_is_denied_by_default(agent, api):
    """S1, D19, D22: authenticated needs the permission, groups a group on top."""
    Agent.objects.update(access=Agent.Access.AUTHENTICATED)
    user = User.objects.create_user("ada")
    assert error_of(api().ask()) == (403, "permission_denied")
    assert error_of(api(user).ask()) == (403, "permission_denied")
    user.user_permissions.add(Permission.objects.get(codename="use_ai_answers"))
    with scripted(say(ANSWER)):
        assert api(user).ask().status_code == 200
    Agent.objects.update(access=Agent.Access.GROUPS)
    assert error_of(api(user).ask()) == (404, "not_found")
    group = Group.objects.create(name="readers")
    agent.groups.add(group)
    user.groups.add(group)
    with scripted(say(ANSWER)):
        assert api(user).ask().status_code == 200


@pytest.mark.parametrize(
    ("access", "may_use"),
    [
        (Agent.Access.AUTHENTICATED, False),
        (Agent.Access.GROUPS, False),
        (Agent.Access.GROUPS, True),
    ],
)
def test_a_private_agent_cannot_be_told_from_one_that_there_is_not(agent, api, access, may_use):
    """S23: slugs can be guessed, so both are answered with the same bytes, switched on or off."""
    user = User.objects.create_user("ada") if may_use else None
    if user:
        user.user_permissions.add(Permission.objects.get(codename="use_ai_answers"))
    private = make_agent(slug="board", access=access)
    who = api(user)
    for enabled in (True, False):
        Agent.objects.filter(pk=private.pk).update(enabled=enabled)
        for path in ("question", "search"):
            known, unknown = (
                who.post(path, {"agent": slug, "question": "x", "query": "x"})
                for slug in ("board", "nobody")
            )
            assert error_of(known) == (404, "not_found")
            assert known.content == unknown.content
            assert sorted(known.headers.items()) == sorted(unknown.headers.items())
        known, unknown = (
            who.client.post("/ai-answers/ask", page | {"csrfmiddlewaretoken": who.token})
            for page in ({"q": "x", "agent": "board"}, {"q": "x", "agent": "nobody"})
        )
        assert known.status_code == unknown.status_code == 404
        assert known.context["error"] == unknown.context["error"]


def test_the_session_is_saved_before_the_stream_is_read(visitor, settings):
    """S8: nothing of a session waits for the end of a stream."""
    settings.SESSION_SAVE_EVERY_REQUEST = True
    session = visitor.client.session
    session["seen"] = "yes"
    session.save()
    with scripted(say(ANSWER, first_delay_seconds=0.3)):
        before = Session.objects.get().expire_date
        response = visitor.ask(stream=True)
        assert Session.objects.get().expire_date > before
        assert frames_of(response)[-1].kind == "done"


def test_a_failed_run_is_a_500_in_json_and_an_error_frame_in_a_stream(visitor):
    """S12, D28: fixed texts; the provider's words stay in the log."""
    with scripted(fail(RuntimeError("secret of the provider"))):
        response = visitor.ask()
    assert error_of(response)[0] == 500
    assert b"secret" not in response.content
    with scripted(fail(RuntimeError("secret of the provider"))):
        last = frames_of(visitor.ask(stream=True))[-1]
    assert last.kind == "error" and last.data["outcome"] == "failed"
    assert last.data["message"] and "secret" not in json.dumps(last.data)
    assert set(Turn.objects.values_list("outcome", flat=True)) == {"failed"}


def test_the_first_turn_searches_before_the_model_is_asked(visitor):
    """S27, D41, S38: sources are in the first prompt, behind the agent's own instructions."""
    Agent.objects.update(instructions="You are the depot's clerk.", guidance="Be brief.")
    with scripted(say(ANSWER)) as script:
        visitor.ask("When do parcels leave the depot?")
    prompt = script.requests[0].system_prompt
    assert prompt.startswith("You are the depot's clerk.")
    assert prompt.index("square") < prompt.index("Be brief.") < prompt.index("Depot times")
    assert "heron" not in prompt and "lounge" not in prompt  # D42: access before the prompt


def test_a_later_round_keeps_numbers_and_the_tool_message_bears_them(visitor):
    """S45, S61-S63, G01, S65: numbers by first citation for the reader, stable for the model."""
    with scripted(
        call("search", query="parcel label address capital letters"),
        say("Write the address in capitals [2]. They leave on Friday [1]."),
    ) as script:
        frames = frames_of(visitor.ask("When do parcels leave the depot?", stream=True))
    tool_message = script.requests[1].messages[-1]
    assert tool_message.type == "tool" and "capital letters" in tool_message.text
    done = frames[-1].data
    assert done["text"] == "Write the address in capitals[1]. They leave on Friday[2]."
    assert [row["index"] for row in done["references"]] == [1, 2]
    assert sum(frame.kind == "references" for frame in frames) >= 1


def test_invalid_citations_are_cut_and_counted(visitor):
    """D44, M4."""
    with scripted(say("On Friday [1]. By ship [19].")):
        body = visitor.ask().json()
    assert body["answer"]["text"] == "On Friday[1]. By ship."
    assert Turn.objects.get().invalid_citations == 1


def test_no_text_gives_the_no_answer_message_on_both_paths(visitor):
    """S31 (b), S32, D6."""
    Agent.objects.update(no_answer_message="Nothing found, sorry.")
    with scripted(say(""), say("")):
        body = visitor.ask().json()
        frames = frames_of(visitor.ask(stream=True))
    assert body["answer"]["text"] == "Nothing found, sorry." and body["outcome"] == "no_answer"
    assert body["answer"]["references"] == []
    assert frames[-1].data["text"] == "Nothing found, sorry."
    assert [f.data["text"] for f in frames if f.kind == "token"] == ["Nothing found, sorry."]


def test_an_answer_of_markers_alone_counts_as_empty(visitor):
    """G17."""
    with scripted(say("[1] [2]")):
        body = visitor.ask().json()
    assert body["outcome"] == "no_answer" and body["answer"]["references"] == []


def test_markers_that_were_streamed_are_taken_back_before_the_message(visitor):
    """G17, S68: a reader's text is the same as the final one."""
    for format in ("markdown", "html"):
        with scripted(say("[1]", hang_seconds=0.3)):
            frames = frames_of(visitor.ask(stream=True, format=format))
        (at,) = [n for n, frame in enumerate(frames) if frame.kind == "snapshot"]
        assert not "".join(frames[at].data.get("parts", [])) and not frames[at].data.get("text")
        if format == "markdown":
            text = "".join(f.data["text"] for f in frames[at:] if f.kind == "token")
            assert text == frames[-1].data["text"]


def test_json_errors_are_in_the_language_that_was_asked_for(visitor):
    with scripted(fail(RuntimeError("planned"))):
        response = visitor.ask(language="de")
    assert "versuchen" in response.json()["error"]["message"]


def test_a_code_that_cannot_be_mended_by_asking_again_is_not_retryable(visitor):
    from ai_answers.exceptions import ModelFailed

    class WrongKey(ModelFailed):
        code, retryable = "model_auth", False

    with scripted(fail(WrongKey("401"))):
        assert frames_of(visitor.ask(stream=True))[-1].data["retryable"] is False


def test_options_tell_nothing(visitor):
    response = visitor.client.options("/ai-answers/question", HTTP_X_CSRFTOKEN=visitor.token)
    assert error_of(response) == (405, "method_not_allowed")


def test_no_text_of_a_visitor_or_provider_is_logged_above_debug(visitor, caplog):
    error = RuntimeError("the provider says: canary-key")
    error.__cause__ = ValueError("canary-question")
    with caplog.at_level("INFO"), scripted(fail(error)):
        visitor.ask("canary-question?")
        visitor.ask("x", agent="canary-slug")
        visitor.get("conversations/canary-id")
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("ai_answers")]
    assert len(ours) >= 3 and "canary" not in "".join(ours)


def test_streamed_text_without_sources_stays_and_json_replaces_it(visitor):
    """S31 (a), S33."""
    nothing = "zzyzx qwv"
    with scripted(say("I do not know."), say("I do not know.")):
        frames = frames_of(visitor.ask(nothing, stream=True))
        body = visitor.ask(nothing).json()
    assert frames[-1].data["text"] == "I do not know."
    assert body["outcome"] == "no_answer" and "I do not know." not in body["answer"]["text"]


def test_the_same_request_id_is_answered_by_the_same_run(visitor, api):
    request_id = str(uuid.uuid4())
    with scripted(say(ANSWER)) as script:
        first = visitor.ask(request_id=request_id).json()
        again = visitor.ask(request_id=request_id).json()
    assert first == again and len(script.requests) == 1
    with scripted(say(ANSWER)):
        assert api().ask(request_id=request_id).json()["run"] != first["run"]
    other = visitor.ask("Another question?", request_id=request_id)
    assert error_of(other) == (400, "invalid")
    Agent.objects.update(access=Agent.Access.AUTHENTICATED)
    assert error_of(visitor.ask(request_id=request_id)) == (403, "permission_denied")


def test_throttle_answers_429_with_retry_after(visitor, settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"THROTTLE": {"burst": "2/min", "sustained": None}}
    with scripted(say(ANSWER), say(ANSWER)):
        # A header that anyone can send must not give a new identity.
        for address in ("1.1.1.1", "2.2.2.2"):
            body = {"agent": "depot", "question": "When?"}
            assert visitor.post("question", body, HTTP_X_FORWARDED_FOR=address).status_code == 200
    response = visitor.post("question", body, HTTP_X_FORWARDED_FOR="3.3.3.3")
    assert error_of(response) == (429, "throttled") and int(response["Retry-After"]) >= 1


def test_a_spent_budget_answers_429_and_nothing_is_written(visitor, settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"BUDGETS": {"site": {"questions": 1}}}
    with scripted(say(ANSWER)):
        assert visitor.ask().status_code == 200
    before = written()
    response = visitor.ask(stream=True)
    assert error_of(response) == (429, "budget_exhausted") and int(response["Retry-After"]) >= 1
    assert written() == before


def test_a_turn_keeps_its_usage_and_its_cost_and_tells_visitors_the_usage(visitor, settings):
    """D32; the cost is the site's business."""
    price = {"scripted": {"input": 0.4, "output": 1.6}}
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"PRICES": price}
    with scripted(say(ANSWER, usage=Usage(input_tokens=12_000, output_tokens=500))):
        response = visitor.ask()
    used = {"input_tokens": 12_000, "output_tokens": 500, "total_tokens": 12_500}
    turn = Turn.objects.get()
    assert turn.usage == response.json()["usage"] == used
    assert turn.cost == Decimal("0.0056") and b"cost" not in response.content


@contextmanager
def budgets_out_of_reach(*, times):
    """Let the next statements on the budgets' table fail, whichever connection sends them."""
    left = [OperationalError("The table is out of reach.")] * times

    def refuse(execute, sql, params, many, context):
        if "budgetday" in sql and left:
            raise left.pop()
        return execute(sql, params, many, context)

    def watch(connection, **kwargs):
        connection.execute_wrappers.append(refuse)

    connection_created.connect(watch)
    try:
        with connection.execute_wrapper(refuse):
            yield
    finally:
        connection_created.disconnect(watch)


def test_no_model_is_asked_where_nothing_can_be_reserved(visitor):
    """Budgets fail closed."""
    before = written()
    with scripted(say(ANSWER)) as script, budgets_out_of_reach(times=1):
        visitor.client.raise_request_exception = False
        response = visitor.ask()
    assert error_of(response)[0] == 500 and script.requests == [] and written() == before


def test_a_further_round_that_cannot_be_reserved_asks_no_model(visitor):
    """Budgets fail closed in the middle of a run as well, and what was reserved is given back."""
    failing = ExitStack()

    def first_round(messages):
        failing.enter_context(budgets_out_of_reach(times=1))
        return call("search", query="label")

    with scripted(first_round, say(ANSWER)) as script, failing:
        last = frames_of(visitor.ask(stream=True))[-1]
    assert (last.kind, last.data["outcome"]) == ("error", "failed") and len(script.requests) == 1
    assert BudgetDay.objects.get(key="site").reserved == 0


def test_a_budget_is_reserved_by_round_and_settled_by_use(visitor):
    usage = Usage(input_tokens=100, output_tokens=23)
    with scripted(call("search", query="label"), say(ANSWER, usage=usage)):
        visitor.ask()
    assert BudgetDay.objects.count() == 3
    ((questions, tokens, reserved),) = set(
        BudgetDay.objects.values_list("questions", "tokens", "reserved")
    )
    assert questions == 1 and tokens > 123 and reserved == 0


def test_a_further_round_without_budget_ends_the_run(visitor, settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"BUDGETS": {"site": {"tokens": 30_000}}}

    def others_ask_too(messages):
        elsewhere(BudgetDay.objects.filter(key="site").update, reserved=F("reserved") + 1)
        return call("search", query="label")

    with scripted(others_ask_too) as script:
        last = frames_of(visitor.ask(stream=True))[-1]
    assert (last.kind, last.data["code"]) == ("error", "busy") and len(script.requests) == 1
    assert BudgetDay.objects.get(key="site").reserved == 1
