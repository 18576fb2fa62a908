//! Cases in which the databases differ: they still visit every row once, and accept everything they offer.

use aquifer_query::collection::PageLimits;
use aquifer_query::{Collection, FieldType};
use serde_json::{Value, json};

use crate::engines::{EngineSet, Extras, Participant};
use crate::shop::field;
use crate::tables::Table;

pub(crate) fn table(
    name: &'static str,
    singular: &'static str,
    columns: [&'static str; 2],
    fields: &[(&str, FieldType)],
) -> Table {
    let collection = Collection {
        name: name.into(),
        fields: fields.iter().map(|(name, field_type)| field(name, field_type.clone())).collect(),
        key: vec!["id".into()],
        versions: true,
        ..Collection::default()
    };
    Table { name, singular, collection, sqlite: columns[0], postgres: columns[1] }
}

/// Every id, in page order.
async fn walk(participant: &Participant, operation: &str, params: &Value, size: usize, forwards: bool) -> Vec<i64> {
    let (page, place, more, cursor) = match forwards {
        true => ("first", "after", "hasNextPage", "endCursor"),
        false => ("last", "before", "hasPreviousPage", "startCursor"),
    };
    let mut params = params.clone();
    params[page] = size.into();
    let mut seen = Vec::new();
    loop {
        let answer = participant.ask(operation, &params).await;
        let items = answer["data"]["items"].as_array().unwrap_or_else(|| panic!("{}: {answer}", participant.name));
        let ids = items.iter().map(|item| item["id"].as_i64().unwrap());
        if forwards {
            seen.extend(ids);
        } else {
            seen.splice(0..0, ids);
        }
        assert!(seen.len() < 1_000, "{}: {operation} {params} does not end", participant.name);
        if answer["data"]["pageInfo"][more] != true {
            return seen;
        }
        params[place] = answer["data"]["pageInfo"][cursor].clone();
    }
}

/// Both directions visit each id once.
async fn check_walk_visits_all(participant: &Participant, operation: &str, params: &Value, count: i64) -> Vec<i64> {
    let forwards = walk(participant, operation, params, 2, true).await;
    assert_eq!(
        walk(participant, operation, params, 3, false).await,
        forwards,
        "{}: {operation} {params}",
        participant.name
    );
    let mut sorted = forwards.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=count).collect::<Vec<_>>(), "{}: {operation} {params}", participant.name);
    forwards
}

/// A column's collation decides its order and equality, but not whether it contains a text.
#[tokio::test]
async fn r_col_3_r_col_4_r_col_8_collations() {
    let fields = [("id", FieldType::Integer), ("name", FieldType::Text), ("plain", FieldType::Text)];
    let columns = [
        "(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, plain TEXT)",
        "(id int4 PRIMARY KEY, name text COLLATE any_case, plain text COLLATE \"C\")",
    ];
    let names = ["b", "A", "a", "B", "É", "é", "c"];
    let rows: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(index, name)| json!({ "id": index + 1, "name": name, "plain": name }))
        .chain([json!({ "id": 8, "name": null, "plain": null })])
        .collect();
    let extras = Extras {
        types: "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        ..Extras::default()
    };
    let mut words = table("words", "word", columns, &fields);
    words.collection.text = vec!["name".into(), "plain".into()];
    let engines = EngineSet::new(vec![words], &[("words", rows)], extras).await;
    for participant in engines.participants.iter().filter(|participant| participant.name != "memory") {
        let ascending =
            check_walk_visits_all(participant, "list_words", &json!({ "sort": "name", "fields": ["id"] }), 8).await;
        assert_eq!(ascending[..5], [2, 3, 1, 4, 7], "{}", participant.name);
        let params = json!({ "sort": [{ "field": "name", "order": "desc" }, { "field": "id" }], "fields": ["id"] });
        let descending = check_walk_visits_all(participant, "list_words", &params, 8).await;
        assert_eq!(descending[7], 8, "{}", participant.name);
        let equal = participant.ask("list_words", &json!({ "filter": { "name": "a" }, "fields": ["id"] })).await;
        assert_eq!(equal["data"]["items"], json!([{ "id": 2 }, { "id": 3 }]), "{}", participant.name);
    }
    for column in ["name", "plain"] {
        for (operator, text, ids) in [
            ("contains", "É", vec![5, 6]),
            ("starts_with", "é", vec![5, 6]),
            ("ends_with", "A", vec![2, 3]),
            ("contains", "a", vec![2, 3]),
        ] {
            let answer =
                engines.ask("list_words", &json!({ "filter": { column: { operator: text } }, "fields": ["id"] })).await;
            let expected: Value = ids.iter().map(|id| json!({ "id": id })).collect();
            assert_eq!(answer["data"]["items"], expected, "{column} {operator} {text}");
        }
        let answer = engines.ask("search_words", &json!({ "query": "É b", "fields": ["id"] })).await;
        assert_eq!(answer["data"]["items"].as_array().unwrap().len(), 4);
    }
}

