import subprocess
import sys

HEAVY = (
    "numpy", "langchain_core", "langchain_openai", "openai", "nh3", "markdown_it", "turbohtml",
    "pypdf", "mammoth", "pptx", "odfdo", "python_calamine", "opensearchpy", "snowballstemmer",
)  # fmt: skip
SETUP = f"""
import django, sys
django.setup()
print([name for name in {HEAVY!r} if name in sys.modules])
"""


def test_starting_django_with_the_app_loads_no_heavy_package(monkeypatch):
    """A management command that asks nothing pays nothing; vendors are loaded at first use."""
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.settings")
    done = subprocess.run([sys.executable, "-c", SETUP], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


WITHOUT_AUTH = """
import django
from django.conf import settings
settings.configure(INSTALLED_APPS=["rest_framework", "ai_answers"])
django.setup()
"""


def test_a_project_without_the_auth_app_is_told_what_it_lacks():
    done = subprocess.run([sys.executable, "-c", WITHOUT_AUTH], capture_output=True, text=True)
    assert "needs 'django.contrib.auth' and 'django.contrib.contenttypes'" in done.stderr
