"""Replays the gold calls of τ²-bench directly and through a gateway, and compares results and states.

Usage: replay.py GATEWAY WORK_FOLDER [DOMAIN...] [--seed N] [--selections N] [--reads N] [--all-tasks] [--show N]

Every result has to be the same both ways, and so does the state after each task. Every result of a tool that reads is
requested again with random selections of fields and has to be what `select` makes of it.

In single mode, calls that need a confirmation are confirmed with their token. One session can ask for sixty confirmations in a
minute, so the gateway is started again before that. In semantic mode a rule of the configuration allows these calls. In both
modes, an operation that the gateway denies because of its danger gets a lower danger.
"""

import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path

from environment import DOMAINS, READS, Environment, ToolError

START_SECONDS = 60

# A session can ask for a few more in a minute.
MAX_CONFIRMATIONS = 50

ALLOW = '[[gate.rule]]\nname = "the replay"\neffect = "allow"\nloosen = true\noperation = "*"\n'

# How each replay reaches the gateway and the server behind it.
RUNS = [
    {"mode": "semantic", "transport": "stdio", "confirms": False, "server": ["--annotations"]},
    {"mode": "single", "transport": "stdio", "confirms": True, "server": ["--structured"]},
    {"mode": "semantic", "transport": "http", "confirms": False, "server": []},
]
# HTTP differs from stdio in the transport alone, so it is enough to replay one domain.
HTTP_DOMAIN = "telecom"

MISSING = object()


def select(value, paths):
    """The selection of docs/query-language.md in plain code. A path is a list of steps."""
    if [] in paths or value is None:
        return value
    if isinstance(value, dict):
        parts = {name: select(value[name], inside(paths, name)) for name, *_ in paths if name in value}
        return {name: part for name, part in parts.items() if part is not MISSING}
    if isinstance(value, list):
        named = [path for path in paths if not is_index(path[0])]
        parts = []
        for n, element in enumerate(value):
            chosen = [path[1:] for path in paths if is_index(path[0]) and int(path[0]) in (n, n - len(value))]
            own = chosen if isinstance(element, list) else named + chosen
            part = select(element, own) if own else MISSING
            if part is not MISSING or named:
                parts.append({} if part is MISSING else part)
        return parts
    return MISSING


def inside(paths, name):
    return [path[1:] for path in paths if path[0] == name]


def is_index(step):
    return re.fullmatch(r"-?\d+", step) is not None


def expected(result, fields):
    """What the gateway returns of a result. The elements of a list are rows; a row that is no object is its `value`."""
    paths = [path.split(".") for path in fields]
    if isinstance(result, list):
        rows = [row if isinstance(row, dict) else {"value": row} for row in result]
        return {"items": [select(row, paths) for row in rows]}
    return select(result, paths) if isinstance(result, dict) else result


class Paths:
    """The paths in the results of one tool, as far as they were seen."""

    LIMIT = 400

    def __init__(self):
        self.known = {}

    def learn(self, result):
        for row in result if isinstance(result, list) else [result]:
            self._walk(row if isinstance(row, dict) else {"value": row}, ())

    def _walk(self, value, path):
        if path and len(self.known) < self.LIMIT:
            self.known[path] = True
        if isinstance(value, dict):
            for name, member in value.items():
                if name and "." not in name:
                    self._walk(member, (*path, name))
        elif isinstance(value, list):
            for element in value:
                # A name applies to the elements of a list, but not to lists in it.
                if isinstance(element, dict):
                    self._walk(element, path)
                elif isinstance(element, list):
                    self._walk(element, (*path, "0"))
            for number in ("0", "-1", "7"):
                for element in value[:2]:
                    self._walk(element, (*path, number))

    def choose(self, rng):
        """A random selection: paths, parts of paths, and names that do not exist."""
        chosen = []
        for _ in range(rng.randint(1, 5)):
            path = list(rng.choice(list(self.known)))
            kind = rng.random()
            if kind < 0.25:
                path = path[: rng.randint(1, len(path))]
            elif kind < 0.35:
                path.append("nowhere")
            elif kind < 0.4:
                path = ["nowhere", *path[1:]]
            elif kind < 0.5:
                path = path[:1]
            chosen.append(path)
        return [".".join(path) for path in chosen]


