"""Times that Aquifer writes are found by Django's exact lookups, and times that Django writes by Aquifer's.

Usage: wagtail_lookups.py DATABASE_URL COMMAND...

COMMAND is an MCP-AQL server on stdio in single mode that serves the database of `wagtail_site.py`.
"""

import sys
from datetime import datetime, timezone

import django
from django.conf import settings

import database
from compare import Server

settings.configure(
    SECRET_KEY="test",
    USE_TZ=True,
    DATABASES={"default": database.django(sys.argv[1])},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes"],
)
django.setup()

from django.contrib.auth.models import User


def moment(microsecond):
    return datetime(2026, 3, 4, 5, 6, 7, microsecond, tzinfo=timezone.utc)


def text(time):
    return time.isoformat().replace("+00:00", "Z")


def check(name, found, expected):
    if found != expected:
        raise SystemExit(f"{name}: found {found}, expected {expected}")


server = Server(sys.argv[2:])
fractions = [0, 50000, 56000, 123456, 500000]
users = list(User.objects.order_by("pk").values_list("pk", flat=True)[: 2 * len(fractions)])
for fraction, written_here, written_there in zip(fractions, users[::2], users[1::2]):
    time = moment(fraction)
    server.call("update_auth_user", id=written_here, input={"last_login": text(time)})
    check(f"Django, .{fraction:06}", list(User.objects.filter(last_login=time).values_list("pk", flat=True)), [written_here])
    User.objects.filter(pk=written_there).update(last_login=time)
    found = server.call("list_auth_users", filter={"last_login": text(time)}, sort={"field": "id"}, fields=["id"])["items"]
    check(f"Aquifer, .{fraction:06}", [row["id"] for row in found], [written_here, written_there])

after = moment(50000)
expected = list(User.objects.filter(last_login__gt=after).order_by("last_login", "pk").values_list("pk", flat=True))
sort = [{"field": "last_login"}, {"field": "id"}]
rows = server.call("list_auth_users", filter={"last_login": {"gt": text(after)}}, sort=sort, fields=["id", "last_login"])["items"]
check("a range in order", [row["id"] for row in rows], expected)
times = [row["last_login"] for row in rows]
check("the order of the texts", sorted(times), times)
server.close()
