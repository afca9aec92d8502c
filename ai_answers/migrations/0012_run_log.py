import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ai_answers", "0011_turn_cost"),
    ]

    operations = [
        migrations.CreateModel(
            name="RunLog",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("", "running"),
                            ("answered", "answered"),
                            ("fallback", "answered by a fallback model"),
                            ("no_answer", "no answer"),
                            ("refused", "refused"),
                            ("stopped", "stopped"),
                            ("failed", "failed"),
                            ("interrupted", "interrupted"),
                        ],
                        max_length=20,
                        verbose_name="outcome",
                    ),
                ),
                (
                    "error_code",
                    models.CharField(blank=True, max_length=50, verbose_name="error code"),
                ),
                (
                    "error",
                    models.TextField(
                        blank=True,
                        help_text="Type and place of what ended it, without its message.",
                        verbose_name="error",
                    ),
                ),
                (
                    "chat_model",
                    models.CharField(blank=True, max_length=100, verbose_name="chat model"),
                ),
                (
                    "model_name",
                    models.CharField(blank=True, max_length=200, verbose_name="name of the model"),
                ),
                ("search_seconds", models.FloatField(null=True, verbose_name="search")),
                (
                    "first_content_seconds",
                    models.FloatField(null=True, verbose_name="first content"),
                ),
                ("total_seconds", models.FloatField(null=True, verbose_name="total")),
                (
                    "input_tokens",
                    models.PositiveIntegerField(default=0, verbose_name="tokens read"),
                ),
                (
                    "output_tokens",
                    models.PositiveIntegerField(default=0, verbose_name="tokens written"),
                ),
                ("has_text", models.BooleanField(default=False, verbose_name="with texts")),
                (
                    "history",
                    models.PositiveIntegerField(default=0, verbose_name="earlier turns given"),
                ),
                ("steps", models.JSONField(default=list, verbose_name="steps")),
                ("tags", models.JSONField(default=list, verbose_name="tags")),
                ("extra", models.JSONField(default=dict, verbose_name="extra data")),
                ("sources", models.JSONField(default=list, verbose_name="sources")),
                (
                    "created_at",
                    models.DateTimeField(auto_now_add=True, db_index=True, verbose_name="written"),
                ),
                (
                    "run",
                    models.OneToOneField(
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log",
                        to="ai_answers.run",
                        verbose_name="run",
                    ),
                ),
            ],
            options={
                "verbose_name": "run log entry",
                "verbose_name_plural": "run log entries",
                "default_permissions": ("view", "delete"),
            },
        ),
    ]
