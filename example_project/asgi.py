"""The site for an ASGI server: ``uvicorn example_project.asgi:application``."""

import os

from django.core.asgi import get_asgi_application

from ai_answers.asgi import with_lifespan

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")

application = with_lifespan(get_asgi_application())
