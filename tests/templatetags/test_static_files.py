"""The modules under Django's storage that writes hashes into file names and imports."""

from __future__ import annotations

import re
from pathlib import Path

from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.management import call_command
from django.test import override_settings


class ModuleStorage(ManifestStaticFilesStorage):
    support_js_module_import_aggregation = True


def test_every_import_gets_its_hashed_name(tmp_path, settings):
    storages = {"staticfiles": {"BACKEND": f"{__name__}.ModuleStorage"}}
    with override_settings(
        STATIC_ROOT=tmp_path,
        STORAGES={**settings.STORAGES, **storages},
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.staticfiles",
            "ai_answers",
        ],
    ):
        call_command("collectstatic", interactive=False, verbosity=0)
    hashed = [path for path in (tmp_path / "ai_answers").glob("*.js") if len(path.suffixes) == 2]
    names = {path.name for path in hashed}
    imports = {
        name for path in hashed for name in re.findall(r'from "\./([^"]+)"', Path(path).read_text())
    }

    assert len(hashed) == 8
    assert imports
    assert imports <= names
