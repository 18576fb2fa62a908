-- A shop's orders, documents with much text in each, visits and parcels. The rows are the same as in fill-postgres.sql.
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

-- Visits with their times in several formats, each of them indexed.
CREATE TABLE visits (
    id INTEGER PRIMARY KEY,
    t_at TIMESTAMP NOT NULL,
    python_at TIMESTAMP NOT NULL,
    aware_at TEXT NOT NULL,
    day_at DATETIME NOT NULL,
    seconds_at INTEGER NOT NULL,
    sparse_at TIMESTAMP
);

WITH RECURSIVE
series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < 1000000),
numbers AS (SELECT i, 1700000000 + i * 2654435761 % 4294967296 % 63072000 AS s, i * 7919 % 1000000 AS u FROM series)
INSERT INTO visits
SELECT
    i,
    strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch'),
    strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch') || CASE u WHEN 0 THEN '' ELSE printf('.%06d', u) END,
    strftime('%Y-%m-%dT%H:%M:%S+00:00', s, 'unixepoch'),
    date(s, 'unixepoch'),
    s,
    CASE WHEN i % 10 > 0 THEN datetime(s, 'unixepoch') END
FROM numbers;

CREATE INDEX visits_by_t ON visits (t_at);
CREATE INDEX visits_by_python ON visits (python_at);
CREATE INDEX visits_by_aware ON visits (aware_at);
CREATE INDEX visits_by_day ON visits (day_at);
CREATE INDEX visits_by_seconds ON visits (seconds_at);
CREATE INDEX visits_by_sparse ON visits (sparse_at);

-- Parcels of customers in cities, for paths through two references. Some parcels have no customer.
CREATE TABLE cities (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    country TEXT NOT NULL
);

WITH RECURSIVE
series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < 1000)
INSERT INTO cities
SELECT i, printf('City %04d', i * 7919 % 1000), printf('Country %02d', i % 50)
FROM series;

CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    city_id INTEGER NOT NULL REFERENCES cities (id),
    name TEXT NOT NULL
);

WITH RECURSIVE
series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < 100000)
INSERT INTO customers
SELECT i, 1 + i * 2654435761 % 4294967296 % 1000, printf('Customer %06d', i)
FROM series;

CREATE TABLE parcels (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER REFERENCES customers (id),
    weight INTEGER NOT NULL,
    sent_at TEXT NOT NULL
);

WITH RECURSIVE
series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < 1000000),
numbers AS (SELECT i, i * 2654435761 % 4294967296 AS h FROM series)
INSERT INTO parcels
SELECT
    i,
    CASE WHEN i % 100 > 0 THEN 1 + h / 13 % 100000 END,
    100 + h / 7 % 30000,
    datetime(1700000000 + h % 63072000, 'unixepoch')
FROM numbers;

CREATE INDEX cities_by_name ON cities (name);
CREATE INDEX cities_by_country ON cities (country);
CREATE INDEX customers_by_city ON customers (city_id);
CREATE INDEX parcels_by_customer ON parcels (customer_id);
CREATE INDEX parcels_by_sent ON parcels (sent_at);

COMMIT;
ANALYZE;
