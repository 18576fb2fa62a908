"""An MCP server that does as it is told, also what no server should do. Python's own library and nothing else."""

import argparse
import base64
import http.server
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time

flags = argparse.ArgumentParser()
flags.add_argument("--http", type=int, help="serve on this port of the loopback interface instead of stdio")
flags.add_argument("--events", action="store_true", help="answer over HTTP with event streams")
flags.add_argument("--break-streams", action="store_true", help="end event streams before the answer, to be resumed")
flags.add_argument("--stateless", action="store_true", help="speak 2026-07-28 only")
flags.add_argument("--exit-at-start", action="store_true")
flags.add_argument("--exit-while", help="exit at start as long as this file exists")
flags.add_argument("--mute", action="store_true", help="never answer anything")
flags.add_argument("--banner", action="store_true", help="write to stdout what is no message")
flags.add_argument("--flood", action="store_true", help="write nothing but nonsense")
flags.add_argument("--pages", type=int, default=1)
flags.add_argument("--endless", action="store_true", help="every page of the tools has another after it")
flags.add_argument("--token", help="the bearer token to be asked for")
flags.add_argument("--variant", default="", help="what the definition of 'echo' says beside the usual")
flags.add_argument("--variant-file", help="the same, read from a file whenever the tools are listed")
flags.add_argument("--ask-for-secret", action="store_true", help="repeat environment and arguments on stderr")
flags.add_argument("--paced", action="store_true", help="refuse the second call over HTTP: too many requests")
flags.add_argument("--journal", help="append the method of every request to this file")
flags.add_argument("--tools-file", help="list exactly the tools in this file, and say so when it changes")
flags.add_argument("--unannounced", choices=["error", "result"], help="never say that the tools changed, and refuse "
                   "calls of tools that are not listed with an error of JSON-RPC or of the tool")
flags.add_argument("--many-tools", type=int, default=0, help="list so many tools beside the others")
flags.add_argument("--many-properties", type=int, default=0, help="list a tool with so many parameters")
flags.add_argument("--asks-before-changes", action="store_true", help="list the tools that ask as ones that may change something")
flags.add_argument("--lists-once", action="store_true", help="answer only the first tools/list")
flags.add_argument("--lists-if", help="answer every later tools/list when this file exists")
flags.add_argument("--restless", type=int, default=0, help="announce other tools whenever they are listed, and have a "
                   "changed one from this list on")
flags.add_argument("--words", help="a JSON file of what it says instead of the usual")
options = flags.parse_args()
said = {}
if options.words:
    with open(options.words) as file:
        said = json.load(file)

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
state = {"changed": 0, "listed": 0, "cancelled": [], "next": 0, "running": 0, "max_running": 0}
waiting = {}
lock = threading.Lock()


def schema(**properties):
    return {"type": "object", "properties": properties}


def variant():
    if options.variant_file and os.path.exists(options.variant_file):
        with open(options.variant_file) as file:
            return file.read().strip()
    return options.variant


