"""A client built with the second major version of the Python SDK: at 2026-07-28 as it finds out by itself, or with
`initialize` where it is told to."""

import os
from contextlib import asynccontextmanager

import mcp

from checks import main


class Client:
    def __init__(self, client, sessionful):
        self.client = client
        self.revision = client.protocol_version
        self.sessionful = sessionful

    async def list_tools(self):
        return [tool.model_dump(mode="json", by_alias=True) for tool in (await self.client.list_tools()).tools]

    async def call(self, tool, request, on_progress=None):
        result = await self.client.call_tool(tool, request, progress_callback=on_progress)
        return result.model_dump(mode="json", by_alias=True)


@asynccontextmanager
async def connect(revision, transport, target):
    modern = revision == "2026-07-28"
    if transport == "http":
        server = target[0]
    else:
        server = mcp.StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
    async with mcp.Client(server, mode="auto" if modern else "legacy") as client:
        yield Client(client, sessionful=not modern or transport == "stdio")


if __name__ == "__main__":
    main(connect)
