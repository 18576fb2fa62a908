"""Where an application keeps its data: `sqlite:///path` or `postgres://user:password@host:port/name`."""

from urllib.parse import unquote, urlparse


def django(url):
    """The setting that Django wants."""
    parts = urlparse(url)
    if parts.scheme == "sqlite":
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": unquote(parts.path)}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname,
        "PORT": parts.port,
    }
