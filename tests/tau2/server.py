"""Serves the tools of a domain of τ²-bench as an MCP server on stdio or HTTP.

Usage: server.py DOMAIN CONTROL_SOCKET [--annotations] [--structured] [--all-tasks] [--http PORT]

The replay resets the state and asks for its digest through the control socket, so that the model-facing tools are only
those of the benchmark. It accepts lines: `reset NUMBER` and `digest`, and answers each with one line.
"""

import argparse
import functools
import json
import socket
import threading

from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from environment import READS, Environment, ToolError, description


def listen(path, environment):
    """Answers the replay. It waits for each answer before it calls a tool, so nothing happens at the same time."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def serve():
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rw") as lines:
                for line in lines:
                    command, _, number = line.strip().partition(" ")
                    if command == "reset":
                        environment.reset(int(number))
                    lines.write(environment.digest() + "\n")
                    lines.flush()

    threading.Thread(target=serve, daemon=True).start()


def result(text, structured):
    """The result of a tool as its server sends it: text, or also the value in it."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    content = [TextContent(type="text", text=text)]
    is_object = structured and isinstance(value, dict)
    return CallToolResult(content=content, structured_content=value if is_object else None)


def wrap(environment, name, structured):
    @functools.wraps(environment.tools[name])
    async def call(**arguments):
        try:
            return result(await environment.run(name, arguments), structured)
        except ToolError as error:
            return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)

    return call


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("domain")
    parser.add_argument("control")
    parser.add_argument("--annotations", action="store_true")
    parser.add_argument("--structured", action="store_true")
    parser.add_argument("--all-tasks", action="store_true")
    parser.add_argument("--http", type=int)
    chosen = parser.parse_args()
    environment = Environment(chosen.domain, chosen.all_tasks)
    server = MCPServer(f"tau2-{chosen.domain}", log_level="ERROR")
    for name, tool in environment.tools.items():
        hints = ToolAnnotations(read_only_hint=name in READS[chosen.domain]) if chosen.annotations else None
        server.add_tool(
            wrap(environment, name, chosen.structured),
            name=name,
            description=description(tool),
            annotations=hints,
            structured_output=False,
        )
    listen(chosen.control, environment)
    if chosen.http:
        server.run("streamable-http", host="127.0.0.1", port=chosen.http)
    else:
        server.run("stdio")


main()
