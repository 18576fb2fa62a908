//! R-COL-10: following references, the same on every database.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::support::{Fixture, on_both};

/// People with managers (a cycle), teams with leads (a cycle between tables), rooms by building and number, and rows
/// that refer to them.
const TABLES: &str = "
    CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT NOT NULL, lead_id INTEGER);
    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, manager_id INTEGER REFERENCES people(id),
        team_id INTEGER REFERENCES teams(id));
    CREATE TABLE rooms (building TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (building, number));
    CREATE TABLE desks (id INTEGER PRIMARY KEY, building TEXT, number INTEGER, person_id INTEGER REFERENCES people(id),
        FOREIGN KEY (building, number) REFERENCES rooms(building, number));
    CREATE TABLE lonely (id INTEGER PRIMARY KEY);
    INSERT INTO lonely VALUES (1);
    INSERT INTO teams VALUES (1, 'one', NULL), (2, 'two', NULL);
    INSERT INTO people VALUES (1, 'Ann', NULL, 1), (2, 'Bob', 1, 1), (3, 'Cy', 2, 2), (4, 'Di', 1, NULL);
    INSERT INTO rooms VALUES ('A', 1), ('A', 2), ('B', 1);
    INSERT INTO desks VALUES (1, 'A', 1, 1), (2, 'A', 1, 2), (3, 'A', 2, NULL), (4, NULL, 2, 3), (5, 'B', 1, NULL);
    UPDATE people SET manager_id = 3 WHERE id = 1;
    UPDATE teams SET lead_id = 1 WHERE id = 1;
    UPDATE teams SET lead_id = 3 WHERE id = 2;";

/// SQLite cannot add a constraint to a table; it is recreated.
fn of_sqlite() -> String {
    let with = "CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT NOT NULL, lead_id INTEGER REFERENCES people)";
    TABLES.replace("CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT NOT NULL, lead_id INTEGER)", with)
}

fn of_postgres() -> String {
    format!("{TABLES} ALTER TABLE teams ADD FOREIGN KEY (lead_id) REFERENCES people;")
}

async fn related(fixture: &Fixture, params: Value) -> Vec<(String, String, String, u64)> {
    let found = fixture.call_ok("query_relationships", params).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let records = found["relationships"].as_array().unwrap().iter();
    let answer = records.map(|record| {
        let target = &record["target"];
        let target = format!("{}:{}", text(&target["element_type"]), text(&target["element_name"]));
        (text(&record["type"]), text(&record["direction"]), target, record["depth"].as_u64().unwrap())
    });
    let mut records: Vec<_> = answer.collect();
    records.sort_by(|a, b| (a.3, &a.0, &a.1, &a.2).cmp(&(b.3, &b.0, &b.1, &b.2)));
    records
}

fn expected_records(records: &[(&str, &str, &str, u64)]) -> Vec<(String, String, String, u64)> {
    records.iter().map(|(a, b, c, depth)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned(), *depth)).collect()
}

on_both!(r_col_10_both_directions_and_depth, directions, &of_sqlite(), &of_postgres());

