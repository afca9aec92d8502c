from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ai_answers", "0010_fallback_outcome"),
    ]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="cost",
            field=models.DecimalField(
                blank=True,
                decimal_places=8,
                help_text="Of the model, in the currency of PRICES; empty where it has no price.",
                max_digits=16,
                null=True,
                verbose_name="cost",
            ),
        ),
    ]
