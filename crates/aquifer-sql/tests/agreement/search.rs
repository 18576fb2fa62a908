//! Free-text search with an index: the same rows are found; their ranking is up to the index.

use aquifer_query::{Collection, FieldType};
use serde_json::{Value, json};

use crate::cases;
use crate::engines::{EngineSet, Extras};
use crate::shop::field;
use crate::tables::Table;

fn tables(postgres: &'static str) -> Vec<Table> {
    let collection = Collection {
        name: "notes".into(),
        fields: vec![field("id", FieldType::Integer), field("title", FieldType::Text), field("body", FieldType::Text)],
        key: vec!["id".into()],
        text: vec!["title".into(), "body".into()],
        versions: true,
        ..Collection::default()
    };
    let sqlite = "(id INTEGER PRIMARY KEY, title TEXT, body TEXT)";
    vec![Table { name: "notes", singular: "note", collection, sqlite, postgres }]
}

fn rows() -> Vec<Value> {
    let notes = [
        (Some("Red apples"), Some("They lie in a basket near the door.")),
        (Some("Green pears"), Some("A pear is no apple.")),
        (Some("Red door"), None),
        (None, Some("apples, apples and apples: red apples in a red basket")),
        (Some("Apples"), Some("")),
        (Some("Nothing of that kind"), Some("Only words that nobody looks for.")),
    ];
    let number = |(index, (title, body)): (usize, &(Option<&str>, Option<&str>))| json!({ "id": index + 1, "title": title, "body": body });
    notes.iter().enumerate().map(number).collect()
}

/// Full-text indexes: an FTS5 table, and a column or expression of type tsvector.
async fn engines(in_column: bool) -> EngineSet {
    let (columns, index) = if in_column {
        (
            "(id int4 PRIMARY KEY, title text, body text, words tsvector GENERATED ALWAYS AS \
             (to_tsvector('simple', coalesce(title, '') || ' ' || coalesce(body, ''))) STORED)",
            "CREATE INDEX ON notes USING gin (words)",
        )
    } else {
        (
            "(id int4 PRIMARY KEY, title text, body text)",
            "CREATE INDEX ON notes USING gin (to_tsvector('simple', coalesce(title, '') || ' ' || coalesce(body, '')))",
        )
    };
    let extras = Extras {
        sqlite: "CREATE VIRTUAL TABLE notes_index USING fts5(title, body, content = 'notes', content_rowid = 'id');
                 CREATE TRIGGER notes_added AFTER INSERT ON notes BEGIN
                   INSERT INTO notes_index (rowid, title, body) VALUES (new.id, new.title, new.body);
                 END",
        postgres: index,
        ..Extras::default()
    };
    EngineSet::new(tables(columns), &[("notes", rows())], extras).await
}

#[tokio::test]
async fn r_col_2_an_index_finds_what_reading_every_row_finds() {
    for in_column in [true, false] {
        let engines = engines(in_column).await;
        for (query, found, best) in [
            ("red", vec![1, 3, 4], None),
            ("RED", vec![1, 3, 4], None),
            ("apples", vec![1, 4, 5], None),
            ("red apples", vec![1, 3, 4, 5], Some([1, 4])),
            ("\"red apples\"", vec![1, 4], None),
            ("\"basket red\"", vec![], None),
            ("pears basket door", vec![1, 2, 3, 4], None),
            ("\"red door\" pear", vec![2, 3], None),
            ("no such thing", vec![2], None),
            ("app", vec![], None),
            ("", vec![], None),
            ("?!", vec![], None),
        ] {
            for participant in &engines.participants {
                let answer =
                    participant.ask("search_notes", &json!({ "query": query, "fields": ["id"], "total": true })).await;
                let items = answer["data"]["items"].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
                let mut ids: Vec<i64> = items.iter().map(|item| item["id"].as_i64().unwrap()).collect();
                // A row with all of the words ranks above a row with one of them.
                if let Some(best) = best {
                    assert!(best.contains(&ids[0]), "{}: {query} {ids:?}", participant.name);
                }
                ids.sort_unstable();
                assert_eq!(ids, found, "{}: {query}", participant.name);
                assert_eq!(answer["data"]["pageInfo"]["totalCount"], found.len(), "{}: {query}", participant.name);
                // The reference has no index warnings.
                assert_eq!(
                    answer.get("warnings"),
                    None,
                    "{}: {query} is not looked for in the index",
                    participant.name
                );
            }
        }
        let filtered =
            json!({ "query": "red apples", "filter": { "title": null }, "aggregate": { "n": { "count": true } } });
        engines.check([("search_notes", filtered, json!({ "aggregations": { "n": 1 } }))]).await;
        let sorted = json!({ "query": "red apples", "sort": { "field": "id", "order": "desc" }, "fields": ["id"] });
        let answer = engines.ask("search_notes", &sorted).await;
        assert_eq!(answer["data"]["items"], json!([{ "id": 5 }, { "id": 4 }, { "id": 3 }, { "id": 1 }]));
    }
}

#[tokio::test]
async fn r_col_2_r_col_8_walks_over_search_results() {
    let engines = engines(true).await;
    for participant in &engines.participants {
        let ids = |answer: &Value| -> Vec<i64> {
            let items = answer["data"]["items"].as_array().unwrap_or_else(|| panic!("{}: {answer}", participant.name));
            items.iter().map(|item| item["id"].as_i64().unwrap()).collect()
        };
        let mut params = json!({ "query": "red apples basket", "fields": ["id"] });
        let whole = ids(&participant.ask("search_notes", &params).await);
        params["first"] = 1.into();
        let mut seen = Vec::new();
        for _ in 0..whole.len() {
            let answer = participant.ask("search_notes", &params).await;
            seen.extend(ids(&answer));
            params["after"] = answer["data"]["pageInfo"]["endCursor"].clone();
        }
        assert_eq!(seen, whole, "{}", participant.name);
    }
}

/// No search text is an error.
#[tokio::test]
async fn r_col_2_no_text_is_a_syntax_error() {
    let engines = engines(true).await;
    let odd = [
        "a AND",
        "NOT",
        "NEAR(a b, 3)",
        "title:x",
        "^a",
        "a*",
        "(a",
        "{a} : b",
        "a & | !b <-> c",
        "'",
        "\\",
        ":*",
        "\u{1}",
    ];
    let queries = cases::searches().into_iter().map(|(query, _)| query).chain(odd);
    for query in queries {
        for participant in &engines.participants {
            let answer = participant.ask("search_notes", &json!({ "query": query })).await;
            assert_eq!(answer["success"], true, "{}: {query}: {answer}", participant.name);
        }
    }
}

#[tokio::test]
async fn r_col_11_a_search_of_few_rows_without_an_index_gives_no_warning() {
    let engines = crate::shop::shop(crate::tables::StorageFormat::default()).await;
    for participant in engines.participants.iter().filter(|participant| participant.name != "memory") {
        let answer = participant.ask("search_things", &json!({ "query": "door" })).await;
        assert_eq!(answer["success"], true, "{}: {answer}", participant.name);
        assert_eq!(answer.get("warnings"), None, "{}: {answer}", participant.name);
    }
}