def tools():
    if options.tools_file:
        with open(options.tools_file) as file:
            return json.load(file)
    anything = {"description": "anything"}
    words = "Echoes what it gets." + variant()
    hints = {"readOnlyHint": variant() != "destructive"}
    if variant() == "destructive":
        hints["destructiveHint"] = True
    listed = [
        {"name": "echo", "description": words, "annotations": hints, "x-unknown": {"kept": [1.0, 2e3]},
         "inputSchema": schema(text={"type": "string"}, camelCase=anything, _hidden=anything, nested={"type": "object"},
                               operation={"type": "string"}, number={"type": "integer", "minimum": 1})},
        {"name": "either", "description": "Reads by name or by number.", "annotations": {"readOnlyHint": True},
         "inputSchema": {"type": "object", "properties": {"userName": {"type": "string"}, "number": {"type": "integer"}},
                         "oneOf": [{"required": ["userName"]}, {"required": ["number"]}]}},
        {"name": "anything", "description": "Shows whatever it gets.", "annotations": {"readOnlyHint": True},
         "inputSchema": {"type": "object"}},
        {"name": "labels", "description": "Shows labels.", "annotations": {"readOnlyHint": True},
         "inputSchema": {"type": "object", "properties": {"userName": {"type": "string"}, "_from": {"type": "string"}},
                         "patternProperties": {"^x-": {}}, "additionalProperties": {"type": "integer"},
                         "propertyNames": {"maxLength": 12}}},
        {"name": "patterned", "description": "Shows what begins with x.", "annotations": {"readOnlyHint": True},
         "inputSchema": {"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": False}},
        {"name": "getPicture", "description": "Gets a picture.", "annotations": {"readOnlyHint": True},
         "inputSchema": schema()},
    ]
    for name in ["die", "hang", "garbage", "change", "spawn", "refuse", "protest", "blocks", "elicit", "sample", "roots",
                 "log", "cancelled", "environment", "identity", "structured", "last_meta",
                 "max_at_once"]:
        listed.append({"name": name, "description": f"Does {name}.", "inputSchema": schema()})
        if name in ("elicit", "sample"):
            listed[-1]["annotations"] = {"readOnlyHint": not options.asks_before_changes}
    listed.append({"name": "huge", "description": "Answers at length.",
                   "inputSchema": schema(size={"type": "integer"}, id_last={"type": "boolean"})})
    listed.append({"name": "elicit_often", "description": "Asks.", "annotations": {"readOnlyHint": True},
                   "inputSchema": schema(times={"type": "integer"})})
    listed.append({"name": "slow", "description": "Takes its time.",
                   "inputSchema": schema(steps={"type": "integer"}, release={"type": "string"})})
    for number in range(options.many_tools):
        listed.append({"name": f"many_{number}", "description": "One of many.", "inputSchema": schema()})
    if options.many_properties:
        listed.append({"name": "wide", "description": "Takes much.", "inputSchema": schema(
            **{f"p{number}": {"type": "string"} for number in range(options.many_properties)})})
    listed.extend(said.get("tools", []))
    if state["changed"]:
        listed.append({"name": "added", "description": "Was not there before.", "inputSchema": schema()})
    return listed


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def ask(send, method, params):
    box = queue.Queue()
    with lock:
        state["next"] += 1
        mark = f"q{state['next']}"
        waiting[mark] = box
    send({"jsonrpc": "2.0", "id": mark, "method": method, "params": params})
    return box.get(timeout=60)


