"""More to be seen of an indexing run: how it ended, its numbers, who started it, a stop.

The table is made anew: it holds nothing but the latest news of each index.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ai_answers", "0006_indexing_jobs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.DeleteModel(name="IndexingJob"),
        migrations.CreateModel(
            name="IndexingJob",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("index", models.CharField(max_length=100, unique=True, verbose_name="index")),
                ("rebuild", models.BooleanField(default=False, verbose_name="rebuild")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "running"),
                            ("done", "done"),
                            ("stopped", "stopped"),
                            ("failed", "failed"),
                        ],
                        max_length=10,
                        verbose_name="status",
                    ),
                ),
                ("token", models.CharField(editable=False, max_length=32)),
                ("started_at", models.DateTimeField(verbose_name="started at")),
                ("heartbeat_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True, verbose_name="finished at")),
                ("stop_requested", models.BooleanField(default=False)),
                ("source", models.CharField(blank=True, max_length=150)),
                ("done", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(default=0)),
                ("report", models.JSONField(default=dict)),
                ("failures", models.JSONField(default=list)),
                ("error", models.TextField(blank=True)),
                (
                    "started_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="started by",
                    ),
                ),
            ],
            options={
                "verbose_name": "index",
                "verbose_name_plural": "indexes",
                "permissions": [("start_indexing", "Can start and stop indexing")],
                "default_permissions": ("view",),
            },
        ),
    ]
