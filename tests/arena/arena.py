#!/usr/bin/env python3
"""Keep an MCP server running, let a model call it from a shell, and count what the model writes and reads.

    arena.py serve NAME -- COMMAND...   start the server and keep it running until `stop` or Ctrl-C
    arena.py tools NAME                 print the tools, as a client shows them to a model
    arena.py call NAME TOOL [JSON]      make one tools/call and print its text; JSON is `-` for standard input
    arena.py report                     calls, failures, confirmations and tokens for every NAME
    arena.py stop NAME                  end the server

Logs are kept in $ARENA_HOME (default: target/arena of this repository). Nothing listens on a network:
clients reach a running server through a Unix socket in that directory, which only its owner can open.
"""

import argparse
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Client, Listener
from pathlib import Path

HOME = Path(os.environ.get("ARENA_HOME") or Path(__file__).resolve().parents[2] / "target" / "arena")
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_CALLS = 1000
START_TIMEOUT = 60
CALL_TIMEOUT = 120
STOP_TIMEOUT = 5


class McpServer:
    """A child that speaks MCP on its standard streams."""

    def __init__(self, command: list[str]):
        # A process group of its own, so that servers started by the child end with it.
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self.lines: queue.Queue[bytes] = queue.Queue(maxsize=100)
        threading.Thread(target=self.read_lines, daemon=True).start()
        self.last_id = 0

    def read_lines(self) -> None:
        while line := self.child.stdout.readline(MAX_MESSAGE_BYTES):
            self.lines.put(line)
        self.lines.put(b"")

    def send(self, message: dict) -> None:
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.child.stdin.flush()

    def request(self, method: str, params: dict, timeout: float) -> dict:
        """Send a request and wait for its response. Requests of the server are declined, notifications skipped."""
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self.lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"no response to {method} within {timeout} seconds") from None
            if not line:
                raise ConnectionError("the server has ended")
            try:
                message = json.loads(line)
            except ValueError:
                continue  # Not a message: too long, or written by a library that prints.
            if "method" in message and "id" in message:
                declined = {"error": {"code": -32601, "message": "Method not found"}}
                self.send({"id": message["id"], **({"result": {}} if message["method"] == "ping" else declined)})
            elif message.get("id") == self.last_id:
                return message

    def connect(self) -> tuple[str, list[dict]]:
        """Initialize. Returns the instructions and the tools of all pages."""
        client = {"name": "arena", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        started = self.request("initialize", params, START_TIMEOUT)["result"]
        self.send({"method": "notifications/initialized"})
        tools, page = [], {}
        for _ in range(100):
            result = self.request("tools/list", page, START_TIMEOUT)["result"]
            tools += result["tools"]
            if not result.get("nextCursor"):
                break
            page = {"cursor": result["nextCursor"]}
        return started.get("instructions") or "", tools

    def stop(self) -> None:
        try:
            self.child.stdin.close()
        except BrokenPipeError:
            pass
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                self.child.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(self.child.pid, number)
            except (ProcessLookupError, PermissionError):
                return


def describe(instructions: str, tools: list[dict]) -> str:
    """What a model sees of a server before its first call."""
    seen = [{key: tool[key] for key in ("name", "description", "inputSchema") if key in tool} for tool in tools]
    listed = [json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in seen]
    return "\n".join(([instructions] if instructions else []) + listed)


def read_content(response: dict) -> tuple[str, str]:
    """The text of a response, and its outcome: `ok`, `failed`, or `asked` if it wants a confirmation first."""
    if "error" in response:
        return f"error {response['error'].get('code')}: {response['error'].get('message')}", "failed"
    result = response["result"]
    parts = []
    for item in result.get("content", []):
        text = item.get("text") or item.get("resource", {}).get("text")
        parts.append(text if text is not None else f"[{item.get('type')} {item.get('mimeType', '')}]")
    if not parts and "structuredContent" in result:
        parts.append(json.dumps(result["structuredContent"], ensure_ascii=False))
    text = "\n".join(parts)
    if '"confirmation_token":' in text:
        return text, "asked"
    return text, "failed" if result.get("isError") or is_error_text(text) else "ok"


def is_error_text(text: str) -> bool:
    """Whether a server says in its text that a call failed; not every server sets `isError`."""
    if re.match(r"(\w+ )?error\b", text, re.IGNORECASE):
        return True
    try:
        answer = json.loads(text)
    except ValueError:
        return False
    if not isinstance(answer, dict):
        return False
    summary = answer.get("summary")
    return answer.get("success") is False or (isinstance(summary, dict) and bool(summary.get("failed")))


def serve(name: str, command: list[str], max_hours: float) -> None:
    HOME.mkdir(parents=True, exist_ok=True)
    HOME.chmod(0o700)
    address = HOME / f"{name}.socket"
    if address.exists():
        try:
            Client(str(address), "AF_UNIX").close()
        except OSError:
            address.unlink()  # Left behind by a server that was killed.
        else:
            sys.exit(f"{name} is already running; `arena.py stop {name}` ends it")

    def interrupt(*_) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, interrupt)
    signal.setitimer(signal.ITIMER_REAL, max_hours * 3600)
    server = McpServer(command)
    try:
        instructions, tools = server.connect()
        with Listener(str(address), "AF_UNIX", backlog=16) as listener, open(HOME / f"{name}.jsonl", "w") as log:
            print(f"{name}: {len(tools)} tools", file=sys.stderr, flush=True)
            call_count = 0
            while True:
                with listener.accept() as connection:
                    if not connection.poll(STOP_TIMEOUT):
                        continue
                    try:
                        request = json.loads(connection.recv_bytes(MAX_MESSAGE_BYTES))
                    except (EOFError, OSError):
                        continue
                    entry = {"kind": request["kind"], "at": time.time()}
                    if request["kind"] == "stop":
                        connection.send_bytes(b'{"text": "stopped", "outcome": "ok"}')
                        return
                    if request["kind"] == "tools":
                        entry.update(text=describe(instructions, tools), outcome="ok")
                    elif call_count >= MAX_CALLS:
                        entry.update(text=f"no more than {MAX_CALLS} calls", outcome="failed")
                    else:
                        call_count += 1
                        params = {"name": request["tool"], "arguments": request["arguments"]}
                        try:
                            text, outcome = read_content(server.request("tools/call", params, CALL_TIMEOUT))
                        except TimeoutError as error:
                            text, outcome = f"error: {error}", "failed"
                        entry.update(tool=request["tool"], arguments=request["arguments"], text=text, outcome=outcome)
                    log.write(json.dumps(entry, ensure_ascii=False) + "\n")
                    log.flush()
                    try:
                        connection.send_bytes(json.dumps({"text": entry["text"], "outcome": entry["outcome"]}).encode())
                    except OSError:
                        pass  # The caller did not wait for the answer; it is in the log.
    except KeyboardInterrupt:
        pass
    except (ConnectionError, TimeoutError) as error:
        sys.exit(f"{name}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        server.stop()


def ask(name: str, request: dict) -> None:
    try:
        with Client(str(HOME / f"{name}.socket"), "AF_UNIX") as connection:
            connection.send_bytes(json.dumps(request).encode())
            answer = json.loads(connection.recv_bytes())
    except (OSError, EOFError):
        sys.exit(f"{name} is not running: start it with `arena.py serve {name} -- COMMAND`")
    print(answer["text"])
    sys.exit(1 if answer["outcome"] == "failed" else 0)


def token_counter():
    """A function that counts tokens, and what it counts by."""
    try:
        import tiktoken

        encoding = tiktoken.get_encoding("o200k_base")
        return lambda text: len(encoding.encode(text, disallowed_special=())), "o200k_base tokens"
    except Exception as error:  # Not installed, or its vocabulary cannot be downloaded.
        unit = f"bytes / 4, an estimate: tiktoken is unusable ({type(error).__name__})"
        return lambda text: -(-len(text.encode()) // 4), unit


def report() -> None:
    count, unit = token_counter()
    print(f"Tokens: {unit}. Connect is the tool list; wrote + read is everything after it.")
    print("Asked: calls that were answered with a request for confirmation; they are not counted as failed.\n")
    print("| server | connect | calls | failed | asked | wrote | read | wrote + read |")
    print("|---|---|---|---|---|---|---|---|")
    for path in sorted(HOME.glob("*.jsonl")):
        entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        calls = [entry for entry in entries if entry["kind"] == "call"]
        connect = next((count(entry["text"]) for entry in entries if entry["kind"] == "tools"), None)
        wrote = sum(count(call["tool"] + " " + json.dumps(call["arguments"], ensure_ascii=False)) for call in calls)
        read = sum(count(call["text"]) for call in calls)
        failed, asked = (sum(call["outcome"] == outcome for call in calls) for outcome in ("failed", "asked"))
        cells = [path.stem, connect or "not read", len(calls), failed, asked, wrote, read, wrote + read]
        print("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="kind", required=True)
    for kind in ("serve", "tools", "call", "stop"):
        commands.add_parser(kind).add_argument("name")
    commands.choices["serve"].add_argument("--max-hours", type=float, default=4)
    commands.choices["serve"].add_argument("command", nargs="+")
    commands.choices["call"].add_argument("tool")
    commands.choices["call"].add_argument("arguments", nargs="?", default="{}")
    commands.add_parser("report")
    options = parser.parse_args()
    if options.kind != "report" and not options.name.replace("-", "").replace("_", "").isalnum():
        sys.exit("NAME is made of letters, digits, - and _")
    if options.kind == "serve":
        serve(options.name, options.command, options.max_hours)
    elif options.kind == "report":
        report()
    elif options.kind == "call":
        text = sys.stdin.read() if options.arguments == "-" else options.arguments
        try:
            arguments = json.loads(text)
        except ValueError as error:
            sys.exit(f"the arguments are not JSON: {error}")
        ask(options.name, {"kind": "call", "tool": options.tool, "arguments": arguments})
    else:
        ask(options.name, {"kind": options.kind})


if __name__ == "__main__":
    main()
