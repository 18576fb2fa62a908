#!/usr/bin/env python3
"""Servers that list the tools of real ones and record what reaches them, whatever gateway stands in between.

    replay.py servers LOG        print an mcpServers file with all of them
    replay.py serve NAME LOG     be one of them on standard input and output; calls are appended to LOG
    replay.py check LOG          compare the calls in LOG with answers.json

A call is checked against the tool's input schema as far as its names, types and enumerations go, and answered with a
text from replies.json, otherwise with "done".
"""

import fcntl
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CAPTURES = HERE.parents[2] / "crates/aquifer-discovery/tests/discovery/captures"
TYPES = {"string": str, "number": (int, float), "integer": int, "boolean": bool, "array": list, "object": dict}
MAX_LINE = 4 * 1024 * 1024


def load_tools(name: str) -> list[dict]:
    return json.loads((CAPTURES / f"{name}.json").read_text(encoding="utf-8"))["tools"]


def find_error(schema: dict, value, where: str) -> str | None:
    """The first reason why a value does not fit a schema. What a schema says beyond types and names is not checked."""
    kind = TYPES.get(schema.get("type")) if isinstance(schema.get("type"), str) else None
    if kind and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
        return f"{where} must be of type {schema['type']}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{where} must be one of {schema['enum']}"
    errors = []
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        # A parameter that has a default may be left out even where it is listed as required.
        errors += [f"{where}.{name} is missing" for name in schema.get("required", [])
                   if name not in value and "default" not in known.get(name, {})]
        errors += [f"{where}.{name} is unknown" for name in value if name not in known]
        errors += [find_error(known[name], item, f"{where}.{name}") for name, item in value.items() if name in known]
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        errors += [find_error(schema["items"], item, f"{where}[{number}]") for number, item in enumerate(value)]
    return next((error for error in errors if error), None)


def record(log: str, entry: dict) -> None:
    with open(log, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # All servers write to one file.
        file.write(json.dumps(entry) + "\n")


def call_tool(name: str, log: str, tools: dict[str, dict], replies: dict[str, str], params: dict) -> dict:
    tool, arguments = params.get("name"), params.get("arguments") or {}
    error = find_error(tools[tool]["inputSchema"], arguments, "arguments") if tool in tools else f"no tool '{tool}'"
    record(log, {"server": name, "tool": tool, "arguments": arguments, "error": error})
    text = f"Invalid arguments: {error}" if error else replies.get(f"{name}.{tool}", "done")
    return {"content": [{"type": "text", "text": text}], "isError": bool(error)}


def serve(name: str, log: str) -> None:
    tools = {tool["name"]: tool for tool in load_tools(name)}
    replies = json.loads((HERE / "replies.json").read_text(encoding="utf-8"))
    while line := sys.stdin.readline(MAX_LINE):
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        match message["method"]:
            case "initialize":
                version = message["params"]["protocolVersion"]
                information = {"name": name, "version": "1"}
                answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": information}
            case "tools/list":
                answer["result"] = {"tools": list(tools.values())}
            case "tools/call":
                answer["result"] = call_tool(name, log, tools, replies, message["params"])
            case "ping":
                answer["result"] = {}
            case _:
                answer["error"] = {"code": -32601, "message": "Method not found"}
        print(json.dumps(answer), flush=True)


def print_servers(log: str) -> None:
    command = [str(HERE / "replay.py"), "serve"]
    names = sorted(path.stem for path in CAPTURES.glob("*.json"))
    # Gateways prefix tools with the name of the server, so that it should be a short one.
    servers = {}
    for name in names:
        servers[name.split("-")[0]] = {"command": sys.executable, "args": [*command, name, str(Path(log).resolve())]}
    print(json.dumps({"mcpServers": servers}, indent=1))


def fits(expected, actual) -> bool:
    """Whether a value is as expected. Objects may have more members; `$contains` looks into texts and lists of texts."""
    if isinstance(expected, dict) and "$contains" in expected:
        return expected["$contains"].lower() in json.dumps(actual, ensure_ascii=False).lower()
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(key in actual and fits(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list):
        return isinstance(actual, list) and len(actual) == len(expected) and all(map(fits, expected, actual))
    return expected == actual and isinstance(expected, bool) == isinstance(actual, bool)


def is_harmless(server: str, tool: str) -> bool:
    annotations = next((known.get("annotations") or {} for known in load_tools(server) if known["name"] == tool), {})
    return bool(annotations.get("readOnlyHint")) or tool.startswith(("get_", "list_", "search_"))


def check(log: str) -> bool:
    entries = [json.loads(line) for line in Path(log).read_text(encoding="utf-8").splitlines()]
    calls = {number: entry for number, entry in enumerate(entries) if not entry["error"]}
    used, right, answers = set(), 0, json.loads((HERE / "answers.json").read_text(encoding="utf-8"))
    for task, answer in answers.items():
        missing, position = [], -1
        for expected in answer["calls"]:
            found = next((number for number, call in calls.items() if number not in used and number > position
                          and (call["server"], call["tool"]) == (expected["server"], expected["tool"])
                          and any(fits(choice, call["arguments"]) for choice in expected["arguments"])), None)
            if found is None:
                missing.append(f"{expected['server']}.{expected['tool']} {json.dumps(expected['arguments'][0])}")
            else:
                used.add(found)
                position = -1 if answer.get("any_order") else found
        right += not missing
        print(f"{task:>2}  {'done' if not missing else 'MISSING ' + '; '.join(missing)}")
    others = [call for number, call in calls.items() if number not in used]
    extra = [call for call in others if not is_harmless(call["server"], call["tool"])]
    for call in extra:
        print(f"    UNEXPECTED {call['server']}.{call['tool']} {json.dumps(call['arguments'])}")
    rejected = len(entries) - len(calls)
    print(f"{right} of {len(answers)} done; unexpected changes: {len(extra)}; calls rejected by a server: {rejected}")
    return right == len(answers) and not extra


def main() -> None:
    match sys.argv[1:]:
        case ["servers", log]:
            print_servers(log)
        case ["serve", name, log]:
            serve(name, log)
        case ["check", log]:
            sys.exit(0 if check(log) else 1)
        case _:
            sys.exit("usage: replay.py servers LOG | replay.py serve NAME LOG | replay.py check LOG")


if __name__ == "__main__":
    main()
