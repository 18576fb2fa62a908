#!/usr/bin/env python3
"""Reference answers for the sets `rental` and `mixed`, computed by plain SQL, and a check of the database afterwards.

    reference.py answers          write answers.json of both sets
    reference.py check SET FILE   compare FILE with a fresh database to which the writes of SET were applied
"""

import json
import sqlite3
import sys
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

from build import build

ARENA = Path(__file__).resolve().parent.parent
MAX_LISTED = 10

# Question number: the SQL, and how many of its rows are asked for. Without a number, all of them are.
QUESTIONS: dict[int, list[tuple[str, int | None]]] = {
    1: [("""SELECT c.id, c.name, sum(p.amount_cents) AS cents
            FROM payments p JOIN rentals r ON r.id = p.rental_id JOIN customers c ON c.id = r.customer_id
            WHERE p.state = 'settled' GROUP BY c.id ORDER BY cents DESC""", 5)],
    2: [("""SELECT s.name, count(*) AS units
            FROM rental_units l JOIN rentals r ON r.id = l.rental_id JOIN units u ON u.id = l.unit_id
            JOIN models m ON m.id = u.model_id JOIN suppliers s ON s.id = m.supplier_id
            WHERE r.state = 'returned' AND r.starts_at >= '2025' AND r.starts_at < '2026'
            GROUP BY s.id ORDER BY units DESC""", 3)],
    3: [("""SELECT b.name, count(DISTINCT r.customer_id) AS customers
            FROM rentals r JOIN branches b ON b.id = r.pickup_branch_id
            WHERE r.state = 'returned' AND r.starts_at >= '2025' AND r.starts_at < '2026'
            GROUP BY b.id ORDER BY customers DESC""", None)],
    4: [("""SELECT substr(booked_at, 1, 7) AS month, count(*) AS rentals FROM rentals
            WHERE booked_at >= '2025' AND booked_at < '2026' GROUP BY month ORDER BY month""", None)],
    5: [("""SELECT b.code, p.sku, p.title, s.on_hand, s.reorder_at
            FROM part_stock s JOIN branches b ON b.id = s.branch_id JOIN parts p ON p.id = s.part_id
            WHERE s.on_hand < s.reorder_at ORDER BY b.code, p.sku""", None)],
    6: [("""SELECT m.name FROM models m WHERE NOT EXISTS
            (SELECT 1 FROM units u JOIN rental_units l ON l.unit_id = u.id WHERE u.model_id = m.id) ORDER BY m.name""", None)],
    7: [("""SELECT u.serial, i.inspected_at, i.verdict
            FROM units u JOIN models m ON m.id = u.model_id LEFT JOIN inspections i ON i.id =
            (SELECT id FROM inspections WHERE unit_id = u.id ORDER BY inspected_at DESC LIMIT 1)
            WHERE m.name = 'GE-219A' ORDER BY u.serial""", None)],
    8: [("""SELECT u.serial, m.name, u.hours_run FROM units u JOIN models m ON m.id = u.model_id
            WHERE json_extract(u.specs, '$.fuel') = 'diesel' AND u.state <> 'retired' AND u.hours_run IS NOT NULL
            ORDER BY u.hours_run DESC""", 5)],
    9: [("SELECT count(*) AS overdue FROM overdue_rentals", None),
        ("SELECT sql AS definition FROM sqlite_schema WHERE name = 'overdue_rentals'", None),
        ("""SELECT b.name, count(*) AS overdue FROM overdue_rentals o JOIN branches b ON b.id = o.pickup_branch_id
            GROUP BY b.id ORDER BY overdue DESC""", 1)],
    10: [("SELECT count(*) AS rentals FROM rentals WHERE return_branch_id <> pickup_branch_id", None),
         ("""SELECT b.name, count(*) AS rentals FROM rentals r JOIN branches b ON b.id = r.return_branch_id
             WHERE r.return_branch_id <> r.pickup_branch_id GROUP BY b.id ORDER BY rentals DESC""", 1),
         ("""SELECT count(*) AS rentals FROM rentals r JOIN employees e ON e.id = r.handled_by
             JOIN employees s ON s.id = e.supervisor_id
             WHERE r.return_branch_id <> r.pickup_branch_id AND s.full_name = 'Ines Rohde'""", None)],
}
# Writes: the statements that do what the task asks. No statement means that nothing may change.
WRITES: dict[str, dict[int, list[str]]] = {
    "rental": {
        11: ["""INSERT INTO rentals (customer_id, pickup_branch_id, state, starts_at, due_at)
                SELECT c.id, b.id, 'booked', '2026-10-05T07:00:00Z', '2026-10-09T07:00:00Z' FROM customers c, branches b
                WHERE c.name = 'Ehlers Concrete 18' AND b.name = 'Harbour'""",
             """INSERT INTO rental_units SELECT last_insert_rowid(), u.id, m.daily_cents, 4
                FROM units u JOIN models m ON m.id = u.model_id WHERE u.serial = 'HAR-20592'"""],
        12: ["""UPDATE repairs SET mechanic_id = (SELECT supervisor_id FROM employees WHERE full_name = 'Lars Gerdes')
                WHERE finished_at IS NULL AND mechanic_id = (SELECT id FROM employees WHERE full_name = 'Lars Gerdes')""",
             "UPDATE employees SET left_on = '2026-09-30' WHERE full_name = 'Lars Gerdes'"],
        13: [],
    },
    "mixed": {
        1: ["""UPDATE part_stock SET on_hand = on_hand - 6 WHERE (branch_id, part_id) = (SELECT s.branch_id, s.part_id
               FROM part_stock s JOIN parts p ON p.id = s.part_id WHERE p.sku = 'P-432' ORDER BY s.on_hand DESC LIMIT 1)""",
            """UPDATE part_stock SET on_hand = on_hand + 6 WHERE part_id = (SELECT id FROM parts WHERE sku = 'P-432')
               AND branch_id = (SELECT id FROM branches WHERE name = 'Harbour')"""],
        2: ["DELETE FROM rentals WHERE state = 'draft' AND id NOT IN (SELECT rental_id FROM rental_units)"],
        3: ["""UPDATE models SET daily_cents = daily_cents * 105 / 100
               WHERE category_id = (SELECT id FROM categories WHERE title = 'Compactors')"""],
        4: ["DELETE FROM rental_units WHERE rental_id = 9510", "DELETE FROM rentals WHERE id = 9510"],
        5: [],
        6: ["DELETE FROM customers WHERE name = 'Maria Keller' AND id NOT IN (SELECT customer_id FROM rentals)"],
        7: [],
        8: ["""INSERT INTO damages (unit_id, rental_id, reported_at, severity)
               SELECT unit_id, rental_id, '2026-10-01T08:00:00Z', 'minor' FROM rental_units WHERE rental_id = 9522"""],
    },
}
# What a refusal should be able to say: how many rows stand in the way.
REFUSALS: dict[str, dict[int, str]] = {
    "rental": {13: """SELECT count(DISTINCT u.id) AS units, count(l.rental_id) AS rental_units
                      FROM units u JOIN models m ON m.id = u.model_id LEFT JOIN rental_units l ON l.unit_id = u.id
                      WHERE m.name = 'BO-345C'"""},
    "mixed": {5: """SELECT (SELECT count(*) FROM employees WHERE branch_id = b.id) AS employees,
                    (SELECT count(*) FROM units WHERE home_branch_id = b.id) AS units,
                    (SELECT count(*) FROM rentals WHERE pickup_branch_id = b.id) AS pickups,
                    (SELECT count(*) FROM rentals WHERE return_branch_id = b.id) AS returns,
                    (SELECT count(*) FROM part_stock WHERE branch_id = b.id) AS part_stock
                    FROM branches b WHERE b.name = 'Old Mill'""",
              7: "SELECT state AS unchanged_state FROM units WHERE serial = 'QUA-20148'"},
}
# Columns of new rows that the task leaves open.
OPEN_COLUMNS = {"rentals": {"id", "booked_at"}, "rental_units": {"rental_id"}, "damages": {"id"}}

