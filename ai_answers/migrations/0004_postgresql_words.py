"""Full text on PostgreSQL: the words of each chunk, and in how many chunks each word is.

No foreign key to the chunks: ``retrieval.postgres`` writes both in one transaction, and a table
that Django does not know must not stand in the way of its ``flush``.
"""

from django.db import migrations

WORDS = """
CREATE TABLE ai_answers_words (
    chunk_id bigint PRIMARY KEY,
    "index" varchar(100) NOT NULL,
    length integer NOT NULL,
    tags text[],
    words tsvector NOT NULL
)
"""
FOUND_BY = "CREATE INDEX ai_answers_words_found_by ON ai_answers_words USING gin (words)"
COUNTS = """
CREATE TABLE ai_answers_wordcount (
    "index" varchar(100) NOT NULL,
    word text NOT NULL,
    chunks bigint NOT NULL,
    length bigint NOT NULL DEFAULT 0,
    PRIMARY KEY ("index", word)
)
"""


def create(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for statement in (WORDS, FOUND_BY, COUNTS):
            schema_editor.execute(statement)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TABLE ai_answers_wordcount")
        schema_editor.execute("DROP TABLE ai_answers_words")


class Migration(migrations.Migration):
    dependencies = [("ai_answers", "0003_index")]

    operations = [migrations.RunPython(create, drop)]
