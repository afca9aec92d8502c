from ai_answers.sources import Source, register

from .models import Article


@register(Article)
class ArticleSource(Source):
    fields = ["title", "body"]

    def get_queryset(self):
        return Article.objects.all()

    def get_languages(self, obj):
        return ["en", "de"] if obj.body_de else ["en"]

    def get_title(self, obj, language):
        return obj.title_de if language == "de" and obj.title_de else obj.title

    def get_content(self, obj, language):
        return obj.body_de if language == "de" and obj.body_de else obj.body

    def get_url(self, obj, language):
        return obj.get_absolute_url()

    def access_tags(self, obj):
        return set() if obj.audience == "public" else {obj.audience}

    def can_view(self, asker, obj):
        if obj.audience == "public":
            return True
        return obj.audience in access_tags(asker)


def access_tags(asker):
    """USER_ACCESS_TAGS of the tests: signed-in users are members, staff are staff too."""
    tags = set()
    if asker.user.is_authenticated:
        tags.add("members")
    if asker.user.is_authenticated and asker.user.is_staff:
        tags.add("staff")
    return tags
