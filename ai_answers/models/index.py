"""Where chunks are found: the tables of ``retrieval.database.DatabaseIndex``.

The words of a chunk live beside these tables, in whatever the database has for full text; see
``retrieval.sqlite``. Rows are written by the index alone, never by hand or by the admin.
"""

from __future__ import annotations

from django.db import models


class IndexState(models.Model):
    """Counts what happened to an index, so that each process loads only what is new."""

    index = models.CharField(max_length=100, unique=True)
    version = models.PositiveBigIntegerField(default=0)
    """Rises with every write; about the time of the last one, in microseconds."""
    removed = models.PositiveBigIntegerField(default=0)
    """The version of the last write that took chunks away."""
    languages = models.JSONField(default=list)
    """Codes of the languages that were ever written, to know how words may be stemmed."""
    embedding = models.CharField(max_length=64, blank=True)
    """Identity of the embedding that searches use: the last one that was complete."""

    def __str__(self) -> str:
        return f"{self.index} {self.version}"


class IndexedDocument(models.Model):
    """One object in one language, as it was last indexed."""

    index = models.CharField(max_length=100)
    entity_type = models.CharField(max_length=150)
    entity_id = models.CharField(max_length=255)
    language = models.CharField(max_length=35, blank=True)
    title = models.TextField(blank=True)
    url = models.TextField(blank=True)
    checksum = models.CharField(max_length=64)
    """Of the document's content, title, URL and tags."""
    fingerprint = models.CharField(max_length=64)
    """Of how it was cut and tokenised."""
    embedding = models.CharField(max_length=64, blank=True)
    """Identity of the embedding its vectors were made with; empty: it has no vectors yet."""
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["index", "entity_type", "entity_id", "language"],
                name="ai_answers_document_once",
            ),
        ]
        indexes = [
            models.Index(fields=["index", "embedding"], name="ai_answers_document_embedded"),
        ]

    def __str__(self) -> str:
        return f"{self.entity_type}:{self.entity_id} {self.language}".strip()


class IndexedTag(models.Model):
    """An access tag of a document; a document with none is open to everyone."""

    document = models.ForeignKey(IndexedDocument, models.CASCADE, related_name="tags")
    tag = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "tag"], name="ai_answers_tag_once"),
        ]
        indexes = [models.Index(fields=["tag", "document"], name="ai_answers_tag_documents")]

    def __str__(self) -> str:
        return self.tag


class IndexedChunk(models.Model):
    """A slice of a document."""

    document = models.ForeignKey(IndexedDocument, models.CASCADE, related_name="chunks")
    position = models.PositiveIntegerField()
    heading = models.TextField(blank=True)
    anchor = models.CharField(max_length=255, blank=True)
    text = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "position"], name="ai_answers_chunk_once"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id} · {self.position}"


class IndexedVector(models.Model):
    """A chunk's vector. A table of its own: what is new is found without reading any vector.

    Two a chunk while one embedding takes over from another.
    """

    chunk = models.ForeignKey(IndexedChunk, models.CASCADE, related_name="vectors")
    index = models.CharField(max_length=100)
    embedding = models.CharField(max_length=64)
    version = models.PositiveBigIntegerField()
    """The index's version when it was written."""
    vector = models.BinaryField(editable=False)
    """Little-endian float32, unit length."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chunk", "embedding"], name="ai_answers_vector_once"),
        ]
        indexes = [
            models.Index(fields=["index", "embedding", "version"], name="ai_answers_vector_new"),
        ]

    def __str__(self) -> str:
        return str(self.chunk_id)


class IndexLeftover(models.Model):
    """A version of a document that another server may keep though no row asks for it.

    Noted before it is sent there and before its rows go, dropped once both agree. See
    ``retrieval.outside``.
    """

    batch = models.CharField(max_length=32, db_index=True)
    """Those noted together."""
    index = models.CharField(max_length=100)
    part = models.CharField(max_length=100)
    """What is kept there: ``words``, or ``vectors`` and the identity of their embedding."""
    entity_type = models.CharField(max_length=150)
    entity_id = models.CharField(max_length=255)
    language = models.CharField(max_length=35, blank=True)
    checksum = models.CharField(max_length=64)
    fingerprint = models.CharField(max_length=64)
    chunks = models.PositiveIntegerField()
    """How many it has there, at most."""
    noted_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.index} {self.part}: {self.entity_type}:{self.entity_id}"
