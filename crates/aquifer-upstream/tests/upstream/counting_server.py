"""An MCP server on stdio that notes every tool call in a file before it fails in the way the call says."""

import json
import os
import sys
import threading

executed = sys.argv[1]


def tool(name, **hints):
    properties = {"how": {"type": "string"}}
    return {"name": name, "description": f"Does {name}.", "annotations": hints,
            "inputSchema": {"type": "object", "properties": properties}}


TOOLS = [tool("get_account", readOnlyHint=True), tool("delete_account", readOnlyHint=False, destructiveHint=True),
         tool("frobnicate")]


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def call(mark, name, how):
    with open(executed, "a") as file:
        file.write(name + "\n")
    answer = json.dumps({"jsonrpc": "2.0", "id": mark, "result": {"content": [{"type": "text", "text": "done"}]}})
    if how == "exit":
        os._exit(3)
    elif how == "half":
        write(answer[:len(answer) // 2])
        os._exit(3)
    elif how == "close":
        os.close(1)
        threading.Event().wait()
    elif how == "silence":
        return
    elif how == "deaf":
        threading.Event().wait()
    elif how == "large":
        write(answer.replace("done", "x" * 200_000) + "\n")
    elif how == "large_without_id":
        write('{"result": "' + "x" * 200_000 + '"}\n')
    elif how == "nonsense":
        write("nonsense\n" * 1_100)
    elif how == "other_id":
        write(answer.replace(f'"id": {mark}', '"id": 999999') + "\n")
    elif how == "bad_result":
        write(json.dumps({"jsonrpc": "2.0", "id": mark, "result": {"content": "no list"}}) + "\n")
    elif how == "error":
        write(json.dumps({"jsonrpc": "2.0", "id": mark, "error": {"code": -32000, "message": "no such account"}}) + "\n")
    elif how == "refuse":
        result = {"content": [{"type": "text", "text": "no such account"}], "isError": True}
        write(json.dumps({"jsonrpc": "2.0", "id": mark, "result": result}) + "\n")
    else:
        write(answer + "\n")


for line in sys.stdin:
    message = json.loads(line)
    mark, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if mark is None:
        continue
    result = {}
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "counting", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        call(mark, params["name"], params.get("arguments", {}).get("how"))
        continue
    write(json.dumps({"jsonrpc": "2.0", "id": mark, "result": result}) + "\n")
