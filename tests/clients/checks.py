"""What every client must be able to do, whatever SDK it is built with.

Each check prints one line; the first that fails ends the process with a message. Knows no SDK: a client has
`revision`, `sessionful`, `list_tools()` and `call(tool, arguments, on_progress)`, made by the sdk_*.py beside this
file. A call is cancelled by cancelling the scope it runs in.
"""

import json
import sys
import traceback
from time import monotonic

import anyio

USAGE = "usage: SCRIPT [--hold] REVISION semantic|single (stdio COMMAND ARG... | http URL)"
PATIENCE_SECONDS = 20
FAMILIES = ["create", "delete", "execute", "read", "update"]

latest = "start"


def main(connect):
    """Reads the command line, connects, runs all checks and ends the process."""
    line = sys.argv[1:]
    hold = line[:1] == ["--hold"]
    if hold:
        line = line[1:]
    if len(line) < 4 or line[1] not in ("semantic", "single") or line[2] not in ("stdio", "http"):
        print(USAGE, file=sys.stderr)
        sys.exit(2)
    revision, mode, transport, *target = line
    try:
        anyio.run(check_all, connect, revision, mode, transport, target, hold)
    except BaseException:
        print(f'not ok - after "{latest}":\n{traceback.format_exc()}', file=sys.stderr)
        sys.exit(1)


def passed(what):
    global latest
    latest = what
    print(f"ok - {what}", flush=True)


def same(found, expected, what="values"):
    if found != expected:
        raise AssertionError(f"{what}: found {found!r}, expected {expected!r}")


async def check_all(connect, revision, mode, transport, target, hold):
    async with connect(revision, transport, target) as client:
        same(client.revision, revision, "negotiated revision")
        passed(f"connected at {client.revision}")
        await check_tools(client, mode)
        if hold:
            await released()
        server = Server(client, mode)
        await check_introspection(server)
        await check_tasks(server)
        await check_batches(server)
        await check_refusals(server)
        await check_progress(server)
        await check_cancellation(server)
    passed("closed")


async def released():
    """Keeps the connection open until somebody writes a line: another client is served meanwhile."""
    print("holding", flush=True)
    await anyio.to_thread.run_sync(sys.stdin.readline)


async def check_tools(client, mode):
    tools = {tool["name"]: tool for tool in await client.list_tools()}
    same(sorted(tools), ["mcp_aql"] if mode == "single" else [f"mcp_aql_{family}" for family in FAMILIES], "tools")
    for tool in tools.values():
        same(tool["inputSchema"]["type"], "object", "input schema")
        same("introspect" in tool["description"], True, "description shows introspect")
    if mode == "semantic":
        same(tools["mcp_aql_read"]["annotations"]["readOnlyHint"], True, "readOnlyHint of read")
        same(tools["mcp_aql_delete"]["annotations"]["destructiveHint"], True, "destructiveHint of delete")
    passed(f"{len(tools)} tools listed")


class Server:
    """The operations as functions that give the envelope, after checking what holds for every result."""

    def __init__(self, client, mode):
        self.client = client
        self.mode = mode

    async def send(self, family, request, on_progress=None):
        tool = "mcp_aql" if self.mode == "single" else f"mcp_aql_{family}"
        result = await self.client.call(tool, request, on_progress)
        same(result.get("isError"), False, f"isError of {result}")
        same(result["content"][0]["type"], "text", "type of the first block")
        same(result["structuredContent"], json.loads(result["content"][0]["text"]), "structuredContent and text")
        return result["structuredContent"]

    async def data(self, family, operation, params, on_progress=None):
        envelope = await self.send(family, {"operation": operation, "params": params}, on_progress)
        if envelope.get("error", {}).get("code") == "CONFIRMATION_REQUIRED":
            confirmed = {**params, "confirmation_token": envelope["error"]["details"]["confirmation_token"]}
            envelope = await self.send(family, {"operation": operation, "params": confirmed}, on_progress)
        same(envelope["success"], True, f"success of {envelope}")
        return envelope["data"]

    async def task(self, task_id):
        return await self.data("read", "get_task", {"id": task_id})

    async def open_tasks(self, count):
        return [await self.data("create", "create_task", {"title": f"Task {n}"}) for n in range(1, count + 1)]

    async def delete(self, tasks):
        for task in tasks:
            await self.data("delete", "delete_task", {"id": task["id"]})


