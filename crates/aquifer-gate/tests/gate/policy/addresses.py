"""Reads spellings of addresses as programs in Python do: one JSON object with "kind" and "text" a line, one list of readings a line."""

import email.utils
import json
import ntpath
import posixpath
import re
import sys
import unicodedata
import urllib.parse


def hosts(text):
    for spelling in (text, text.strip(), urllib.parse.unquote(text), unicodedata.normalize("NFKC", text)):
        plain = re.sub(r"[\t\r\n]", "", spelling)
        for link in (spelling, plain, spelling.replace("\\", "/"), plain if "://" in plain else "//" + plain):
            try:
                yield urllib.parse.urlsplit(link).hostname
            except ValueError:
                pass


def domains(text):
    for spelling in (text, unicodedata.normalize("NFKC", text), text.replace(";", ","), text.replace("mailto:", "")):
        for _, address in email.utils.getaddresses([spelling]):
            yield address.rpartition("@")[2]
        yield email.utils.parseaddr(spelling)[1].rpartition("@")[2]


def accounts(text):
    for spelling in (text, unicodedata.normalize("NFKC", text)):
        yield re.sub(r"[^A-Za-z0-9]", "", spelling).upper()
        for part in re.split(r"[,;/|\n]", spelling):
            yield re.sub(r"[^A-Za-z0-9]", "", part).upper()


def paths(text):
    for spelling in (text, urllib.parse.unquote(text), unicodedata.normalize("NFKC", text), text.split("\0")[0]):
        spelling = re.sub("^file://(localhost)?", "", spelling.strip())
        yield posixpath.normpath(posixpath.join("/srv/files", spelling))
        yield posixpath.normpath(posixpath.join("/srv/files", ntpath.normpath(spelling).replace("\\", "/")))


def amounts(text):
    for spelling in (text, text.replace(",", ""), text.replace(",", "."), text.replace("_", ""), text.replace(" ", ""), text.replace("'", "")):
        plain = unicodedata.normalize("NFKC", re.sub(r"[$€£]|[A-Z]{3}$", "", spelling)).replace("−", "-")
        for read in (float, lambda text: float(int(text, 0)), lambda text: float(int(text, 8))):
            try:
                yield str(abs(read(plain)))
            except (ValueError, OverflowError):
                pass


READERS = {"host": hosts, "email_domain": domains, "account": accounts, "path_under": paths, "amount": amounts}
for line in sys.stdin:
    spelling = json.loads(line)
    readings = {reading for reading in READERS[spelling["kind"]](spelling["text"]) if reading}
    print(json.dumps(sorted(readings)))
