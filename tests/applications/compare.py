"""Walks every table that a server serves and compares the rows with plain SQL.

Usage: compare.py DATABASE_URL COMMAND...

COMMAND is an MCP-AQL server on stdio in single mode. Every table of the database has to be listed by exactly one
operation, or by one value of `table_name`, and its rows have to be those that SQL gives.
"""

import base64
import json
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from urllib.parse import unquote, urlparse
from uuid import UUID


class Server:
    """An MCP server on pipes."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "compare", "version": "1"}},
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.tool = self.request("tools/list", {})["tools"][0]["name"]

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the server is gone")
            message = json.loads(line)
            if message.get("id") == self.number:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]

    def call(self, operation, **params):
        answer = self.request("tools/call", {"name": self.tool, "arguments": {"operation": operation, "params": params}})
        envelope = answer["structuredContent"]
        if not envelope["success"]:
            raise SystemExit(f"{operation} {params}: {envelope['error']}")
        return envelope["data"]

    def walk(self, operation, params):
        """All rows, page by page."""
        rows, after = [], {}
        while True:
            data = self.call(operation, first=100, **params, **after)
            rows += data["items"]
            page = data["pageInfo"]
            if not page["hasNextPage"]:
                return rows
            after = {"after": page["endCursor"]}

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


class Sqlite:
    def __init__(self, url):
        self.connection = sqlite3.connect(f"file:{unquote(urlparse(url).path)}?mode=ro", uri=True)
        # Text that is no UTF-8 is compared as far as it goes.
        self.connection.text_factory = lambda data: data.decode("utf-8", "replace")

    def tables(self):
        # Tables that a full-text index keeps for itself are its own business.
        query = (
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') "
            "AND name NOT LIKE 'sqlite@_%' ESCAPE '@'"
        )
        return [name for (name,) in self.connection.execute(query)]

    def rows(self, table):
        cursor = self.connection.execute('SELECT * FROM "{}"'.format(table.replace('"', '""')))
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor]


class Postgres:
    def __init__(self, url):
        import psycopg

        self.connection = psycopg.connect(url.replace("postgres://", "postgresql://"))

    def tables(self):
        # The information schema leaves materialized views out.
        query = (
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
            "AND relkind IN ('r', 'p', 'v', 'm', 'f')"
        )
        return [name for (name,) in self.connection.execute(query)]

    def rows(self, table):
        cursor = self.connection.execute('SELECT * FROM "{}"'.format(table.replace('"', '""')))
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor]


def plain(value):
    """A value in one spelling, whichever side it comes from."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (bytes, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, datetime):
        if value.tzinfo:
            value = value.astimezone(timezone.utc)
        return digits(value.isoformat())
    if isinstance(value, (date, time)):
        return digits(value.isoformat())
    if isinstance(value, timedelta):
        return "interval"
    if isinstance(value, (int, float, Decimal)):
        return number(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict) and {"encoding", "data"} <= value.keys():
        return value["data"]
    if isinstance(value, (dict, list)):
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    if isinstance(value, str):
        if re.fullmatch(r"-?\d+(\.\d+)?", value):
            return number(Decimal(value))
        if re.fullmatch(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?", value):
            return digits(value)
        if value[:1] in "[{":
            try:
                return plain(json.loads(value))
            except ValueError:
                pass
        return value
    return value


def is_time(value):
    return isinstance(value, str) and bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value))


def moment(value):
    """A number that is served as a time: seconds since 1970, or milliseconds if they are that many."""
    if not isinstance(value, int):
        return value
    return datetime(1970, 1, 1) + (timedelta(milliseconds=value) if abs(value) >= 10**11 else timedelta(seconds=value))


def number(value):
    return f"{float(value):.9g}"


def digits(text):
    """A time as its digits, without an offset of zero, empty fractions or a midnight that nobody wrote."""
    text = re.sub(r"(Z|\+00(:?00)?)$", "", text.replace("T", " "))
    text = re.sub(r"(\.\d*?)0+$", r"\1", text).rstrip(".")
    return re.sub(r" 00:00:00$", "", text)


def letters(name):
    return re.sub(r"[^a-z0-9]", "", name.lower())


def lists(server):
    """Every list: operation, parameters, and the table that introspection names."""
    operations = [one["name"] for one in server.call("introspect", query="operations")["operations"]]
    if "list_records" in operations:
        return [("list_records", {"table_name": row["name"]}, row) for row in server.walk("list_tables", {})]
    found = []
    for name in operations:
        if name.startswith("list_"):
            details = server.call("introspect", query="operations", name=name)["operation"]
            found.append((name, {}, details))
    return found


def table_of(told, tables, name):
    """The table that a list is about: the one introspection names, else the one that is called alike."""
    if told.get("table") in tables:
        return told["table"]
    named = (re.search(r"[Tt]able '([^']+)'", told.get("description", "")) or [None, None])[1]
    if named in tables:
        return named
    alike = [table for table in tables if letters(table) == letters(name)]
    return alike[0] if len(alike) == 1 else None


def compare(server, database):
    tables = database.tables()
    problems, seen, rows_compared = [], Counter(), 0
    for operation, params, told in lists(server):
        name = params.get("table_name") or operation.removeprefix("list_")
        table = table_of(told, tables, name)
        if table is None:
            problems.append(f"{operation} {params}: no table is called like it")
            continue
        seen[table] += 1
        served, stored = server.walk(operation, params), database.rows(table)
        rows_compared += len(stored)
        if len(served) != len(stored):
            problems.append(f"{table}: {len(served)} rows are served, {len(stored)} are there")
            continue
        if not stored:
            continue
        columns = {column: shown(column, served[0]) for column in stored[0]}
        shown_columns = [column for column, field in columns.items() if field]
        if not shown_columns:
            problems.append(f"{table}: no column is shown")
            continue
        left = Counter(tuple(str(plain(row.get(columns[column]))) for column in shown_columns) for row in served)
        times = {column for column in shown_columns if any(is_time(row.get(columns[column])) for row in served)}
        right = Counter(
            tuple(str(plain(moment(row[column]) if column in times else row[column])) for column in shown_columns)
            for row in stored
        )
        for row in list((right - left).keys())[:1]:
            near = list((left - right).keys())[:1]
            problems.append(f"{table}: {dict(zip(shown_columns, row))}\n    is served as {near and dict(zip(shown_columns, near[0]))}")
    for table in tables:
        if seen[table] != 1:
            problems.append(f"{table}: it is listed {seen[table]} times")
    return problems, len(tables), rows_compared


def shown(column, row):
    if column in row:
        return column
    alike = [name for name in row if letters(name) == letters(column)]
    return alike[0] if len(alike) == 1 else None


def main():
    url, command = sys.argv[1], sys.argv[2:]
    database = Sqlite(url) if url.startswith("sqlite:") else Postgres(url)
    server = Server(command)
    problems, tables, rows = compare(server, database)
    server.close()
    for problem in problems:
        print(problem)
    print(f"{tables} tables and {rows} rows compared, {len(problems)} differences")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
