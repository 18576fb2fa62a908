"""FastMCP in front of an HTTP API that a description describes, with or without its search.

Usage: fastmcp_openapi.py DESCRIPTION.json BASE_URL [--search]
"""

import argparse
import json

import httpx2
from fastmcp import FastMCP

flags = argparse.ArgumentParser()
flags.add_argument("description")
flags.add_argument("base_url")
flags.add_argument("--search", action="store_true")
options = flags.parse_args()

with open(options.description) as file:
    description = json.load(file)
client = httpx2.AsyncClient(base_url=options.base_url)
# The API that answers here is not the one that is described, so its answers do not fit the schemas.
server = FastMCP.from_openapi(description, client=client, validate_output=False)
if options.search:
    from fastmcp.server.transforms.search import BM25SearchTransform

    server.add_transform(BM25SearchTransform())
server.run(show_banner=False)