async fn directions(fixture: &Fixture) {
    let ann = json!({ "element_type": "people", "id": 1 });
    assert_eq!(
        related(fixture, json!({ "root": ann, "direction": "outgoing" })).await,
        expected_records(&[
            ("people.manager_id", "outgoing", "people:3", 1),
            ("people.team_id", "outgoing", "teams:1", 1)
        ])
    );
    assert_eq!(
        related(fixture, json!({ "root": ann, "direction": "incoming" })).await,
        expected_records(&[
            ("desks.person_id", "incoming", "desks:1", 1),
            ("people.manager_id", "incoming", "people:2", 1),
            ("people.manager_id", "incoming", "people:4", 1),
            ("teams.lead_id", "incoming", "teams:1", 1),
        ])
    );
    // Around the cycle: the edge that closes it is reported, and the walk stops there.
    let only = json!({ "root": ann, "direction": "outgoing", "relationship": "people.manager_id", "depth": 5 });
    assert_eq!(
        related(fixture, only).await,
        expected_records(&[
            ("people.manager_id", "outgoing", "people:3", 1),
            ("people.manager_id", "outgoing", "people:2", 2),
            ("people.manager_id", "outgoing", "people:1", 3),
        ])
    );
    // From a team to its lead and back to the team.
    assert_eq!(
        related(fixture, json!({ "root": { "element_type": "teams", "id": 1 }, "direction": "outgoing", "depth": 2 }))
            .await,
        expected_records(&[
            ("teams.lead_id", "outgoing", "people:1", 1),
            ("people.manager_id", "outgoing", "people:3", 2),
            ("people.team_id", "outgoing", "teams:1", 2),
        ])
    );
    // In both directions, every edge is reported once.
    let found = fixture
        .call_ok("query_relationships", json!({ "root": ann, "direction": "both", "depth": 5, "first": 100 }))
        .await;
    let edges: Vec<String> = found["graph"]["edges"].as_array().unwrap().iter().map(Value::to_string).collect();
    assert_eq!(edges.len(), edges.iter().collect::<HashSet<_>>().len(), "{edges:?}");
    // Managers (4), teams (3), leads (2), desks to people (3), desks to reachable rooms (2, and 0 beyond).
    assert_eq!(edges.len(), 4 + 3 + 2 + 3 + 2, "{edges:?}");
    let nodes: HashSet<&str> =
        found["graph"]["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap()).collect();
    for edge in found["graph"]["edges"].as_array().unwrap() {
        assert!(
            nodes.contains(edge["source"].as_str().unwrap()) && nodes.contains(edge["target"].as_str().unwrap()),
            "{edge}"
        );
    }
    assert_eq!(found["pageInfo"]["hasNextPage"], json!(false));
    assert_eq!(
        related(fixture, json!({ "root": { "element_type": "lonelies", "id": 1 }, "direction": "both" })).await,
        []
    );
}

on_both!(r_col_10_composite_keys, composite, &of_sqlite(), &of_postgres());

async fn composite(fixture: &Fixture) {
    let room = json!({ "element_type": "rooms", "building": "A", "number": 1 });
    assert_eq!(
        related(fixture, json!({ "root": room, "direction": "incoming" })).await,
        expected_records(&[
            ("desks.building+number", "incoming", "desks:1", 1),
            ("desks.building+number", "incoming", "desks:2", 1)
        ])
    );
    let found = fixture
        .call_ok(
            "query_relationships",
            json!({ "root": { "element_type": "desks", "id": 5 }, "direction": "outgoing" }),
        )
        .await;
    let target = &found["relationships"][0]["target"];
    assert_eq!(json!([target["building"], target["number"]]), json!(["B", 1]));
    // A partial reference is none.
    let desk = json!({ "root": { "element_type": "desks", "id": 4 }, "direction": "outgoing" });
    assert_eq!(related(fixture, desk).await, expected_records(&[("desks.person_id", "outgoing", "people:3", 1)]));
    // A row in the answer can be the root of the next walk.
    let mut root = target.clone();
    root.as_object_mut().unwrap().remove("element_name");
    let back = related(fixture, json!({ "root": root, "direction": "incoming" })).await;
    assert_eq!(back, expected_records(&[("desks.building+number", "incoming", "desks:5", 1)]));
    let named = related(fixture, json!({ "root": target, "direction": "incoming" })).await;
    assert_eq!(named, back, "also with its name");
}

on_both!(r_col_10_parts_and_pages, pages, &of_sqlite(), &of_postgres());

async fn pages(fixture: &Fixture) {
    let ann = json!({ "element_type": "people", "id": 1 });
    let whole = fixture
        .call_ok("query_relationships", json!({ "root": ann, "direction": "both", "depth": 3, "first": 100 }))
        .await;
    for (include, keys) in [
        (json!(["root"]), vec!["root"]),
        (json!(["relationships"]), vec!["root", "relationships"]),
        (json!(["graph.nodes"]), vec!["root", "graph"]),
        (json!(["graph.edges", "root"]), vec!["root", "graph"]),
    ] {
        let part = fixture
            .call_ok("query_relationships", json!({ "root": ann, "direction": "both", "include": include }))
            .await;
        assert_eq!(part.as_object().unwrap().keys().collect::<Vec<_>>(), keys, "{include}");
    }
    // Pages of any size visit every edge once, in the same order.
    for size in [1, 2, 3, 7] {
        let (mut edges, mut records, mut after) = (Vec::new(), Vec::new(), None::<Value>);
        loop {
            let mut params = json!({ "root": ann, "direction": "both", "depth": 3, "first": size });
            if let Some(after) = after {
                params["after"] = after;
            }
            let page = fixture.call_ok("query_relationships", params).await;
            edges.extend(page["graph"]["edges"].as_array().unwrap().iter().cloned());
            records.extend(page["relationships"].as_array().unwrap().iter().cloned());
            assert!(edges.len() < 100);
            if page["pageInfo"]["hasNextPage"] != json!(true) {
                break;
            }
            after = Some(page["pageInfo"]["endCursor"].clone());
        }
        assert_eq!(Value::from(edges), whole["graph"]["edges"], "{size}");
        assert_eq!(Value::from(records), whole["relationships"], "{size}");
    }
    let page = fixture.call_ok("query_relationships", json!({ "root": ann, "direction": "both", "first": 1 })).await;
    let cursor = &page["pageInfo"]["endCursor"];
    // A cursor belongs to its walk.
    for foreign in [
        json!({ "root": { "element_type": "people", "id": 2 }, "direction": "both", "first": 1, "after": cursor }),
        json!({ "root": ann, "direction": "incoming", "first": 1, "after": cursor }),
        json!({ "root": ann, "direction": "both", "depth": 2, "first": 1, "after": cursor }),
        json!({ "root": ann, "direction": "both", "relationship": "people.team_id", "first": 1, "after": cursor }),
        json!({ "root": ann, "direction": "both", "first": 1, "after": "forged" }),
    ] {
        let error = fixture.call_err("query_relationships", foreign, "VALIDATION_INVALID_VALUE").await;
        assert_eq!(error["details"]["param_name"], "after");
    }
    let alone = json!({ "root": ann, "direction": "both", "after": cursor });
    fixture.call_err("query_relationships", alone, "VALIDATION_INVALID_TYPE").await;
    let other = fixture.call_ok("list_people", json!({ "first": 1 })).await["pageInfo"]["endCursor"].clone();
    let foreign = json!({ "root": ann, "direction": "both", "first": 1, "after": other });
    fixture.call_err("query_relationships", foreign, "VALIDATION_INVALID_VALUE").await;
    let clamped = fixture.call("query_relationships", json!({ "root": ann, "direction": "both", "first": 1000 })).await;
    assert_eq!(clamped["warnings"][0]["details"], json!({ "requested": 1000, "applied": 100 }));
}

on_both!(r_col_10_invalid_relationship_queries_are_refused, refusals, &of_sqlite(), &of_postgres());

async fn refusals(fixture: &Fixture) {
    let ann = json!({ "element_type": "people", "id": 1 });
    let cases = [
        (json!({ "direction": "both" }), "VALIDATION_MISSING_PARAM", "root"),
        (json!({ "root": ann }), "VALIDATION_MISSING_PARAM", "direction"),
        (json!({ "root": { "id": 1 }, "direction": "both" }), "VALIDATION_MISSING_PARAM", "root.element_type"),
        (json!({ "root": { "element_type": "people" }, "direction": "both" }), "VALIDATION_MISSING_PARAM", "root.id"),
        (
            json!({ "root": { "element_type": "rooms", "building": "A" }, "direction": "both" }),
            "VALIDATION_MISSING_PARAM",
            "root.number",
        ),
        (
            json!({ "root": { "element_type": "rooms", "id": 1 }, "direction": "both" }),
            "VALIDATION_MISSING_PARAM",
            "root.building",
        ),
        (
            json!({ "root": { "element_type": "poeple", "id": 1 }, "direction": "both" }),
            "VALIDATION_INVALID_VALUE",
            "root.element_type",
        ),
        (
            json!({ "root": { "element_type": "people", "id": "x" }, "direction": "both" }),
            "VALIDATION_INVALID_TYPE",
            "root.id",
        ),
        (
            json!({ "root": { "element_type": "people", "id": 1, "name": "x" }, "direction": "both" }),
            "VALIDATION_UNKNOWN_FIELD",
            "root",
        ),
        (json!({ "root": ann, "direction": "up" }), "VALIDATION_INVALID_VALUE", "direction"),
        (
            json!({ "root": ann, "direction": "both", "relationship": "people.manager" }),
            "VALIDATION_INVALID_VALUE",
            "relationship",
        ),
        (json!({ "root": ann, "direction": "both", "depth": 0 }), "VALIDATION_INVALID_VALUE", "depth"),
        (json!({ "root": ann, "direction": "both", "depth": 99 }), "VALIDATION_INVALID_VALUE", "depth"),
        (
            json!({ "root": ann, "direction": "both", "include": ["everything"] }),
            "VALIDATION_INVALID_VALUE",
            "include[0]",
        ),
        (json!({ "root": ann, "direction": "both", "first": -1 }), "VALIDATION_INVALID_VALUE", "first"),
    ];
    for (params, code, name) in cases {
        let error = fixture.call_err("query_relationships", params.clone(), code).await;
        assert_eq!(error["details"]["param_name"], name, "{params}: {error}");
        if name == "root.element_type" && code == "VALIDATION_INVALID_VALUE" {
            let tables = ["desks", "lonelies", "people", "rooms", "teams"];
            assert!(tables.iter().all(|table| error["message"].as_str().unwrap().contains(table)), "{error}");
        }
    }
    let absent = json!({ "root": { "element_type": "people", "id": 99 }, "direction": "both" });
    fixture.call_err("query_relationships", absent, "NOT_FOUND_RESOURCE").await;
}

on_both!(r_col_10_introspection_describes_relationships, capabilities, &of_sqlite(), &of_postgres());

async fn capabilities(fixture: &Fixture) {
    let details = fixture.details("query_relationships").await;
    let capabilities = &details["relationship_capabilities"];
    assert_eq!(capabilities["supported"], json!(true));
    let types = capabilities["relationship_types"].as_array().unwrap();
    let mut sorted: Vec<&str> = types.iter().map(|kind| kind.as_str().unwrap()).collect();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        [
            "desks.building+number",
            "desks.person_id",
            "people.manager_id",
            "people.team_id",
            "references",
            "teams.lead_id"
        ]
    );
    let depth = capabilities["max_depth"].as_u64().unwrap();
    for kind in types {
        for direction in capabilities["directions"].as_array().unwrap() {
            for depth in [1, depth] {
                let params = json!({ "root": { "element_type": "people", "id": 1 }, "direction": direction, "relationship": kind, "depth": depth });
                for (expected_records, _, _, _) in related(fixture, params).await {
                    assert!(kind == "references" || *kind == expected_records, "{kind}: {expected_records}");
                }
            }
        }
    }
    let parameters = details["parameters"].to_string();
    assert!(parameters.contains("\"maximum\":5"), "{parameters}");
}

