from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ai_answers", "0008_index_leftover"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="grounded",
            field=models.BooleanField(
                default=False,
                help_text="An answer that cites nothing says so below its text.",
                verbose_name="mark answers without sources",
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="strict",
            field=models.BooleanField(
                default=False,
                help_text="When the search finds nothing, the chat model is not asked: the message above is the answer.",
                verbose_name="answer only from what was found",
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="support_check",
            field=models.BooleanField(
                default=False,
                help_text="Each sentence with what it cites: its numbers, dates, names and words must be there. References quote what supports them, and an answer with doubtful sentences says so.",
                verbose_name="compare answers with their sources",
            ),
        ),
        migrations.AddField(
            model_name="turn",
            name="support",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text="How far its sources bear the answer, where the agent asks for that.",
                verbose_name="support",
            ),
        ),
    ]
