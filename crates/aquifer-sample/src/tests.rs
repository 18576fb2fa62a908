//! Properties of the sample data, as tables.
#![allow(clippy::unwrap_used, clippy::panic)]

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::fill;

fn sample() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    fill(&mut connection).unwrap();
    connection
}

fn number(connection: &Connection, query: &str) -> i64 {
    connection.query_row(query, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{query}: {error}"))
}

fn texts(connection: &Connection, query: &str) -> Vec<String> {
    let mut statement = connection.prepare(query).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// FNV-1a over every value of every table except the internal tables of the full-text indexes. The standard library may
/// change its hash at any time, but the value is pinned below.
fn fingerprint(connection: &Connection) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    let tables =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%\\_fts%' ESCAPE '\\' ORDER BY name";
    for table in texts(connection, tables) {
        take(table.as_bytes());
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{table}\" ORDER BY 1, 2")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                match row.get_ref(column).unwrap() {
                    ValueRef::Null => take(b"n"),
                    ValueRef::Integer(value) => take(&value.to_le_bytes()),
                    ValueRef::Real(value) => take(&value.to_bits().to_le_bytes()),
                    ValueRef::Text(value) | ValueRef::Blob(value) => take(value),
                }
                take(b"|");
            }
        }
    }
    hash
}

#[test]
fn every_fill_produces_the_same_data() {
    let first = fingerprint(&sample());
    assert_eq!(first, fingerprint(&sample()));
    assert_eq!(
        first, 0xb835_637d_3e5e_6ac5,
        "the sample has changed; if that is intended, its fingerprint is {first:#x}"
    );
}

#[test]
fn sqlite_integrity_checks_pass() {
    let connection = sample();
    assert_eq!(texts(&connection, "PRAGMA integrity_check"), ["ok"]);
    assert_eq!(number(&connection, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_eq!(number(&connection, "PRAGMA ignore_check_constraints"), 0);
    let unknown_tier = "UPDATE customers SET tier = 'lead' WHERE id = 1";
    assert!(connection.execute(unknown_tier, []).is_err(), "constraints are checked again after the fill");
}

#[test]
fn a_second_fill_of_the_same_database_fails_and_changes_nothing() {
    let mut connection = sample();
    let before = fingerprint(&connection);
    assert!(fill(&mut connection).is_err());
    assert_eq!(fingerprint(&connection), before);
    assert_eq!(number(&connection, "PRAGMA ignore_check_constraints"), 0);
}

#[test]
fn tables_have_the_expected_number_of_rows() {
    let connection = sample();
    for (table, range) in [
        ("customers", 400..=400),
        ("categories", 12..=14),
        ("products", 160..=160),
        ("orders", 1_500..=1_500),
        ("order_lines", 3_700..=4_300),
        ("tickets", 600..=600),
        ("ticket_messages", 1_300..=1_700),
        ("tags", 20..=20),
        ("ticket_tags", 800..=1_200),
        ("customer_totals", 400..=400),
    ] {
        let rows = number(&connection, &format!("SELECT count(*) FROM {table}"));
        assert!(range.contains(&rows), "{table}: {rows}");
    }
}

#[test]
fn no_row_violates_the_invariants() {
    let connection = sample();
    for (law, rows) in [
        (
            "a total is the sum of its lines",
            "orders WHERE total <> (SELECT round(sum(line_total), 2) FROM order_lines WHERE order_id = orders.id)",
        ),
        ("an order has lines", "orders WHERE id NOT IN (SELECT order_id FROM order_lines)"),
        (
            "cancelled, pending and paid orders are those not shipped",
            "orders WHERE (shipped_at IS NULL) <> (status IN ('cancelled', 'pending', 'paid'))",
        ),
        ("orders ship after they are placed", "orders WHERE shipped_at <= placed_at"),
        (
            "customers sign up before they order",
            "orders JOIN customers ON customers.id = customer_id WHERE placed_at < created_at",
        ),
        ("a customer pays in one currency", "orders GROUP BY customer_id HAVING count(DISTINCT currency) > 1"),
        (
            "what is ordered is offered at the time",
            "order_lines JOIN orders ON orders.id = order_id JOIN products ON products.id = product_id
             WHERE placed_at < created_at OR placed_at >= discontinued_at",
        ),
        ("an order names a product once", "order_lines GROUP BY order_id, product_id HAVING count(*) > 1"),
        ("discontinued means inactive", "products WHERE is_active <> (discontinued_at IS NULL)"),
        (
            "who suggests was there before",
            "products JOIN customers ON customers.id = suggested_by WHERE products.created_at <= customers.created_at",
        ),
        ("who refers was there before", "customers WHERE referred_by >= id"),
        (
            "a ticket about an order is by its customer and comes later",
            "tickets JOIN orders ON orders.id = order_id
             WHERE tickets.customer_id <> orders.customer_id OR created_at <= placed_at",
        ),
        (
            "solved and closed tickets are those with a time",
            "tickets WHERE (solved_at IS NOT NULL) <> (status IN ('solved', 'closed'))",
        ),
        (
            "a ticket's times are in order",
            "tickets WHERE updated_at < coalesce(solved_at, created_at) OR solved_at <= created_at",
        ),
        (
            "messages are written during their ticket",
            "ticket_messages JOIN tickets ON tickets.id = ticket_id
             WHERE sent_at NOT BETWEEN created_at AND updated_at",
        ),
        (
            "no gap is left in a template",
            "(SELECT subject || body AS text FROM tickets UNION ALL SELECT body FROM ticket_messages
              UNION ALL SELECT name || description FROM products)
             WHERE text GLOB '*[{}]*' OR text LIKE '%  %'",
        ),
        (
            "all times lie in the sample's span, in SQLite's form",
            "(SELECT created_at AS at FROM customers UNION ALL SELECT created_at FROM products
              UNION ALL SELECT discontinued_at FROM products UNION ALL SELECT placed_at FROM orders
              UNION ALL SELECT shipped_at FROM orders UNION ALL SELECT updated_at FROM tickets
              UNION ALL SELECT solved_at FROM tickets UNION ALL SELECT sent_at FROM ticket_messages)
             WHERE at <> datetime(at) OR at NOT BETWEEN '2024-01-01 00:00:00' AND '2026-06-30 23:59:59'",
        ),
    ] {
        let broken = number(&connection, &format!("SELECT count(*) FROM (SELECT 1 FROM {rows})"));
        assert_eq!(broken, 0, "{law}");
    }
}

