"""A Wagtail site with its own migrations and rows that its own code writes. Usage: wagtail_site.py DATABASE_URL"""

import io
import sys
import tempfile

import django
from django.conf import settings

import database

settings.configure(
    SECRET_KEY="test",
    USE_TZ=True,
    DATABASES={"default": database.django(sys.argv[1])},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    MEDIA_ROOT=tempfile.mkdtemp(),
    WAGTAIL_SITE_NAME="Test",
    ROOT_URLCONF="wagtail.admin.urls",
    STATIC_URL="/static/",
    EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    INSTALLED_APPS=[
        "wagtail.contrib.forms",
        "wagtail.contrib.redirects",
        "wagtail.contrib.search_promotions",
        "wagtail.embeds",
        "wagtail.sites",
        "wagtail.users",
        "wagtail.snippets",
        "wagtail.documents",
        "wagtail.images",
        "wagtail.search",
        "wagtail.admin",
        "wagtail",
        "modelcluster",
        "taggit",
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
    ],
)
django.setup()

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.files.base import ContentFile
from django.core.files.images import ImageFile
from django.core.management import call_command
from PIL import Image as Picture
from wagtail.contrib.redirects.models import Redirect
from wagtail.contrib.search_promotions.models import Query, SearchPromotion
from wagtail.documents import get_document_model
from wagtail.images import get_image_model
from wagtail.models import Collection, Comment, Page, Site, Workflow
from wagtail.users.models import UserProfile

call_command("migrate", verbosity=0)

User = get_user_model()
users = [
    User.objects.create_user(f"editor{number}", f"editor{number}@example.com", "secret", first_name=f"Editor {number}")
    for number in range(12)
]
users.append(User.objects.create_superuser("admin", "admin@example.com", "secret"))
for user in users:
    user.groups.set(Group.objects.order_by("pk")[: 1 + user.pk % 2])
    UserProfile.get_for_user(user)

root = Page.get_first_root_node()
pages = []
for section in range(6):
    parent = root.add_child(instance=Page(title=f"Section {section}", slug=f"section-{section}", owner=users[0]))
    pages.append(parent)
    for number in range(8):
        page = Page(title=f"Page {section}.{number}", slug=f"page-{section}-{number}", owner=users[number % len(users)])
        pages.append(parent.add_child(instance=page))
for page in pages[::2]:
    page.title += ", revised"
    page.save_revision(user=users[1], log_action=True).publish(user=users[1])
pages[3].unpublish()
pages[5].move(pages[9], pos="last-child")

workflow = Workflow.objects.first()
for page in pages[10:14]:
    page.refresh_from_db()
    page.save_revision(user=users[2])
    workflow.start(page, users[2])

for number in range(5):
    Redirect.add_redirect(f"/old-{number}", pages[number], is_permanent=bool(number % 2))
    query = Query.get(f"query {number}")
    query.add_hit()
    SearchPromotion.objects.create(query=query, page=pages[number], sort_order=number, description="Look here")

collection = Collection.get_first_root_node().add_child(name="Photographs")
for number in range(4):
    data = io.BytesIO()
    Picture.new("RGB", (8 + number, 8), "red").save(data, "PNG")
    file = ImageFile(io.BytesIO(data.getvalue()), name=f"picture-{number}.png")
    image = get_image_model().objects.create(title=f"Picture {number}", file=file, collection=collection)
    image.tags.add("photograph", f"tag {number}")
    image.get_rendition("fill-4x4")
    file = ContentFile(b"text", name=f"note-{number}.txt")
    get_document_model().objects.create(title=f"Note {number}", file=file).tags.add("note")

Site.objects.get_or_create(hostname="second.example.com", defaults={"root_page": pages[0], "port": 8080})
for page in pages[:3]:
    Comment.objects.create(page=page, user=users[3], text="Please check", contentpath="title")
call_command("createcachetable", verbosity=0)
