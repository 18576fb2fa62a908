"""FastMCP as a gateway: its proxy in front of the servers of an mcpServers file, with or without its search.

Usage: fastmcp_proxy.py FILE [--search] [--http PORT]
"""

import argparse
import json
import socket

from fastmcp.server import create_proxy

flags = argparse.ArgumentParser()
flags.add_argument("file")
flags.add_argument("--search", action="store_true")
flags.add_argument("--http", type=int)
options = flags.parse_args()

with open(options.file) as file:
    proxy = create_proxy(json.load(file))
if options.search:
    from fastmcp.server.transforms.search import BM25SearchTransform

    proxy.add_transform(BM25SearchTransform())
if options.http is None:
    proxy.run(show_banner=False)
else:
    port = options.http
    if port == 0:
        # It would say port 0 and listen on another.
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
    proxy.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
