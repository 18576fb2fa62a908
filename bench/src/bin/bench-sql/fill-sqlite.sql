-- A shop's orders, and documents with much text in each. The rows are the same as in fill-postgres.sql.
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
BEGIN;

CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'paid', 'packed', 'shipped', 'delivered', 'cancelled')),
    total NUMERIC(10, 2) NOT NULL,
    currency TEXT NOT NULL,
    note TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

WITH RECURSIVE
series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < 1000000),
numbers AS (SELECT i, i * 2654435761 % 4294967296 AS h FROM series)
INSERT INTO orders
SELECT
    i,
    1 + h % 50000,
    CASE h / 7 % 6
        WHEN 0 THEN 'pending' WHEN 1 THEN 'paid' WHEN 2 THEN 'packed'
        WHEN 3 THEN 'shipped' WHEN 4 THEN 'delivered' ELSE 'cancelled'
    END,
    (100 + h % 99900) / 100.0,
    CASE h / 11 % 3 WHEN 0 THEN 'EUR' WHEN 1 THEN 'USD' ELSE 'GBP' END,
    CASE WHEN h % 5 = 0 THEN 'Leave it at the door of house ' || (1 + h % 90) END,
    datetime(1700000000 + h % 63072000, 'unixepoch'),
    datetime(1700000000 + h % 63072000 + h % 864000, 'unixepoch')
FROM numbers;

CREATE INDEX orders_by_status ON orders (status, created_at, id);

CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    body TEXT NOT NULL
);

WITH RECURSIVE
series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < 5000)
INSERT INTO documents
SELECT i, 'Document ' || i, replace(hex(zeroblob(427)), '00', printf('Text of document %05d. ', i))
FROM series;

COMMIT;
ANALYZE;