/// SQLite stores any value in any column, also after reflection.
#[tokio::test]
async fn r_col_8_values_of_other_types_than_their_columns() {
    let fields =
        [("id", FieldType::Integer), ("n", FieldType::Integer), ("s", FieldType::Text), ("at", FieldType::Time)];
    let columns = ["(id INTEGER PRIMARY KEY, n INTEGER, s TEXT NOT NULL, x, seen_at TIMESTAMP NOT NULL)", ""];
    let extras = Extras {
        without: &["memory", "postgres"],
        sqlite: "INSERT INTO odds (n, s, x, seen_at) VALUES
            (1, 'a', 1, '2026-01-01 00:00:00'), ('text', CAST(x'ff' AS TEXT), 'text', '2026-01-01T00:00:00+02:00'),
            (2.5, CAST(x'fe' AS TEXT), 2.5, 1767225600)",
        ..Extras::default()
    };
    let engines = EngineSet::new(vec![table("odds", "odd", columns, &fields)], &[], extras).await;
    engines
        .run(
            "INSERT INTO odds (n, s, x, seen_at) VALUES
            (-1, 'a', -1, 'never'), (x'00ff', x'ff', x'00ff', x'00'), (NULL, 'b', NULL, CAST(x'ff' AS TEXT)),
            (9e999, CAST(x'ff41' AS TEXT), -9e999, '2025-01-01T00:00:00Z'), ('12', 'é', '12', '2026-06-01'),
            (-9e999, '', 9e999, 'never'), (1, 'a', x'00ff', '2026-01-01T00:00:00Z')",
        )
        .await;
    for field in ["n", "s", "x", "seen_at"] {
        for order in ["asc", "desc"] {
            let params = json!({ "sort": { "field": field, "order": order }, "fields": ["id"] });
            check_walk_visits_all(&engines.participants[0], "list_odds", &params, 10).await;
        }
    }
}

/// Rows without a key are counted: forward only, without a start cursor.
#[tokio::test]
async fn r_col_7_views_without_a_key() {
    let extras = Extras {
        without: &["memory"],
        sqlite: "CREATE VIEW lines AS SELECT column1 AS id, column2 AS v FROM (VALUES (1, 2), (2, NULL), (3, 2), (4, 1), (5, NULL))",
        postgres: "CREATE VIEW lines AS SELECT * FROM (VALUES (1, 2), (2, NULL), (3, 2), (4, 1), (5, NULL)) AS l (id, v)",
        ..Extras::default()
    };
    let engines = EngineSet::new(Vec::new(), &[], extras).await;
    let ascending = json!({ "sort": "v", "fields": ["id"] });
    let descending = json!({ "sort": "v", "order": "desc", "fields": ["id"] });
    for participant in &engines.participants {
        assert_eq!(walk(participant, "list_lines", &ascending, 2, true).await, [4, 1, 3, 2, 5], "{}", participant.name);
        assert_eq!(
            walk(participant, "list_lines", &descending, 2, true).await,
            [1, 3, 4, 2, 5],
            "{}",
            participant.name
        );
    }
    // No engine supports it, so introspection does not offer it.
    engines.check([("list_lines", json!({ "last": 2 }), json!({ "error": "VALIDATION_UNKNOWN_PARAM" }))]).await;
    let answer = engines.ask("list_lines", &json!({ "limit": 2, "offset": 4, "total": true })).await;
    assert_eq!(answer["data"]["items"], json!([{ "id": 5, "v": null }]));
    assert_eq!(answer["data"]["pagination"]["total_items"], 5);
}

