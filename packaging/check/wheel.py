"""Checks what installers trust in a wheel: its name, its tags, and the hashes of all files. wheel.py FILE.whl"""

import base64
import csv
import hashlib
import io
import itertools
import os
import sys
import zipfile

path = sys.argv[1]
name, version, *tags = os.path.basename(path).removesuffix(".whl").split("-")
archive = zipfile.ZipFile(path)
assert archive.testzip() is None
info = f"{name}-{version}.dist-info"
read = lambda file: archive.read(f"{info}/{file}").decode()

fields = [line.split(": ", 1) for line in read("METADATA").split("\n\n")[0].splitlines()]
assert ["Name", name.replace("_", "-")] in fields and ["Version", version] in fields, fields
named = {"-".join(tag) for tag in itertools.product(*(tag.split(".") for tag in tags))}
listed = {line.split(": ", 1)[1] for line in read("WHEEL").splitlines() if line.startswith("Tag: ")}
assert named == listed, (named, listed)

records = {row[0]: row[1:] for row in csv.reader(io.StringIO(read("RECORD")))}
assert sorted(records) == sorted(archive.namelist()), set(records) ^ set(archive.namelist())
for file, (hashed, size) in records.items():
    if file == f"{info}/RECORD":
        assert (hashed, size) == ("", "")
        continue
    content = archive.read(file)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    assert (hashed, size) == (f"sha256={digest}", str(len(content))), file
print(f"{len(records)} files match their records")
