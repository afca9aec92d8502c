from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class AiAnswersConfig(AppConfig):
    name = "ai_answers"
    label = "ai_answers"
    verbose_name = _("AI answers")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import checks, receivers  # noqa: F401 - importing checks registers them
        from .answers import bridge

        autodiscover_modules("ai_answers")  # each app's own ai_answers.py
        receivers.connect()
        bridge.connect()