class Stdio:
    """A connection to the gateway on pipes."""

    def __init__(self, command, environment, log):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment, text=True
        )

    def exchange(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        while "id" in message:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the gateway ended")
            answer = json.loads(line)
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer
        return None

    def close(self):
        self.process.stdin.close()
        self.process.wait(START_SECONDS)


class Http:
    """A connection to the gateway over HTTP."""

    def __init__(self, command, environment, log):
        address = f"127.0.0.1:{free_port()}"
        at = command.index("serve") + 1
        command = [*command[:at], "--http", address, *command[at:]]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        self.url, self.session = f"http://{address}/mcp", None
        wait_for(address)

    def exchange(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-06-18"}
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=START_SECONDS) as response:
            self.session = self.session or response.headers.get("Mcp-Session-Id")
            body = response.read().decode()
            is_stream = response.headers.get_content_type() == "text/event-stream"
        if not body:
            return None
        data = [line[5:] for line in body.splitlines() if line.startswith("data:")] if is_stream else [body]
        answers = [json.loads(text) for text in data if text.strip()]
        return next(answer for answer in answers if answer.get("id") == message.get("id"))

    def close(self):
        self.process.terminate()
        self.process.wait(START_SECONDS)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(what, is_so):
    deadline = time.monotonic() + START_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(f"this did not happen in time: {what}")
        time.sleep(0.05)


def wait_for(address):
    host, _, port = address.partition(":")

    def listens():
        with socket.socket() as probe:
            return not probe.connect_ex((host, int(port)))

    wait_until(f"something listens on {address}", listens)


def server_command(run, domain, control, all_tasks):
    script = str(Path(__file__).with_name("server.py"))
    return [sys.executable, script, domain, control, *run["server"], *["--all-tasks"] * all_tasks]


def source(domain, place):
    return f'[[source]]\nname = "{domain}"\nprefix = ""\n{place}\n'


def on_stdio(command):
    return f"command = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}"


def policy(program, run, domain):
    """What a gateway without rules thinks of each tool."""
    folder = Path(tempfile.mkdtemp(prefix="tau2-"))
    config = folder / "policy.toml"
    config.write_text(source(domain, on_stdio(server_command(run, domain, str(folder / "control"), False))))
    command = [program, "policy", "show", "--json", "--config", str(config)]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder)}
    shown = subprocess.run(command, env=environment, capture_output=True, text=True)
    shutil.rmtree(folder)
    if shown.returncode:
        raise SystemExit(f"policy show failed: {shown.stderr}")
    return json.loads(shown.stdout)["operations"]


