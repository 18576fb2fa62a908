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


def sqlalchemy(url):
    """The URL that SQLAlchemy wants."""
    parts = urlparse(url)
    # Its path begins after the third slash.
    return f"sqlite:///{parts.path}" if parts.scheme == "sqlite" else url.replace("postgres://", "postgresql+psycopg://", 1)