async def check_introspection(server):
    listed = await server.data("read", "introspect", {"query": "operations"})
    names = {operation["name"] for operation in listed["operations"]}
    wanted = {"create_task", "get_task", "update_task", "delete_task", "execute_tasks", "introspect"}
    same(wanted - names, set(), "operations not listed")
    same(isinstance(listed["_protocol"]["version"], str), True, "a version is told")
    passed(f"{len(names)} operations introspected")

    one = await server.data("read", "introspect", {"query": "operations", "name": "create_task"})
    same(one["operation"]["semantic_category"], "CREATE", "category")
    title = next(parameter for parameter in one["operation"]["parameters"] if parameter["name"] == "title")
    same((title["type"], title["required"]), ("string", True), "title")
    passed("one operation introspected")

    types = (await server.data("read", "introspect", {"query": "types"}))["types"]
    same(any(kind["name"] == "Task" and kind["kind"] == "object" for kind in types), True, "Task is a type")
    task = (await server.data("read", "introspect", {"query": "types", "name": "Task"}))["type"]
    same(any(field["name"] == "title" for field in task["fields"]), True, "Task has a title")
    passed(f"{len(types)} types introspected")


async def check_tasks(server):
    task = await server.data("create", "create_task", {"title": "Read the manual"})
    same(task, {"id": task["id"], "title": "Read the manual", "done": False, "notes": {}}, "created")
    same(await server.task(task["id"]), task, "got")
    listed = await server.data("read", "list_tasks", {"done": False})
    same(task in listed["items"], True, "listed")
    passed("a task created, got and listed")

    async def update(change):
        return await server.data("update", "update_task", {"id": task["id"], "input": change})

    await update({"notes": {"page": {"from": 1, "to": 9}, "tags": ["a", "b"]}})
    merged = await update({"title": "Read on", "notes": {"page": {"to": 12}, "tags": ["c"]}})
    same(merged, {**task, "title": "Read on", "notes": {"page": {"from": 1, "to": 12}, "tags": ["c"]}}, "merged")
    removed = await update({"notes": {"page": {"from": None}}})
    same(removed["notes"], {"page": {"to": 12}, "tags": ["c"]}, "after removal")
    passed("a task updated by deep merge")

    await server.delete([task])
    gone = await server.send("read", {"operation": "get_task", "params": {"id": task["id"]}})
    same((gone["success"], gone["error"]["code"]), (False, "NOT_FOUND_RESOURCE"), "a deleted task")
    passed("a task deleted")


def create(title):
    return {"operation": "create_task", "params": {"title": title}}


async def check_batches(server):
    batch = await server.send("create", {"operations": [create("One"), create(""), create("Three")]})
    same(batch["success"], True, "batch")
    same(batch["summary"], {"total": 3, "succeeded": 2, "failed": 1}, "summary")
    outcomes = [(item["index"], item["result"]["success"]) for item in batch["results"]]
    same(outcomes, [(0, True), (1, False), (2, True)], "outcomes")
    passed("a batch ran, one failure stopping nothing")

    if server.mode == "semantic":
        mixed = await server.send("read", {"operations": [{"operation": "list_tasks"}, create("Lost")]})
        same(mixed["summary"], {"total": 2, "succeeded": 1, "failed": 1}, "summary")
        same(mixed["results"][1]["result"]["error"]["code"], "VALIDATION_ENDPOINT_MISMATCH", "code")
        passed("a batch item of another family refused")
    await server.delete(item["result"]["data"] for item in batch["results"] if item["result"]["success"])


