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


class Summary(models.Model):
    article = models.OneToOneField(Article, models.CASCADE, related_name="summary")
    text = models.TextField()

    def __str__(self) -> str:
        return self.text


class Remark(models.Model):
    article = models.ForeignKey(Article, models.CASCADE, related_name="remarks")
    text = models.TextField()

    def __str__(self) -> str:
        return self.text


class Place(models.Model):
    place_id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.name


class Shop(models.Model):
    shop_id = models.AutoField(primary_key=True)
    sign = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.sign


class Cafe(Place, Shop):
    """A place and a shop: it has a key of its own in the tables of both."""

    menu = models.TextField(blank=True)