Rows = dict[tuple, dict]


def query(database: sqlite3.Connection, sql: str) -> list[dict]:
    cursor = database.execute(sql)
    return [dict(zip([column[0] for column in cursor.description], row)) for row in cursor]


def top(rows: list[dict], count: int | None) -> list[dict]:
    """The first rows. The order must not depend on how ties are broken."""
    if count is None or count >= len(rows):
        return rows
    first, second = (list(row.values())[-1] for row in rows[count - 1 : count + 1])
    assert first != second, f"a tie at place {count}: {rows[count - 1]} and {rows[count]}"
    return rows[:count]


def snapshot(database: sqlite3.Connection) -> dict[str, Rows]:
    """All rows of all tables by primary key."""
    tables = {}
    for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        key = [row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[5]]
        tables[table] = {tuple(row[column] for column in key): row for row in query(database, f"SELECT * FROM {table}")}
    return tables


def changes(before: dict[str, Rows], after: dict[str, Rows]) -> list[str]:
    """What differs, one line per row: removed, changed, added. Open columns of added rows are left out."""
    lines = []
    for table in sorted(before.keys() | after.keys()):
        old, new = before.get(table, {}), after.get(table, {})
        lines += [f"{table} {key}: removed" for key in old.keys() - new.keys()]
        for key in new.keys() & old.keys():
            differing = {column: value for column, value in new[key].items() if value != old[key].get(column)}
            if differing:
                lines.append(f"{table} {key}: {json.dumps(differing)}")
        for key in new.keys() - old.keys():
            row = {name: plain(value) for name, value in new[key].items() if name not in OPEN_COLUMNS.get(table, ())}
            lines.append(f"{table}: added {json.dumps(row, ensure_ascii=False)}")
    return sorted(lines)


