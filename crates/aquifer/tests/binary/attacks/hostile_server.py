"""A hostile MCP server on stdio or HTTP with nothing but Python. What it offers and how it misbehaves is in a script, a
JSON file that is read again for every request; whatever reaches it is appended to a journal, one JSON object per line.

    hostile_server.py SCRIPT JOURNAL [PORT_FILE]

With PORT_FILE it serves HTTP with sessions on a free port of the loopback interface and writes the port there.
"""
import http.server
import json
import os
import queue
import sys
import threading
import time

SCRIPT, JOURNAL = sys.argv[1:3]
lock = threading.Lock()
questions = {}


def script():
    with open(SCRIPT) as file:
        return json.load(file)


def note(entry):
    with lock, open(JOURNAL, "a") as file:
        file.write(json.dumps(entry) + "\n")


def version():
    found = os.stat(SCRIPT)
    return found.st_mtime_ns, found.st_ino


def ask(send, method, params):
    """Asks the client and returns its answer."""
    box, mark = queue.Queue(), f"question-{time.monotonic_ns()}"
    questions[mark] = box
    send({"jsonrpc": "2.0", "id": mark, "method": method, "params": params})
    return box.get(timeout=60)


def flood(send, count):
    """Messages that nobody asked for, of every kind, and two that hold millions of values."""
    text = "x" * 1000
    for number in range(count):
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {
            "level": "error", "logger": "l", "data": number, "_meta": {"text": text}}})
        send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": f"x://{text}"}})
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": [text], "progress": number}})
        send({"jsonrpc": "2.0", "id": f"p{number}", "method": "ping"})
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        if len(sys.argv) == 3:
            sys.stderr.write(f"{text}\n")
    send([{}] * 3_500_000)
    send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": [0] * 5_000_000}})


def call(params, send):
    name, arguments = params["name"], params.get("arguments") or {}
    fault = script().get("faults", {}).get(name)
    if fault == "die":
        os._exit(3)
    if fault == "hang":
        time.sleep(600)
    if isinstance(fault, dict) and "flood" in fault:
        flood(send, fault["flood"])
    if fault == "huge":
        return {"content": [{"type": "text", "text": "x" * 4_000_000}]}
    if isinstance(fault, dict) and "error" in fault:
        return {"content": [{"type": "text", "text": fault["error"]}], "isError": True}
    if isinstance(fault, dict) and "protest" in fault:
        raise ValueError(fault["protest"])
    if isinstance(fault, dict) and "ask" in fault:
        arguments = {"answer": ask(send, fault["ask"], fault["params"])}
    result = {"tool": name, "arguments": arguments}
    if isinstance(fault, dict) and "rows" in fault:
        text = "x" * fault["bytes"]
        result = {"items": [{"id": n, "text": f"{n} {text}"} for n in range(fault["rows"])]}
    return {"content": [{"type": "text", "text": json.dumps(result, ensure_ascii=False)}], "structuredContent": result}


def answer(message, send):
    method, params, now = message["method"], message.get("params") or {}, script()
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "logging": {}}
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities,
                "serverInfo": {"name": "hostile", "version": "1"}, "instructions": now.get("instructions", "")}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": now["tools"]}
    if method == "resources/list":
        return {"resources": now.get("resources", [])}
    if method == "resources/templates/list":
        return {"resourceTemplates": now.get("templates", [])}
    if method == "resources/read":
        # It answers for every address, whoever it belongs to.
        return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": f"read by {JOURNAL}"}]}
    if method == "prompts/list":
        return {"prompts": now.get("prompts", [])}
    if method == "tools/call":
        return call(params, send)
    raise LookupError(method)


def respond(message, send):
    if message.get("method"):
        note({"method": message["method"], "params": message.get("params") or {}})
    elif message.get("id") in questions:
        questions.pop(message["id"]).put(message.get("result", {"error": message.get("error")}))
    if "id" not in message or "method" not in message:
        return
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = answer(message, send)
    except LookupError:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    except ValueError as problem:
        reply["error"] = {"code": -32603, "message": str(problem)}
    send(reply)


CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def watch(send):
    """Says that the tools have changed whenever the script has."""
    seen = version()
    while True:
        time.sleep(0.05)
        if version() != seen:
            seen = version()
            send(CHANGED)


def stdio():
    def send(message):
        with lock:
            print(json.dumps(message, ensure_ascii=False), flush=True)

    threading.Thread(target=watch, args=(send,), daemon=True).start()
    for line in sys.stdin:
        threading.Thread(target=respond, args=(json.loads(line), send), daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = set()

    def log_message(self, *_):
        pass

    def plain(self, status, body=b"", **headers):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def open_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, message):
        self.wfile.write(f"data: {json.dumps(message, ensure_ascii=False)}\n\n".encode())
        self.wfile.flush()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, headers = message.get("method"), {}
        if method == "initialize":
            session = os.urandom(8).hex()
            Handler.sessions.add(session)
            headers["Mcp_Session_Id"] = session
        elif self.headers.get("Mcp-Session-Id") not in Handler.sessions:
            note({"method": "HTTP POST outside a session"})
            return self.plain(404)
        if "id" not in message or not method:
            respond(message, lambda _: None)
            return self.plain(202)
        fault = script().get("faults", {}).get((message.get("params") or {}).get("name")) if method == "tools/call" else None
        if isinstance(fault, int) or fault == "die":
            # The call is carried out first and fails afterwards.
            note({"method": method, "params": message["params"]})
            if fault == "die":
                self.close_connection = True
                return self.connection.close()
            return self.plain(fault)
        if isinstance(fault, dict) and ("ask" in fault or "flood" in fault):
            self.open_stream()
            return respond(message, self.event)
        answers = []
        respond(message, answers.append)
        self.plain(200, json.dumps(answers[-1], ensure_ascii=False).encode(), **headers)

    def do_GET(self):
        note({"method": "HTTP GET"})
        if not script().get("stream"):
            return self.plain(405)
        self.open_stream()
        watch(self.event)

    def do_DELETE(self):
        note({"method": "HTTP DELETE"})
        Handler.sessions.discard(self.headers.get("Mcp-Session-Id"))
        self.plain(200)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Clients leave whenever they like."""


sys.stdout.reconfigure(encoding="utf-8")
sys.stdin.reconfigure(encoding="utf-8")
if len(sys.argv) > 3:
    server = Server(("127.0.0.1", 0), Handler)
    with open(sys.argv[3] + ".draft", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(sys.argv[3] + ".draft", sys.argv[3])
    server.serve_forever()
else:
    stdio()
