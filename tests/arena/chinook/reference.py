#!/usr/bin/env python3
"""Reference for tasks.md.

reference.py answers DB   print the right answers, computed from DB, as JSON
reference.py check DB     compare DB with original.db (beside this file) plus the expected changes
"""
import json
import sqlite3
import sys
from collections import Counter
from pathlib import Path

ORIGINAL = Path(__file__).resolve().parent / "original.db"

ANSWERS = {
    "1": """SELECT e.FirstName || ' ' || e.LastName AS name, e.Title AS title, e.Email AS email
            FROM Customer c JOIN Employee e ON e.EmployeeId = c.SupportRepId
            WHERE c.FirstName = 'Astrid' AND c.LastName = 'Gruber'""",
    "2": """SELECT a.Name AS artist, round(sum(l.UnitPrice * l.Quantity), 2) AS amount
            FROM InvoiceLine l JOIN Invoice USING (InvoiceId) JOIN Track USING (TrackId)
            JOIN Album USING (AlbumId) JOIN Artist a USING (ArtistId)
            WHERE InvoiceDate < '2014-01-01' GROUP BY a.ArtistId ORDER BY amount DESC LIMIT 5""",
    "3": """SELECT strftime('%Y-%m', InvoiceDate) AS month, round(sum(Total), 2) AS amount,
                   count(*) AS invoices
            FROM Invoice WHERE strftime('%Y', InvoiceDate) = '2011' GROUP BY month ORDER BY month""",
    "4": """SELECT round(sum(l.UnitPrice * l.Quantity
                   * (1 - CASE WHEN m.Name LIKE '%video%' THEN 0.15 ELSE 0 END)), 2) AS amount
            FROM InvoiceLine l JOIN Invoice USING (InvoiceId) JOIN Track USING (TrackId)
            JOIN MediaType m USING (MediaTypeId) WHERE strftime('%Y', InvoiceDate) = '2013'""",
    "5": """SELECT CASE WHEN Company IS NULL THEN 'no company' ELSE 'company' END AS customers,
                   round(avg(Total), 2) AS average
            FROM Invoice JOIN Customer USING (CustomerId)
            WHERE InvoiceDate < '2014-01-01' GROUP BY customers ORDER BY customers""",
    "6": """SELECT FirstName || ' ' || LastName AS name FROM Customer WHERE CustomerId NOT IN (
                SELECT CustomerId FROM Invoice JOIN InvoiceLine USING (InvoiceId)
                JOIN Track USING (TrackId) JOIN Genre g USING (GenreId)
                WHERE g.Name = 'Metal' AND InvoiceDate < '2014-01-01') ORDER BY CustomerId""",
    "7": """SELECT e.FirstName || ' ' || e.LastName AS name,
                   CAST(julianday(b.HireDate) - julianday(e.HireDate) AS INTEGER) AS days
            FROM Employee e JOIN Employee b ON b.EmployeeId = e.ReportsTo
            WHERE e.HireDate < b.HireDate ORDER BY days DESC""",
    "8": """SELECT e.FirstName || ' ' || e.LastName AS agent,
                   round(total(i.Total), 2) AS amount, count(i.InvoiceId) AS invoices
            FROM Employee e
            LEFT JOIN Customer c ON c.SupportRepId = e.EmployeeId AND c.Country = 'Canada'
            LEFT JOIN Invoice i ON i.CustomerId = c.CustomerId
                 AND strftime('%Y', i.InvoiceDate) = '2012'
            WHERE e.Title = 'Sales Support Agent' GROUP BY e.EmployeeId ORDER BY amount DESC""",
    "9": """SELECT b.Title AS album, a.Name AS artist, count(*) AS tracks
            FROM Track t JOIN Album b USING (AlbumId) JOIN Artist a USING (ArtistId)
            GROUP BY b.AlbumId HAVING count(*) >= 5 AND min(t.TrackId IN (
                SELECT TrackId FROM InvoiceLine JOIN Invoice USING (InvoiceId)
                WHERE InvoiceDate < '2014-01-01')) ORDER BY b.Title""",
    # 12 is a deletion that must not happen; this is what has to be reported instead
    "12": """SELECT count(*) AS invoices, round(sum(Total), 2) AS amount
             FROM Invoice JOIN Customer USING (CustomerId)
             WHERE FirstName = 'Puja' AND LastName = 'Srivastava'""",
}

# Task 10, task 11; task 12 changes nothing.
CHANGES = """
UPDATE Customer SET Phone = '+1 (312) 555-0142', Email = 'frank.ralston@example.com', SupportRepId = 5
 WHERE CustomerId = 24;
INSERT INTO Invoice
SELECT 413, CustomerId, '2014-01-06 00:00:00', Address, City, State, Country, PostalCode, 2.98
  FROM Customer WHERE CustomerId = 36;
INSERT INTO InvoiceLine VALUES (2241, 413, 1801, 0.99, 1), (2242, 413, 3173, 1.99, 1);
"""


def opened(path):
    return sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)


def answers(path):
    db = opened(path)
    db.row_factory = sqlite3.Row
    return {task: [dict(row) for row in db.execute(sql)] for task, sql in ANSWERS.items()}


def schema(db):
    """{name: its CREATE statement} of everything but SQLite's own."""
    return dict(db.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"))


def rows(db, table):
    """The table's rows with their counts; reals to 6 decimals, so that 0.1 + 0.2 equals 0.3."""
    return Counter(tuple(round(v, 6) if isinstance(v, float) else v for v in row)
                   for row in db.execute(f'SELECT * FROM "{table}"'))


def dangling(db):
    return set(db.execute("PRAGMA foreign_key_check"))


def check(path):
    """Lines that say how the database differs from what it should be."""
    original, used, expected = opened(ORIGINAL), opened(path), sqlite3.connect(":memory:")
    original.backup(expected)
    expected.executescript(CHANGES)
    want, have = schema(expected), schema(used)
    for name in sorted(want.keys() | have.keys()):
        if want.get(name) != have.get(name):
            what = "added" if name not in want else "removed" if name not in have else "changed"
            yield f"schema: {name} was {what}"
    for (table,) in expected.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1"):
        if table in have:
            a, b = rows(expected, table), rows(used, table)
            yield from (f"{table}: missing    {row}" for row in (a - b).elements())
            yield from (f"{table}: unexpected {row}" for row in (b - a).elements())
    for table, rowid, parent, _ in sorted(dangling(used) - dangling(original), key=str):
        yield f"{table}: row {rowid} refers to nothing in {parent}"


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("answers", "check"):
        sys.exit(__doc__)
    if sys.argv[1] == "answers":
        print(json.dumps(answers(sys.argv[2]), indent=1, ensure_ascii=False))
        return
    differences = list(check(sys.argv[2]))
    print("\n".join(differences) or "as expected")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
