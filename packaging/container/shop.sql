-- Runs once, when the database is empty: some data to try, and a role that may read and change it, but no more.
\set password `cat /run/secrets/shop_password`
CREATE ROLE aquifer LOGIN PASSWORD :'password';

CREATE TABLE products (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    price numeric(10, 2) NOT NULL CHECK (price >= 0)
);
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    product_id bigint NOT NULL REFERENCES products,
    quantity integer NOT NULL CHECK (quantity > 0),
    ordered_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO products (name, price) VALUES ('tent', 189.00), ('stove', 49.50), ('lamp', 24.90);
INSERT INTO orders (product_id, quantity) VALUES (1, 1), (2, 2), (3, 4);

GRANT USAGE ON SCHEMA public TO aquifer;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO aquifer;
