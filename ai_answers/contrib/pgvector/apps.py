from django.apps import AppConfig
from django.core.checks import register


class PgVectorConfig(AppConfig):
    name = "ai_answers.contrib.pgvector"
    label = "ai_answers_pgvector"
    verbose_name = "AI Answers: vectors in PostgreSQL"

    def ready(self) -> None:
        from .checks import check_database

        register(check_database, "ai_answers")
