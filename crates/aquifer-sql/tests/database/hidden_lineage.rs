//! Ways in which PostgreSQL shows a hidden column outside of the offered schemas and tables.

use serde_json::json;

use crate::hidden::{hide, nothing_tells};
use crate::server::Server;
use crate::support::{Backing, Fixture};

/// Schemas that are not offered, partitions and row types do not bypass it either.
#[tokio::test]
async fn r_ext_6_no_schema_partition_or_row_shows_a_hidden_column() {
    let made = "
        CREATE SCHEMA inside;
        CREATE TABLE users (id int PRIMARY KEY, name text, notes text UNIQUE); INSERT INTO users VALUES (1, 'Ann', 'hunterzz');
        CREATE TABLE accounts (id int PRIMARY KEY, password text); INSERT INTO accounts VALUES (1, 'hunterzz');
        CREATE VIEW inside.middle AS SELECT id, name, notes AS n FROM users;
        CREATE VIEW inside.passwords AS SELECT id, password AS p FROM accounts;
        CREATE MATERIALIZED VIEW inside.kept AS SELECT id, n AS k FROM inside.middle;
        CREATE VIEW chained AS SELECT id, name, n FROM inside.middle;
        CREATE VIEW chained_more AS SELECT id, k || '!' AS m FROM inside.kept;
        CREATE VIEW chained_secret AS SELECT id, p FROM inside.passwords;
        CREATE VIEW odd_names AS SELECT id AS \":resno\", name AS \"{TARGETENTRY :resorigtbl 1\", notes AS \":resorigtbl\" FROM users ORDER BY notes;
        CREATE TABLE measures (id int PRIMARY KEY, a text, notes text) PARTITION BY RANGE (id);
        CREATE TABLE inside.measures_1 PARTITION OF measures FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (id);
        CREATE TABLE measures_1_1 PARTITION OF inside.measures_1 FOR VALUES FROM (0) TO (10);
        INSERT INTO measures VALUES (1, 'a', 'hunterzz');
        CREATE VIEW of_partition AS SELECT id, a, notes AS n FROM measures_1_1;
        CREATE VIEW of_middle_partition AS SELECT id, a, notes AS n FROM inside.measures_1;
        CREATE TABLE people (id int PRIMARY KEY, a text, notes text);
        CREATE TABLE inside.staff (office text, g text GENERATED ALWAYS AS (upper(office)) STORED) INHERITS (people);
        INSERT INTO inside.staff VALUES (2, 'a', 'hunterzz', 'b');
        CREATE VIEW of_staff AS SELECT id, a, notes AS n, g FROM inside.staff;
        CREATE DOMAIN user_row AS users; CREATE TYPE inside.pair AS (one users, two int);
        CREATE TABLE holders (id int PRIMARY KEY, a text, u users, l users[], d user_row, p inside.pair, q inside.pair[]);
        INSERT INTO holders SELECT 1, 'a', u, ARRAY[u], u, ROW(u, 1)::inside.pair, ARRAY[ROW(u, 1)::inside.pair] FROM users u;
        CREATE TYPE user_range AS RANGE (SUBTYPE = users, MULTIRANGE_TYPE_NAME = user_multirange);
        CREATE TABLE spans (id int PRIMARY KEY, a text, r user_range, m user_multirange, l user_range[]);
        INSERT INTO spans SELECT 1, 'a', user_range(u, u, '[]'), user_multirange(user_range(u, u, '[]')), ARRAY[user_range(u, u, '[]')] FROM users u;
        CREATE FUNCTION told(int) RETURNS text LANGUAGE sql BEGIN ATOMIC; SELECT notes FROM users WHERE id = $1; END;
        CREATE FUNCTION told_again(int) RETURNS text LANGUAGE sql BEGIN ATOMIC; SELECT told($1); END;
        CREATE VIEW by_function AS SELECT id, name, told(id) AS x FROM users;
        CREATE VIEW by_two_functions AS SELECT id, name, told_again(id) AS x FROM users;
        CREATE VIEW by_xml AS SELECT 1 AS id, table_to_xml('users'::regclass, false, false, '')::text AS x;
        CREATE VIEW by_xml_beside AS SELECT id, name, table_to_xml('users'::regclass, false, false, '')::text AS x FROM users;
        CREATE TABLE inside.letters (id int PRIMARY KEY, about text REFERENCES users (notes)); INSERT INTO inside.letters VALUES (1, 'hunterzz');
        CREATE VIEW of_letters AS SELECT id, about FROM inside.letters;";
    let hidden = hide(&["users.notes", "measures.notes", "people.notes"]);
    let fixture = Fixture::postgres_with(made, hidden).await;
    nothing_tells(&fixture).await;
    // Columns that do not show it stay.
    for (operation, shown) in [
        ("list_chaineds", vec!["id", "name"]),
        ("list_chained_mores", vec!["id"]),
        ("list_chained_secrets", vec!["id"]),
        ("list_of_partitions", vec!["id", "a"]),
        ("list_of_middle_partitions", vec!["id", "a"]),
        ("list_of_staff", vec!["id", "a", "g"]),
        ("list_holders", vec!["id", "a"]),
        ("list_spans", vec!["id", "a"]),
        ("list_by_functions", vec!["id", "name"]),
        ("list_by_two_functions", vec!["id", "name"]),
        ("list_by_xml_besides", vec!["id", "name"]),
        ("list_of_letters", vec!["id"]),
        ("list_odd_names", vec!["resno", "targetentry_resorigtbl_1"]),
    ] {
        let all = fixture.call_ok(operation, json!({ "fields": "full" })).await;
        let row: Vec<&String> = all["items"][0].as_object().unwrap().keys().collect();
        let row: Vec<&str> = row.into_iter().map(String::as_str).filter(|name| !name.starts_with('_')).collect();
        assert_eq!(row, shown, "{operation}: {all}");
    }
}

/// A user of a view need not have access to its tables. Plain columns are shown all the same.
#[tokio::test]
async fn r_ext_6_a_view_over_an_unreadable_schema_shows_other_columns() {
    let server = Server::new(
        "CREATE SCHEMA closed; CREATE TABLE closed.accounts (id int PRIMARY KEY, email text, password text);
         INSERT INTO closed.accounts VALUES (1, 'a@b', 'hunterzz');
         CREATE VIEW me AS SELECT id, email, password AS p FROM closed.accounts WHERE password <> '';",
    )
    .await;
    let role = server.role().await;
    server.run(&format!("GRANT SELECT ON me TO {role}")).await;
    let fixture = Fixture::with_settings(server.settings_of(&role), Backing::Server(server)).await;
    nothing_tells(&fixture).await;
    let all = fixture.call_ok("list_mes", json!({ "fields": "full" })).await;
    assert_eq!(all["items"], json!([{ "id": 1, "email": "a@b" }]));
}
