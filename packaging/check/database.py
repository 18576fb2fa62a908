"""Creates the SQLite file that agent.mjs queries: database.py PATH"""

import sqlite3
import sys

with sqlite3.connect(sys.argv[1]) as database:
    database.execute("CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL, price REAL NOT NULL)")
    database.executemany("INSERT INTO books (title, price) VALUES (?, ?)", [("Emma", 11.5), ("Dune", 14), ("Kim", 8)])
