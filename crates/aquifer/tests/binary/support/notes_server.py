"""An MCP server on stdio as people write them, with nothing but Python: notes that are created, read, changed and
deleted. Knows nothing of MCP-AQL."""
import json
import sys

NOTE = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "description": "Number of the note."},
        "title": {"type": "string", "description": "What it is about."},
        "body": {"type": "string", "description": "What it says."},
        "pinned": {"type": "boolean", "description": "Whether it stays on top."},
    },
    "required": ["id", "title", "body", "pinned"],
}
TITLE = {"type": "string", "description": "What it is about.", "minLength": 1, "maxLength": 80}
BODY = {"type": "string", "description": "What it says."}
PINNED = {"type": "boolean", "description": "Whether it stays on top."}
ID = {"type": "integer", "description": "Number of the note.", "minimum": 1}


def tool(name, description, properties, required, returns, read_only=False, destructive=False):
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        "outputSchema": returns,
        "annotations": {"readOnlyHint": read_only, "destructiveHint": destructive, "openWorldHint": False},
    }


LIST = {"type": "object", "properties": {"notes": {"type": "array", "items": NOTE}}, "required": ["notes"]}
CHANGES = {"id": ID, "title": TITLE, "body": BODY, "pinned": PINNED}
TOOLS = [
    tool("list_notes", "List all notes.", {}, [], LIST, read_only=True),
    tool("get_note", "Get one note.", {"id": ID}, ["id"], NOTE, read_only=True),
    tool("create_note", "Create a note.", {"title": TITLE, "body": BODY, "pinned": PINNED}, ["title", "body"], NOTE),
    tool("update_note", "Change a note.", CHANGES, ["id"], NOTE, destructive=True),
    tool("delete_note", "Delete a note.", {"id": ID}, ["id"], NOTE, destructive=True),
]
NOTES = {n: {"id": n, "title": f"note {n}", "body": f"Body of {n}.", "pinned": n % 5 == 0} for n in range(1, 31)}


def note(arguments):
    if arguments["id"] not in NOTES:
        raise ValueError(f"There is no note {arguments['id']}.")
    return NOTES[arguments["id"]]


def call(name, arguments):
    if name == "list_notes":
        return {"notes": list(NOTES.values())}
    if name == "get_note":
        return note(arguments)
    if name == "create_note":
        number = max(NOTES, default=0) + 1
        NOTES[number] = {"id": number, "pinned": False, **arguments}
        return NOTES[number]
    if name == "update_note":
        note(arguments).update(arguments)
        return note(arguments)
    if name == "delete_note":
        return NOTES.pop(note(arguments)["id"])
    raise ValueError(f"There is no tool {name}.")


def answer(method, params):
    if method == "initialize":
        identity = {"name": "notes", "version": "1.0.0"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": identity}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            result = call(params["name"], params.get("arguments") or {})
        except ValueError as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        return {"content": [{"type": "text", "text": json.dumps(result)}], "structuredContent": result}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
