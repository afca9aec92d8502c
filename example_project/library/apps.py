from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LibraryConfig(AppConfig):
    name = "example_project.library"
    label = "library"
    verbose_name = _("Library")
    default_auto_field = "django.db.models.BigAutoField"