#[test]
fn rows_show_the_expected_variety() {
    let connection = sample();
    for (what, rows) in [
        (
            "a favourite that the customer suggested",
            "customers AS c JOIN products ON products.id = favourite_product_id WHERE suggested_by = c.id",
        ),
        (
            "a favourite that somebody else suggested",
            "customers AS c JOIN products ON products.id = favourite_product_id WHERE suggested_by <> c.id",
        ),
        ("a referrer who was referred", "customers AS c JOIN customers AS r ON r.id = c.referred_by AND r.referred_by"),
        ("a category of a category", "categories AS c JOIN categories AS p ON p.id = c.parent_id AND p.parent_id"),
        ("no phone", "customers WHERE phone IS NULL"),
        ("no favourite", "customers WHERE favourite_product_id IS NULL"),
        ("no orders", "customer_totals WHERE orders = 0 AND revenue = 0 AND currency IS NULL"),
        ("no preferences", "customers WHERE preferences = '{}'"),
        ("free of charge", "products WHERE price = 0"),
        ("sold out", "products WHERE stock = 0"),
        ("discontinued", "products WHERE discontinued_at IS NOT NULL"),
        ("a document with a null in it", "products WHERE json_type(attributes, '$.size_cm') = 'null'"),
        (
            "a document with objects in an array",
            "products WHERE json_extract(attributes, '$.materials[1].percent') > 0",
        ),
        ("an order for nothing", "orders WHERE total = 0"),
        ("a note", "orders WHERE note IS NOT NULL"),
        ("no assignee", "tickets WHERE assignee IS NULL"),
        ("no order", "tickets WHERE order_id IS NULL"),
        ("no tags", "tickets WHERE id NOT IN (SELECT ticket_id FROM ticket_tags)"),
        ("an unused tag", "tags WHERE id NOT IN (SELECT tag_id FROM ticket_tags)"),
        ("an apostrophe", "customers WHERE name LIKE '%''%'"),
        ("a quotation mark", "tickets WHERE body LIKE '%\"%'"),
        ("another script", "customers WHERE unicode(name) > 1000"),
    ] {
        let shown = number(&connection, &format!("SELECT count(*) FROM {rows}"));
        assert!(shown > 0, "{what}");
    }
    for (column, values) in [
        ("tier FROM customers", "bronze gold silver"),
        ("status FROM orders", "cancelled delivered paid pending returned shipped"),
        ("currency FROM orders", "EUR GBP USD"),
        ("status FROM tickets", "closed open solved waiting"),
        ("priority FROM tickets", "high low normal urgent"),
    ] {
        assert_eq!(texts(&connection, &format!("SELECT DISTINCT {column} ORDER BY 1")).join(" "), values, "{column}");
    }
}

#[test]
fn references_are_circular() {
    let connection = sample();
    let references = |from: &str| {
        texts(&connection, &format!("SELECT \"table\" FROM pragma_foreign_key_list('{from}') ORDER BY 1")).join(" ")
    };
    assert_eq!(references("customers"), "customers products");
    assert_eq!(references("products"), "categories customers");
}

#[test]
fn full_text_indexes_follow_their_tables() {
    let connection = sample();
    let intact = |index: &str| {
        // Rank 1 compares the index with its table.
        let check = format!("INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)");
        connection.execute(&check, []).map(|_| ())
    };
    let found = |index: &str, words: &str| {
        number(&connection, &format!("SELECT count(*) FROM {index} WHERE {index} MATCH '{words}'"))
    };
    assert!(found("tickets_fts", "leaking tent") > 0);
    assert!(found("products_fts", "waterproof OR rain") > 0);
    assert_eq!(found("tickets_fts", "zeppelin"), 0);

    let steps = "UPDATE tickets SET subject = 'Zeppelin', status = 'open' WHERE id = 7;
        UPDATE products SET name = 'Zeppelin' WHERE id = 9;
        INSERT INTO tickets (customer_id, subject, body) VALUES (1, 'Another Zeppelin', '');
        UPDATE tickets SET id = 7000 WHERE subject = 'Another Zeppelin';
        DELETE FROM tickets WHERE id = 8;";
    connection.execute_batch(steps).unwrap();
    assert_eq!(found("tickets_fts", "zeppelin"), 2);
    assert_eq!(found("products_fts", "zeppelin"), 1);
    assert_eq!(intact("tickets_fts"), Ok(()));
    assert_eq!(intact("products_fts"), Ok(()));
}