def call(name, arguments, meta, send, mark):
    if options.tools_file:
        if options.journal:
            with open(options.journal, "a") as file:
                file.write(f"called {name}\n")
        if options.unannounced and name not in [tool["name"] for tool in tools()]:
            if options.unannounced == "error":
                raise ValueError(f"Tool {name} not found")
            return text(f"Unknown tool: {name}", isError=True)
        if name == "get_later":
            while not os.path.exists(options.tools_file + ".release"):
                time.sleep(0.02)
        return text(json.dumps({"tool": name, "arguments": arguments}))
    if name == "greeted":
        return text(json.dumps(state["greeted"]))
    if name in ("echo", "anything", "labels", "patterned") or name in [tool["name"] for tool in said.get("tools", [])]:
        return text(json.dumps(arguments))
    if name == "either" and len(arguments) != 1:
        return text("Give userName or number, not both.", isError=True)
    if name == "either":
        return text("fine")
    if name == "getPicture":
        return {"content": [{"type": "text", "text": "a picture"},
                            {"type": "image", "data": IMAGE, "mimeType": "image/png", "annotations": {"priority": 0.5}}]}
    if name == "structured":
        return {"content": [{"type": "text", "text": "{\n  \"rows\": [ 1, 2 ]\n}"}], "structuredContent": {"rows": [1, 2]}}
    if name == "blocks":
        return {"content": [
            {"type": "text", "text": "{\"a\": 1}"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a.txt", "name": "a", "description": "d", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "test://b", "mimeType": "text/plain", "text": "whole"}},
            {"type": "resource", "resource": {"uri": "test://c", "mimeType": "image/png", "blob": IMAGE}}]}
    if name == "die":
        os._exit(3)
    if name == "hang":
        threading.Event().wait()
    if name == "garbage":
        raw("this is no message\n{\"neither\": is this\n\x00\xff\n")
        return text("after the garbage")
    if name == "huge":
        size = arguments.get("size", 1_000)
        result = json.dumps(text("x" * size))
        if arguments.get("id_last"):
            raw('{"result": ' + result + ', "jsonrpc": "2.0", "id": ' + json.dumps(mark) + "}\n")
            return None
        return text("x" * size)
    if name == "slow":
        # Ends after this many steps. With `release`, ends when that file exists, or when the call is cancelled.
        steps, release = arguments.get("steps", 1), arguments.get("release")
        with lock:
            state["running"] += 1
            state["max_running"] = max(state["max_running"], state["running"])
        for step in itertools.count(1):
            if meta.get("progressToken") is not None:
                send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": meta["progressToken"], "progress": step, "total": steps,
                    "message": said.get("progress", f"step {step}")}})
            if mark in state["cancelled"] or (os.path.exists(release) if release else step == steps):
                break
            if release:
                time.sleep(0.02)
        with lock:
            state["running"] -= 1
        return None if mark in state["cancelled"] else text("done")
    if name == "change":
        state["changed"] += 1
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("changed")
    if name == "spawn":
        child = subprocess.Popen(["sleep", "1000"])
        return text(json.dumps([os.getpid(), child.pid]))
    if name == "identity":
        return text(json.dumps([os.getpid()]))
    if name == "refuse" and "refuse" in said:
        return said["refuse"]
    if name == "refuse":
        secret = os.environ.get("SECRET", "")
        return text(f"No. The secret was {secret}\n    at handler (/home/x/server.js:1:2)", isError=True)
    if name == "protest":
        raise ValueError(said.get("protest", "unheard of"))
    if name == "elicit":
        return text(json.dumps(ask(send, "elicitation/create", said.get("elicit", {
            "message": "Which?", "requestedSchema": {"type": "object", "properties": {"which": {"type": "string"}}}}))))
    if name == "elicit_often":
        said_by_person = [ask(send, "elicitation/create", {"message": "Which?"})["action"] for _ in range(arguments["times"])]
        return text(json.dumps({action: said_by_person.count(action) for action in sorted(set(said_by_person))}))
    if name == "sample":
        return text(json.dumps(ask(send, "sampling/createMessage", said.get("sample", {
            "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 10}))))
    if name == "roots":
        return text(json.dumps(ask(send, "roots/list", {})))
    if name == "log":
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": said.get("log", {
            "level": "warning", "logger": "server", "data": {"said": "something"}})})
        return text("logged")
    if name == "cancelled":
        return text(json.dumps(state["cancelled"]))
    if name == "max_at_once":
        return text(json.dumps([state["max_running"]]))
    if name == "environment":
        return text(json.dumps(dict(os.environ)))
    if name == "last_meta":
        return text(json.dumps(meta))
    if name == "added":
        return text("new")
    raise ValueError(f"unknown tool {name}")


def respond(message, send):
    """Handles one message; answers go through send."""
    mark, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if options.journal and method:
        with open(options.journal, "a") as file:
            file.write(method + "\n")
    if method is None:
        with lock:
            box = waiting.get(mark)
        if box:
            box.put(message.get("result", {"error": message.get("error")}))
        return
    if mark is None:
        if method == "notifications/cancelled":
            state["cancelled"].append(params["requestId"])
        return
    if options.mute:
        return
    answer = {"jsonrpc": "2.0", "id": mark}
    try:
        if options.stateless and "io.modelcontextprotocol/protocolVersion" not in (params.get("_meta") or {}):
            answer["error"] = {"code": -32600, "message": "Every request must say who asks"}
        elif method == "initialize":
            state["greeted"] = params
            answer["result"] = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "completions": {}},
                                "serverInfo": {"name": "fake", "version": "1.0", "title": "Fa\u001b[31mke"},
                                "instructions": said.get("instructions", "Be kind.")}
        elif method == "server/discover" and options.stateless:
            state["greeted"] = params
            answer["result"] = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                                "ttlMs": 0, "cacheScope": "private",
                                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "2.0"}}}
        elif method == "subscriptions/listen" and options.stateless:
            return
        elif method == "ping":
            answer["result"] = {}
        elif method == "tools/list":
            state["listed"] += 1
            if options.lists_once and state["listed"] > 1:
                return
            while options.lists_if and state["listed"] > 1 and not os.path.exists(options.lists_if):
                time.sleep(0.02)
            every = tools()
            if options.restless and 1 < state["listed"] < options.restless:
                send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            if options.restless and state["listed"] >= options.restless:
                every[0]["description"] = "Changed in the end."
            page = int(params.get("cursor", 0))
            size = -(-len(every) // options.pages)
            answer["result"] = {"tools": every[page * size:(page + 1) * size]}
            if options.endless or page + 1 < options.pages:
                answer["result"]["nextCursor"] = str(page + 1)
        elif method == "resources/list":
            answer["result"] = {"resources": said.get("resources", [{"uri": "test://a", "name": "a"}, {"uri": "test://b", "name": "b"}])}
        elif method == "resources/templates/list":
            answer["result"] = {"resourceTemplates": said.get("templates", [{"uriTemplate": "test://{which}", "name": "any"}])}
        elif method == "resources/read":
            if not params["uri"].startswith("test://"):
                raise ValueError("no such document")
            answer["result"] = {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "read " + params["uri"]}]}
        elif method == "prompts/list":
            answer["result"] = {"prompts": said.get("prompts", [{"name": "greet", "arguments": [{"name": "whom", "required": True}]}])}
        elif method == "prompts/get":
            filled = f"{params['name']} {params.get('arguments', {}).get('whom')}"
            answer["result"] = {"messages": [{"role": "user", "content": {"type": "text", "text": filled}}]}
            if "description" in said:
                answer["result"]["description"] = said["description"]
        elif method == "completion/complete":
            answer["result"] = {"completion": {"values": said.get("completions", [params["ref"].get("name", params["ref"].get("uri"))])}}
        elif method == "tools/call" and options.stateless and params["name"] in ("elicit", "sample"):
            given = params.get("inputResponses")
            if given:
                assert params["requestState"] == "so far"
                answer["result"] = {"resultType": "complete", **text(json.dumps(given["q"]))}
            else:
                wanted = {"elicit": "elicitation/create", "sample": "sampling/createMessage"}[params["name"]]
                answer["result"] = {"resultType": "input_required", "requestState": "so far", "inputRequests": {
                    "q": {"method": wanted, "params": said.get(params["name"], {"message": "Which?"})}}}
        elif method == "tools/call":
            result = call(params["name"], params.get("arguments", {}), params.get("_meta") or {}, send, mark)
            if result is None:
                return
            answer["result"] = result
        else:
            answer["error"] = {"code": -32601, "message": f"Method not found: {method}"}
    except Exception as problem:
        answer["error"] = {"code": -32603, "message": str(problem)}
    send(answer)