class Gateway:
    """A gateway with the server of a domain behind it."""

    def __init__(self, program, run, domain, operations, folder, all_tasks):
        self.control = str(Path(tempfile.mkdtemp(prefix="tau2-")) / "control")
        self.server_log = open(folder / "server.log", "ab")
        self.environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        self.server = None
        server = server_command(run, domain, self.control, all_tasks)
        is_http = run["transport"] == "http"
        config = folder / "gateway.toml"
        if is_http:
            port = free_port()
            self.server = subprocess.Popen([*server, "--http", str(port)], stderr=self.server_log, stdout=self.server_log)
            wait_for(f"127.0.0.1:{port}")
            place = f'url = "http://127.0.0.1:{port}/mcp"'
        else:
            place = on_stdio(server)
        rules = "" if run["confirms"] else ALLOW
        # No rule allows what the gateway denies because of its danger.
        denied = [operation["operation"] for operation in operations if operation["decision"] == "deny"]
        rules = "".join(f'[source.operations.{name}]\ndanger = "destructive"\n' for name in denied) + rules
        config.write_text(source(domain, place) + rules)
        command = [program, "serve", "--model-confirms", "--mode", run["mode"], "--config", str(config)]
        self.confirmations = 0
        self.connection = (Http if is_http else Stdio)(command, self.environment, self.server_log)
        self.number = 0
        self._request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tau2", "version": "1"}},
        )
        self.connection.exchange({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.endpoints = {}
        lines = socket.socket(socket.AF_UNIX)
        wait_until("the server of the domain starts", lambda: not lines.connect_ex(self.control))
        self.lines = lines.makefile("rw")
        lines.close()
        categories = {operation["operation"]: operation["category"].lower() for operation in operations}
        wait_until("the gateway has the operations", lambda: self._find_endpoints(run, categories))

    def _find_endpoints(self, run, categories):
        """Finds the tool of the gateway for each operation."""
        tools = [tool["name"] for tool in self._request("tools/list", {})["tools"]]
        if run["mode"] == "semantic":
            of = lambda category: next((name for name in tools if name.endswith(category)), None)
            self.endpoints = {operation: of(category) for operation, category in categories.items()}
        else:
            self.endpoints = dict.fromkeys(categories, tools[0])
        reader = next((name for name in tools if name.endswith("read")), tools[0])
        self.endpoints["introspect"] = reader
        listed = json.dumps(self.call("introspect", {"query": "operations"}))
        return None not in self.endpoints.values() and all(f'"{name}"' in listed for name in categories)

    def _request(self, method, params):
        self.number += 1
        answer = self.connection.exchange({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']}")
        return answer["result"]

    def call(self, operation, params):
        """Calls an operation, and confirms the call if that is required. Returns the response."""
        tool = self.endpoints[operation]
        for _ in range(2):
            answer = self._request("tools/call", {"name": tool, "arguments": {"operation": operation, "params": params}})
            response = answer.get("structuredContent") or json.loads(answer["content"][0]["text"])
            token = (response.get("error") or {}).get("details", {}).get("confirmation_token")
            if not token:
                break
            self.confirmations += 1
            params = {**params, "confirmation_token": token}
        return response

    def _command(self, command):
        self.lines.write(command + "\n")
        self.lines.flush()
        return self.lines.readline().strip()

    def reset(self, number):
        return self._command(f"reset {number}")

    def digest(self):
        return self._command("digest")

    def close(self):
        self.lines.close()
        self.connection.close()
        if self.server:
            self.server.terminate()
            self.server.wait(START_SECONDS)
        shutil.rmtree(Path(self.control).parent)
        self.server_log.close()


def value_of(text):
    """The value of a result. A text that contains a list or an object counts as what it contains."""
    if isinstance(text, str) and text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return text


class Replay:
    def __init__(self, gateway, environment, rng, options):
        self.gateway, self.environment, self.rng, self.options = gateway, environment, rng, options
        self.counts = Counter()
        self.paths, self.checked = {}, Counter()
        self.differences = []

    def differ(self, what, **details):
        self.counts["differences"] += 1
        self.differences.append({"what": what, **details})

    def task(self, number):
        before = self.gateway.reset(number), self._reset(number)
        if before[0] != before[1]:
            self.differ("state before", task=number)
        for tool, arguments in self.environment.gold_calls(number):
            self.counts["gold calls"] += 1
            self.one_call(tool, arguments)
        for tool, arguments in self.environment.more_reads(self.rng, self.options.reads):
            self.counts["more reads"] += 1
            self.one_call(tool, arguments)
        self.counts["tasks"] += 1
        if self.gateway.digest() != self.environment.digest():
            self.differ("state after", task=number)

    def _reset(self, number):
        self.environment.reset(number)
        return self.environment.digest()

    def one_call(self, tool, arguments):
        is_read = tool in READS[self.environment.domain]
        # Checking every call would take longer than the calls.
        digest = self.environment.digest() if is_read and self.checked[tool] < 3 else None
        try:
            direct, error = self.environment.call(tool, arguments), None
        except ToolError as problem:
            direct, error = None, str(problem)
        if digest:
            self.checked[tool] += 1
            assert self.environment.digest() == digest, f"{tool} changes the state"
        response = self.gateway.call(tool, arguments)
        if error is not None:
            self.counts["refused calls"] += 1
            if response["success"] or response["error"].get("details", {}).get("upstream_error") != error:
                self.differ("error", tool=tool, arguments=arguments, expected=error, actual=response)
            return
        result = value_of(direct)
        if not response["success"] or value_of(response["data"]) != result:
            self.differ("result", tool=tool, arguments=arguments, expected=result, actual=response)
        elif is_read:
            self.select_fields(tool, arguments, result)

    def select_fields(self, tool, arguments, result):
        if isinstance(result, (dict, list)) and result:
            self.paths.setdefault(tool, Paths()).learn(result)
        # `fields` belongs to an operation whose results were seen to have some.
        if tool not in self.paths:
            return
        for _ in range(self.options.selections):
            fields = self.paths[tool].choose(self.rng)
            self.counts["selections"] += 1
            response = self.gateway.call(tool, {**arguments, "fields": fields})
            wanted = expected(result, fields)
            actual = response.get("data")
            if isinstance(actual, dict) and isinstance(result, list):
                actual = {name: part for name, part in actual.items() if name != "pageInfo"}
            if not response["success"] or value_of(actual) != wanted:
                self.differ("fields", tool=tool, arguments=arguments, fields=fields, expected=wanted, actual=response)


# What a person would not expect of a tool of this kind.
UNUSUAL = [("read", "confirm"), ("read", "deny"), ("write", "allow"), ("write", "deny")]


def classification(operations, domain):
    """How the gateway treats the tools: which need a confirmation, and which `--read-only` hides."""
    counts = Counter()
    for operation in operations:
        kind = "read" if operation["operation"] in READS[domain] else "write"
        counts[kind] += 1
        counts[f"{kind} asked"] += operation["decision"] == "confirm"
        counts[f"{kind} denied"] += operation["decision"] == "deny"
        counts[f"{kind} offered read-only"] += operation["category"] == "READ"
        if (kind == "read") != (operation["category"] == "READ") or (kind, operation["decision"]) in UNUSUAL:
            name = operation["operation"]
            print(f"    {domain}: {name} ({kind}): {operation['category']}, {operation['decision']}: {operation['evidence']}")
    return counts


def replay(run, domain, options):
    folder = options.folder / f"{domain}-{run['mode']}-{run['transport']}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = Environment(domain, options.all_tasks)
    # Text as a seed is independent of the interpreter's hashes.
    rng = random.Random(f"{options.seed}/{domain}/{run['mode']}/{run['transport']}")
    tasks = range(len(environment.tasks))
    operations = policy(options.gateway, run, domain)
    start = lambda: Gateway(options.gateway, run, domain, operations, folder, options.all_tasks)
    gateway = start()
    try:
        state = Replay(gateway, environment, rng, options)
        for number in tasks:
            needed = len(environment.gold_calls(number)) + options.reads
            # What the gateway has learned about the tools has to survive a restart.
            if number == len(tasks) // 2 or gateway.confirmations + needed > MAX_CONFIRMATIONS:
                gateway.close()
                gateway = state.gateway = start()
                state.counts["restarts"] += 1
            state.task(number)
    finally:
        gateway.close()
    (folder / "differences.json").write_text(json.dumps(state.differences, indent=1))
    for difference in state.differences[: options.show]:
        print(f"    {json.dumps(difference)[:1500]}")
    return state.counts, classification(operations, domain)


def table(rows):
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [str(cell).ljust(width) if n < 2 else str(cell).rjust(width) for n, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gateway")
    parser.add_argument("folder", type=Path)
    parser.add_argument("domains", nargs="*", default=DOMAINS)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--selections", type=int, default=4)
    parser.add_argument("--reads", type=int, default=5)
    parser.add_argument("--all-tasks", action="store_true")
    parser.add_argument("--show", type=int, default=5)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    unknown = set(options.domains) - set(DOMAINS)
    if unknown:
        parser.error(f"unknown domains: {', '.join(sorted(unknown))}; there are {', '.join(DOMAINS)}")
    columns = ["tasks", "gold calls", "more reads", "refused calls", "selections", "restarts", "differences"]
    replayed = [["domain", "gateway", *columns]]
    judged = [["domain", "server", "reads", "asked for", "hidden", "writes", "not asked for", "denied", "offered read-only"]]
    failed = 0
    for domain in options.domains:
        for run in RUNS:
            if run["transport"] == "http" and domain != HTTP_DOMAIN:
                continue
            started = time.monotonic()
            counts, tools = replay(run, domain, options)
            name = f"{run['mode']}, {run['transport']}"
            print(f"{domain}, {name}: {counts['differences']} differences, {time.monotonic() - started:.0f} s", flush=True)
            replayed.append([domain, name, *(counts[column] for column in columns)])
            failed += counts["differences"]
            hints = "with hints" if "--annotations" in run["server"] else "without hints"
            if run["transport"] == "stdio":
                hidden = tools["read"] - tools["read offered read-only"]
                loose = tools["write"] - tools["write asked"] - tools["write denied"]
                judged.append(
                    [domain, hints, tools["read"], tools["read asked"], hidden]
                    + [tools["write"], loose, tools["write denied"], tools["write offered read-only"]]
                )
    print(f"\nReplayed with seed {options.seed}. Confirmed with tokens in single mode, otherwise allowed by a rule.\n")
    table(replayed)
    print("\nHow the tools are classified. 'hidden' and 'offered read-only': with --read-only.\n")
    table(judged)
    if failed:
        raise SystemExit(f"\n{failed} differences: see differences.json in the folders of {options.folder}")


main()