/// Large items end a page early with a warning, and nothing is lost.
#[tokio::test]
async fn r_col_7a_r_col_11_heavy_pages_end_early() {
    let fields = [("id", FieldType::Integer), ("body", FieldType::Text)];
    let columns = ["(id INTEGER PRIMARY KEY, body TEXT)", "(id int4 PRIMARY KEY, body text)"];
    let mut heavy = table("blocks", "block", columns, &fields);
    heavy.collection.text = vec!["body".into()];
    let rows: Vec<Value> =
        (1..=7).map(|id| json!({ "id": id, "body": "x".repeat(PageLimits::default().max_bytes / 5 * 2) })).collect();
    let engines = EngineSet::new(vec![heavy], &[("blocks", rows)], Extras::default()).await;
    for params in [json!({ "first": 5 }), json!({ "last": 5 }), json!({ "limit": 5, "offset": 1 })] {
        let answer = engines.ask("list_blocks", &params).await;
        assert_eq!(answer["warnings"], json!(["RESULT_PAGED"]), "{params}");
        assert_eq!(answer["data"]["items"].as_array().unwrap().len(), 2, "{params}");
    }
    // Rows cut from a counted page are not on the next one: they are found by offset.
    for (page, next) in [(1, 2), (2, 7)] {
        let answer = engines.ask("list_blocks", &json!({ "page": page, "page_size": 5 })).await;
        assert_eq!(answer["data"]["items"].as_array().unwrap().len(), 2, "{page}");
        let is_cut = page == 1;
        assert_eq!(answer["warnings"], if is_cut { json!(["RESULT_PAGED"]) } else { Value::Null }, "{page}");
        assert_eq!(answer["data"]["pagination"]["has_more"], is_cut, "{page}");
        if is_cut {
            let rest = engines.ask("list_blocks", &json!({ "limit": 1, "offset": next })).await;
            assert_eq!(rest["data"]["items"][0]["id"], next + 1);
        }
    }
    for participant in &engines.participants {
        let params = json!({ "sort": "body", "order": "desc" });
        assert_eq!(
            walk(participant, "list_blocks", &params, 5, true).await,
            [7, 6, 5, 4, 3, 2, 1],
            "{}",
            participant.name
        );
        assert_eq!(
            walk(participant, "list_blocks", &params, 5, false).await,
            [7, 6, 5, 4, 3, 2, 1],
            "{}",
            participant.name
        );
    }
}

/// More groups than an answer shows: the first by value, with a warning.
#[tokio::test]
async fn r_col_6_r_col_11_groups_beyond_the_first_thousand() {
    let fields =
        [("id", FieldType::Integer), ("n", FieldType::Integer), ("s", FieldType::Text), ("meta", FieldType::Json)];
    let columns =
        ["(id INTEGER PRIMARY KEY, n INTEGER, s TEXT, meta JSON)", "(id int4 PRIMARY KEY, n int4, s text, meta jsonb)"];
    let rows: Vec<Value> = (0..1_200_i64)
        .map(|id| {
            let n = (id % 7 != 0).then_some(1_500 - id);
            json!({ "id": id, "n": n, "s": format!("é{}", id % 1_100), "meta": { "a": id * 37 % 1_200 } })
        })
        .collect();
    let engines =
        EngineSet::new(vec![table("rocks", "rock", columns, &fields)], &[("rocks", rows)], Extras::default()).await;
    for group_by in [json!("n"), json!("s"), json!("meta.a"), json!(["s", "n"])] {
        let params = json!({ "aggregate": { "by": { "group_by": group_by, "count": true, "min": "id" } } });
        let answer = engines.ask("list_rocks", &params).await;
        assert_eq!(answer["warnings"], json!(["RESULT_TRUNCATED"]), "{group_by}");
    }
}
