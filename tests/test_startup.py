import subprocess
import sys

HEAVY = ("numpy", "langchain_core", "langchain_openai", "openai", "nh3", "markdown_it")
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
