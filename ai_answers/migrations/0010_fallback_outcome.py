from django.db import migrations, models


class Migration(migrations.Migration):
    """A turn may say that another model than its agent's own has answered it."""

    dependencies = [("ai_answers", "0009_support")]

    operations = [
        migrations.AlterField(
            model_name="turn",
            name="outcome",
            field=models.CharField(
                blank=True,
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
                default="",
                max_length=20,
                verbose_name="outcome",
            ),
        ),
    ]