def plain(value):
    """Times in one spelling, so that a space for the T or a missing Z does not count as an error."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return value
    return moment.replace(tzinfo=moment.tzinfo or timezone.utc).astimezone(timezone.utc).isoformat()


def apply(database: sqlite3.Connection, statements: list[str]) -> None:
    for statement in statements:
        assert database.execute(statement).rowcount > 0, statement


def write_answers() -> None:
    for name, writes in WRITES.items():
        database = build(":memory:")
        answers = {}
        if name == "rental":
            for number, parts in QUESTIONS.items():
                answers[number] = [top(query(database, sql), count) for sql, count in parts]
        for number, statements in writes.items():
            before = snapshot(database)
            apply(database, statements)
            answers[number] = {"changes": changes(before, snapshot(database))}
            if number in REFUSALS[name]:
                answers[number]["refused"] = query(database, REFUSALS[name][number])[0]
        lines = [f'"{number}": {json.dumps(answer, ensure_ascii=False)}' for number, answer in answers.items()]
        (ARENA / name / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def check(name: str, file: str) -> bool:
    fresh = build(":memory:")
    before = snapshot(fresh)
    for statements in WRITES[name].values():
        apply(fresh, statements)
    # Opened for reading alone; the file must exist.
    database = sqlite3.connect(f"{Path(file).resolve().as_uri()}?mode=ro", uri=True)
    after = snapshot(database)
    expected, actual = Counter(changes(before, snapshot(fresh))), Counter(changes(before, after))
    dangling = Counter(row[0] for row in database.execute("PRAGMA foreign_key_check"))
    problems = [f"missing     {line}" for line in (expected - actual).elements()]
    problems += [f"unexpected  {line}" for line in (actual - expected).elements()]
    for line in problems[:MAX_LISTED]:
        print(line)
    if len(problems) > MAX_LISTED:
        print(f"and {len(problems) - MAX_LISTED} more")
    for table, count in dangling.items():
        print(f"orphans     {count} rows of {table} refer to a row that does not exist")
    # A line of a new rental must belong to the new rental.
    for key, row in after["rental_units"].items():
        if key not in before["rental_units"] and (row["rental_id"],) in before["rentals"]:
            problems.append("line")
            print(f"unexpected  rental_units {key} belongs to a rental that was there before")
    print(f"{sum(expected.values())} changes expected, {sum((expected & actual).values())} found", end=", ")
    print("as asked" if not problems and not dangling else "NOT as asked")
    return not problems and not dangling


def main() -> None:
    match sys.argv[1:]:
        case ["answers"]:
            write_answers()
        case ["check", ("rental" | "mixed") as name, file]:
            sys.exit(0 if check(name, file) else 1)
        case _:
            sys.exit("usage: reference.py answers | reference.py check rental|mixed FILE.db")


if __name__ == "__main__":
    main()
