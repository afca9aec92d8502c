from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class AiAnswersConfig(AppConfig):
    name = "ai_answers"
    label = "ai_answers"
    verbose_name = _("AI answers")
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self) -> None:
        # Before the models, whose import would fail with a riddle.
        missing = [
            app
            for app in ("django.contrib.auth", "django.contrib.contenttypes")
            if not self.apps.is_installed(app)
        ]
        if missing:
            raise ImproperlyConfigured(
                f"ai_answers needs {' and '.join(map(repr, missing))} in INSTALLED_APPS."
            )
        super().import_models()

    def ready(self) -> None:
        from . import checks, receivers  # noqa: F401 - importing checks registers them
        from .answers import bridge

        autodiscover_modules("ai_answers")  # each app's own ai_answers.py
        receivers.connect()
        bridge.connect()