on_both!(r_col_1a_description_and_examples_show_the_grammar, grammar, &of_sqlite(), &of_postgres());

async fn grammar(fixture: &Fixture) {
    let details = fixture.details("query_relationships").await;
    let description = details["description"].as_str().unwrap();
    for word in ["root", "element_type", "direction", "outgoing", "incoming", "both", "relationship", "depth"] {
        assert!(description.contains(word), "{word}: {description}");
    }
    let examples = details["examples"].as_array().unwrap();
    let shows_paging = |example: &Value| example["request"]["params"]["first"].is_u64();
    assert!(examples.iter().any(shows_paging), "{examples:?}");
    for example in examples {
        let answer = fixture.call("query_relationships", example["request"]["params"].clone()).await;
        let code = answer["error"]["code"].as_str().unwrap_or_default();
        assert!(!code.starts_with("VALIDATION"), "{answer}");
    }
}

on_both!(r_int_5_root_can_be_written_from_its_description, described_root, &of_sqlite(), &of_postgres());

/// Tables with different keys: each alternative lists its tables and their key columns.
async fn described_root(fixture: &Fixture) {
    let root = fixture.parameter("query_relationships", "root").await;
    assert_eq!(root["required"], json!(true));
    let mut tables = Vec::new();
    for alternative in root["type"].as_str().unwrap().split(" | ") {
        let fields = fixture.fields_of(alternative).await;
        // The portable form is for all tables.
        if fields["element_name"]["required"] == true {
            assert_eq!(fields.len(), 2, "{fields:?}");
            assert_eq!(fields["element_type"]["enum"].as_array().unwrap().len(), 5);
            continue;
        }
        for table in fields["element_type"]["enum"].as_array().unwrap() {
            let mut written = json!({ "element_type": table });
            for (name, field) in
                fields.iter().filter(|(name, field)| *name != "element_type" && field["required"] == true)
            {
                written[name] = if field["type"] == "integer" { json!(1) } else { json!("A") };
            }
            let found = fixture.call_ok("query_relationships", json!({ "root": written, "direction": "both" })).await;
            assert_eq!(found["root"]["element_type"], *table);
            tables.push(table.as_str().unwrap().to_owned());
            // An answer's reference to the row can be sent.
            fixture.call_ok("query_relationships", json!({ "root": found["root"], "direction": "both" })).await;
        }
    }
    tables.sort();
    assert_eq!(tables, ["desks", "lonelies", "people", "rooms", "teams"]);
}

