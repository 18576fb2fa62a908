-- Run after the rows are in: sorting once is cheaper than keeping order row by row.

CREATE INDEX customers_referred_by ON customers (referred_by);
CREATE INDEX customers_favourite_product_id ON customers (favourite_product_id);
CREATE INDEX customers_name ON customers (name);
CREATE INDEX customers_created_at ON customers (created_at);
CREATE INDEX categories_parent_id ON categories (parent_id);
CREATE INDEX products_category_id ON products (category_id);
CREATE INDEX products_suggested_by ON products (suggested_by);
CREATE INDEX products_price ON products (price);
CREATE INDEX orders_customer_id ON orders (customer_id, placed_at);
CREATE INDEX orders_status ON orders (status, placed_at);
CREATE INDEX orders_placed_at ON orders (placed_at);
CREATE INDEX orders_total ON orders (total);
CREATE INDEX order_lines_product_id ON order_lines (product_id);
CREATE INDEX tickets_customer_id ON tickets (customer_id);
CREATE INDEX tickets_order_id ON tickets (order_id);
CREATE INDEX tickets_status ON tickets (status, created_at);
CREATE INDEX tickets_created_at ON tickets (created_at);
CREATE INDEX tickets_updated_at ON tickets (updated_at);
CREATE INDEX ticket_messages_ticket_id ON ticket_messages (ticket_id, sent_at);
CREATE INDEX ticket_messages_sent_at ON ticket_messages (sent_at);
CREATE INDEX ticket_tags_tag_id ON ticket_tags (tag_id);

-- The word indexes keep no text of their own. They stay right only as long as each write tells them the old words and
-- the new ones, so every table behind one has three triggers. Messages have none, on purpose: a search there scans.
CREATE VIRTUAL TABLE tickets_fts USING fts5 (
    subject, body, content = 'tickets', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO tickets_fts (tickets_fts) VALUES ('rebuild');

CREATE TRIGGER tickets_fts_insert AFTER INSERT ON tickets BEGIN
    INSERT INTO tickets_fts (rowid, subject, body) VALUES (new.id, new.subject, new.body);
END;
CREATE TRIGGER tickets_fts_delete AFTER DELETE ON tickets BEGIN
    INSERT INTO tickets_fts (tickets_fts, rowid, subject, body) VALUES ('delete', old.id, old.subject, old.body);
END;
CREATE TRIGGER tickets_fts_update AFTER UPDATE OF id, subject, body ON tickets BEGIN
    INSERT INTO tickets_fts (tickets_fts, rowid, subject, body) VALUES ('delete', old.id, old.subject, old.body);
    INSERT INTO tickets_fts (rowid, subject, body) VALUES (new.id, new.subject, new.body);
END;

CREATE VIRTUAL TABLE products_fts USING fts5 (
    name, description, content = 'products', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO products_fts (products_fts) VALUES ('rebuild');

CREATE TRIGGER products_fts_insert AFTER INSERT ON products BEGIN
    INSERT INTO products_fts (rowid, name, description) VALUES (new.id, new.name, new.description);
END;
CREATE TRIGGER products_fts_delete AFTER DELETE ON products BEGIN
    INSERT INTO products_fts (products_fts, rowid, name, description)
    VALUES ('delete', old.id, old.name, old.description);
END;
CREATE TRIGGER products_fts_update AFTER UPDATE OF id, name, description ON products BEGIN
    INSERT INTO products_fts (products_fts, rowid, name, description)
    VALUES ('delete', old.id, old.name, old.description);
    INSERT INTO products_fts (rowid, name, description) VALUES (new.id, new.name, new.description);
END;