async def check_refusals(server):
    if server.mode == "semantic":
        mismatch = await server.client.call("mcp_aql_read", create("Lost"))
        same(mismatch["isError"], False, "isError of a mismatch")
        same(mismatch["structuredContent"]["success"], False, "success of a mismatch")
        error = mismatch["structuredContent"]["error"]
        same(error["code"], "VALIDATION_ENDPOINT_MISMATCH", "code")
        same(error["details"]["expected_tool"], "mcp_aql_create", "the tool to use")
        passed("an operation sent to the wrong tool refused")
    unknown = await server.send("create", {"operation": "creat_task", "params": {"title": "Typo"}})
    same(unknown["error"]["code"], "NOT_FOUND_OPERATION", "code")
    same("Did you mean 'create_task'" in unknown["error"]["message"], True, "a suggestion")
    passed("an unknown operation answered with a suggestion")
    large = await server.send("create", create("x" * 2**21))
    same(large["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE", "code")
    same(large["error"]["details"]["limit_type"], "request_size", "the limit")
    passed("a call over the size limit answered as a call")


async def check_progress(server):
    tasks = await server.open_tasks(4)
    seen, totals = [], []

    async def on_progress(progress, total, message):
        seen.append(progress)
        totals.append(total)

    end = await server.data("execute", "execute_tasks", {"ms_each": 20, "wait": True}, on_progress)
    same(end["status"], "completed", "status")
    # The client drops a notification that it handles after the response, and the server joins those that come too fast.
    same(len(seen) >= 1, True, f"at least one notification in {seen}")
    same(set(totals), {len(tasks)}, "totals")
    same(all(earlier < later for earlier, later in zip(seen, seen[1:])), True, f"growth of {seen}")
    for task in tasks:
        same((await server.task(task["id"]))["done"], True, "done")
    await server.delete(tasks)
    passed(f"{len(seen)} progress notifications seen")


async def check_cancellation(server):
    tasks = await server.open_tasks(3)
    if server.client.sessionful:
        await cancel_watching_it(server)
    else:
        await cancel_watching_tasks(server, *tasks[:2])
    await server.delete(tasks)


async def cancel_watching_it(server):
    """A connection may list its executions, and so see the one behind its call run, and end."""

    async def ours():
        return (await server.data("read", "list_executions", {}))["items"]

    before = len(await ours())

    async def newest_is(status):
        executions = await ours()
        return len(executions) > before and executions[0]["status"] == status

    answered = False

    async def call(scope):
        nonlocal answered
        with scope:
            await server.data("execute", "execute_tasks", {"ms_each": 5000, "wait": True})
            answered = True

    async with anyio.create_task_group() as calls:
        scope = anyio.CancelScope()
        calls.start_soon(call, scope)
        await until("the execution runs", newest_is, "running")
        scope.cancel()
    same(answered, False, "a cancelled call is answered")
    await until("the execution is cancelled", newest_is, "cancelled")
    passed("a running call cancelled, its execution with it")


async def cancel_watching_tasks(server, first, second):
    """Without a connection only the board tells: after the first task was done, no other may follow."""
    milliseconds = 300
    with anyio.CancelScope() as scope:

        # One notification says that the first task is done: the call is in the middle of its work.
        async def on_progress(progress, total, message):
            scope.cancel()

        await server.data("execute", "execute_tasks", {"ms_each": milliseconds, "wait": True}, on_progress)
    same(scope.cancelled_caught, True, "the call was cancelled before its answer")
    same((await server.task(first["id"]))["done"], True, "the first task is done")
    watched = monotonic() + 3 * milliseconds / 1000
    while monotonic() < watched:
        same((await server.task(second["id"]))["done"], False, "the cancelled call went on: the second task is done")
    passed("a running call cancelled, its work with it")


async def until(what, holds, *arguments):
    with anyio.move_on_after(PATIENCE_SECONDS):
        while not await holds(*arguments):
            pass
        return
    raise AssertionError(f"timed out: {what}")