/// A child in another type than its parent's key, and keys in another case: the database matches them.
#[tokio::test]
async fn r_col_10_values_equal_only_to_the_database_are_related() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE Parents (Id INTEGER PRIMARY KEY, Name TEXT COLLATE NOCASE UNIQUE);
         CREATE TABLE children (id INTEGER PRIMARY KEY, parent_id TEXT REFERENCES PARENTS(ID), parent_name TEXT COLLATE NOCASE REFERENCES parents(NAME));
         INSERT INTO Parents VALUES (1, 'Ann'), (2, 'Bob');
         INSERT INTO children VALUES (1, '1', 'ANN'), (2, '2', 'bob'), (3, '1', NULL);",
    )
    .await;
    let params = json!({ "root": { "element_type": "parents", "id": 1 }, "direction": "both", "depth": 3 });
    assert_eq!(
        related(&fixture, params).await,
        expected_records(&[
            ("children.parent_id", "incoming", "children:1", 1),
            ("children.parent_id", "incoming", "children:3", 1),
            ("children.parent_name", "incoming", "children:1", 1),
        ])
    );
}

/// Walks are bounded, with a warning.
#[tokio::test]
async fn r_col_11_too_many_relationships_are_truncated_with_a_warning() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE hubs (id INTEGER PRIMARY KEY);
         CREATE TABLE spokes (id INTEGER PRIMARY KEY, hub_id INTEGER REFERENCES hubs(id) ON DELETE CASCADE);
         CREATE INDEX by_hub ON spokes (hub_id);
         INSERT INTO hubs VALUES (1);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5050)
            INSERT INTO spokes SELECT i, 1 FROM n;",
    )
    .await;
    let (mut count, mut after, mut pages) = (0, None::<Value>, 0);
    let warnings = loop {
        let mut params = json!({ "root": { "element_type": "hubs", "id": 1 }, "direction": "incoming", "first": 100, "include": ["graph.edges"] });
        if let Some(after) = after {
            params["after"] = after;
        }
        let answer = fixture.call("query_relationships", params).await;
        let page = &answer["data"];
        count += page["graph"]["edges"].as_array().unwrap().len();
        pages += 1;
        assert!(pages <= 51, "a walk without an end");
        if page["pageInfo"]["hasNextPage"] != json!(true) {
            break answer["warnings"].clone();
        }
        after = Some(page["pageInfo"]["endCursor"].clone());
    };
    assert_eq!(count, 5_000);
    assert_eq!(warnings[0]["code"], "RESULT_TRUNCATED", "{warnings}");
    let would = fixture.call_ok("delete_hub", json!({ "id": 1, "dry_run": true })).await;
    assert_eq!(would["also"]["more"], json!(true), "{would}");
}

