"""A client built with the first major version of the Python SDK: the revisions with `initialize`."""

import os
from contextlib import asynccontextmanager

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from checks import main


class Client:
    sessionful = True

    def __init__(self, session, revision):
        self.session = session
        self.revision = revision

    async def list_tools(self):
        return [tool.model_dump(mode="json", by_alias=True) for tool in (await self.session.list_tools()).tools]

    async def call(self, tool, request, on_progress=None):
        # This version tells the server nothing when a call's scope is cancelled, and keeps the id it sends to itself.
        request_id = self.session._request_id
        try:
            result = await self.session.call_tool(tool, request, progress_callback=on_progress)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.session.send_notification(cancelled(request_id))
            raise
        return result.model_dump(mode="json", by_alias=True)


def cancelled(request_id):
    params = types.CancelledNotificationParams(requestId=request_id, reason="no longer wanted")
    return types.ClientNotification(types.CancelledNotification(method="notifications/cancelled", params=params))


def streams(transport, target):
    if transport == "http":
        return streamable_http_client(target[0])
    return stdio_client(StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ)))


@asynccontextmanager
async def connect(revision, transport, target):
    async with streams(transport, target) as (read, write, *_), ClientSession(read, write) as session:
        yield Client(session, (await session.initialize()).protocolVersion)


if __name__ == "__main__":
    main(connect)
