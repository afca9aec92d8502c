from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ai_answers", "0007_indexing_progress")]

    operations = [
        migrations.CreateModel(
            name="IndexLeftover",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("batch", models.CharField(db_index=True, max_length=32)),
                ("index", models.CharField(max_length=100)),
                ("part", models.CharField(max_length=100)),
                ("entity_type", models.CharField(max_length=150)),
                ("entity_id", models.CharField(max_length=255)),
                ("language", models.CharField(blank=True, max_length=35)),
                ("checksum", models.CharField(max_length=64)),
                ("fingerprint", models.CharField(max_length=64)),
                ("chunks", models.PositiveIntegerField()),
                ("noted_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
    ]