on_both!(r_col_10_a_root_is_named_by_text, portable, &of_sqlite(), &of_postgres());

/// The portable form of the specification: `{element_type, element_name}`, and `references` for every kind.
async fn portable(fixture: &Fixture) {
    for (by_key, by_name) in [
        (json!({ "element_type": "people", "id": 1 }), json!({ "element_type": "people", "element_name": "1" })),
        (
            json!({ "element_type": "rooms", "building": "A", "number": 1 }),
            json!({ "element_type": "rooms", "element_name": "A,1" }),
        ),
    ] {
        let params = |root: &Value| json!({ "root": root, "direction": "both", "depth": 2 });
        let expected = fixture.call_ok("query_relationships", params(&by_key)).await;
        assert_eq!(fixture.call_ok("query_relationships", params(&by_name)).await, expected);
        let mut all = params(&by_name);
        all["relationship"] = json!("references");
        assert_eq!(fixture.call_ok("query_relationships", all).await, expected);
        // The published response has a root, and nothing but the published members if there are no pages.
        let members: Vec<&String> = expected.as_object().unwrap().keys().collect();
        assert_eq!(members, ["root", "relationships", "graph"]);
        let mut only = params(&by_name);
        only["include"] = json!(["graph.edges"]);
        let only = fixture.call_ok("query_relationships", only).await;
        assert_eq!(only["root"], expected["root"]);
        assert!(only.get("relationships").is_none() && only["graph"].get("nodes").is_none(), "{only}");
        let mut none = params(&by_name);
        none["first"] = json!(0);
        assert_eq!(fixture.call_ok("query_relationships", none).await["relationships"], json!([]));
    }
    let root = |root: Value| json!({ "root": root, "direction": "both" });
    let missing = root(json!({ "element_type": "people" }));
    fixture.call_err("query_relationships", missing, "VALIDATION_MISSING_PARAM").await;
    let unknown = root(json!({ "element_type": "people", "element_name": "99" }));
    fixture.call_err("query_relationships", unknown, "NOT_FOUND_RESOURCE").await;
    for (table, name) in [("people", "Ann"), ("rooms", "A"), ("rooms", "A,1,2")] {
        let wrong = root(json!({ "element_type": table, "element_name": name }));
        let error = fixture.call_err("query_relationships", wrong, "VALIDATION_INVALID_VALUE").await;
        assert_eq!(error["details"]["param_name"], "root.element_name");
    }
}
