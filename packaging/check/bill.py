"""Validates bills of materials against the schema of CycloneDX, without a network: bill.py FILE..."""

import json
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    if problem is not None:
        sys.exit(f"{path}: {problem}")
    bill = json.loads(text)
    known = {component["bom-ref"] for component in [bill["metadata"]["component"], *bill["components"]]}
    for dependency in bill["dependencies"]:
        assert {dependency["ref"], *dependency["dependsOn"]} <= known, dependency
    print(f"{path}: {len(bill['components'])} components")
