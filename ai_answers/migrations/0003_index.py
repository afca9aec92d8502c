"""Vectors of two embeddings a chunk, the embedding that searches use, and notes of a run.

The vector table is made anew: its primary key changes. The documents are marked as lacking
vectors, and the next ``ai_answers_index`` makes them.
"""

import django.db.models.deletion
from django.db import migrations, models


def forget_vectors(apps, schema_editor):
    documents = apps.get_model("ai_answers", "IndexedDocument").objects
    documents.using(schema_editor.connection.alias).update(embedding="")


class Migration(migrations.Migration):
    dependencies = [("ai_answers", "0002_fulltext")]

    operations = [
        migrations.AddField(
            model_name="indexstate",
            name="embedding",
            field=models.CharField(blank=True, max_length=64),
            preserve_default=False,
        ),
        migrations.AddIndex(
            model_name="indexeddocument",
            index=models.Index(fields=["index", "embedding"], name="ai_answers_document_embedded"),
        ),
        migrations.AddField(
            model_name="run",
            name="notes",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="What went other than set up, such as an embedding that failed.",
                verbose_name="notes",
            ),
        ),
        migrations.DeleteModel(name="IndexedVector"),
        migrations.CreateModel(
            name="IndexedVector",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("index", models.CharField(max_length=100)),
                ("embedding", models.CharField(max_length=64)),
                ("version", models.PositiveBigIntegerField()),
                ("vector", models.BinaryField(editable=False)),
                (
                    "chunk",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="vectors",
                        to="ai_answers.indexedchunk",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("chunk", "embedding"), name="ai_answers_vector_once"
                    )
                ],
                "indexes": [
                    models.Index(
                        fields=["index", "embedding", "version"], name="ai_answers_vector_new"
                    )
                ],
            },
        ),
        migrations.RunPython(forget_vectors, migrations.RunPython.noop),
    ]
