"""Settings of the server processes that tests start; the environment says which site it is."""

import os

from .settings import *  # noqa: F403
from .settings import AI_ANSWERS, DATABASES

DEBUG = bool(os.environ.get("SITE_DEBUG"))
DATABASES["default"]["NAME"] = os.environ["SITE_DATABASE"]
DATABASES["default"]["ATOMIC_REQUESTS"] = bool(os.environ.get("SITE_ATOMIC_REQUESTS"))
AI_ANSWERS |= {
    "CHAT_MODELS": {
        "default": {
            "BACKEND": "langchain_openai.ChatOpenAI",
            "OPTIONS": {
                "model": "local",
                "base_url": os.environ["SITE_MODEL_URL"],
                "api_key": "none",
            },
        }
    },
    "HEARTBEAT_SECONDS": 1,
}
WSGI_APPLICATION = "tests.site.wsgi.application"
ASGI_APPLICATION = "tests.site.asgi.application"