def raw(words):
    with lock:
        sys.stdout.write(words)
        sys.stdout.flush()


def watch_tools(send):
    """Says that the tools have changed whenever their file has."""
    if options.unannounced:
        return
    seen = os.stat(options.tools_file)
    while True:
        time.sleep(0.02)
        try:
            now = os.stat(options.tools_file)
        except OSError:
            continue
        if (now.st_mtime_ns, now.st_ino) != (seen.st_mtime_ns, seen.st_ino):
            seen = now
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


def stdio():
    def send(message):
        raw(json.dumps(message) + "\n")

    if options.tools_file:
        threading.Thread(target=watch_tools, args=(send,), daemon=True).start()

    def work(message):
        # A hanging server reads no more, so that one is handled here.
        if message.get("method") == "tools/call" and message["params"].get("name") != "hang":
            threading.Thread(target=respond, args=(message, send), daemon=True).start()
        else:
            respond(message, send)

    for line in sys.stdin:
        work(json.loads(line))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = {}
    held = {}
    called = 0

    def log_message(self, *_):
        pass

    def plain(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def refused(self):
        if options.token and self.headers.get("Authorization") != f"Bearer {options.token}":
            self.plain(401)
            return True
        return False

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.refused():
            return
        message = json.loads(body)
        method, session = message.get("method"), self.headers.get("Mcp-Session-Id")
        headers = {}
        if options.stateless:
            if self.headers.get("Mcp-Method") != method and message.get("id") is not None:
                return self.plain(400, json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32020, "message": "Mcp-Method"}}).encode())
        elif method == "initialize":
            session = base64.b16encode(os.urandom(8)).decode()
            Handler.sessions[session] = queue.Queue()
            headers["Mcp_Session_Id"] = session
        elif session not in Handler.sessions:
            return self.plain(404)
        if options.paced and method == "tools/call":
            Handler.called += 1
            if Handler.called == 2:
                return self.plain(429, b"slow down", Retry_After="1")
        if message.get("id") is None or method is None:
            respond(message, lambda _: None)
            return self.plain(202)
        if options.events or method == "subscriptions/listen":
            return self.stream(message, headers)
        answers = []

        def send(sent):
            if "method" in sent and session in Handler.sessions:
                Handler.sessions[session].put(sent)
            else:
                answers.append(sent)

        respond(message, send)
        if answers:
            self.plain(200, json.dumps(answers[-1]).encode(), **headers)

    def stream(self, message, headers):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

        def event(data, mark=None):
            self.wfile.write(((f"id: {mark}\n" if mark else "") + f"event: message\ndata: {data}\n\n").encode())
            self.wfile.flush()

        def send(sent):
            if options.break_streams and "result" in sent and message.get("method") == "tools/call":
                mark = f"e{time.monotonic_ns()}"
                Handler.held[mark] = sent
                event("", mark)
            else:
                event(json.dumps(sent))

        self.close_connection = True
        respond(message, send)
        if message.get("method") == "subscriptions/listen":
            threading.Event().wait()

    def do_GET(self):
        if self.refused():
            return
        after, session = self.headers.get("Last-Event-Id"), self.headers.get("Mcp-Session-Id")
        if after is None and session not in Handler.sessions:
            return self.plain(405)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if after is not None:
            self.wfile.write(f"data: {json.dumps(Handler.held.pop(after))}\n\n".encode())
            return
        while True:
            self.wfile.write(f"data: {json.dumps(Handler.sessions[session].get())}\n\n".encode())
            self.wfile.flush()

    def do_DELETE(self):
        Handler.sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        self.plain(200)


if "stderr" in said:
    print(said["stderr"], file=sys.stderr, flush=True)
if options.ask_for_secret:
    print("environment:", dict(os.environ), "arguments:", sys.argv, file=sys.stderr, flush=True)
if options.exit_at_start or (options.exit_while and os.path.exists(options.exit_while)):
    print("cannot start", file=sys.stderr)
    sys.exit(7)
if options.banner:
    raw("Welcome to the server!\n\n{}\n[]\n\x1b[31mred\x1b[0m\n")
while options.flood:
    raw("nonsense " * 100 + "\n")
if options.http is not None:
    if options.tools_file:
        def tell(message):
            for box in list(Handler.sessions.values()):
                box.put(message)
        threading.Thread(target=watch_tools, args=(tell,), daemon=True).start()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.http), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()
else:
    stdio()
