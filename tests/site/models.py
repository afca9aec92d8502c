"""A small site to test with: articles that may be for members only, in two languages."""

from django.db import models


class Article(models.Model):
    title = models.CharField(max_length=200)
    body = models.TextField()
    title_de = models.CharField(max_length=200, blank=True)
    body_de = models.TextField(blank=True)
    audience = models.CharField(max_length=20, default="public")

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return f"/articles/{self.pk}/"
