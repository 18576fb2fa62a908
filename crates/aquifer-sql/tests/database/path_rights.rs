//! Attempts to read through references what a caller may not read: tables that policy denies, hidden columns and hidden
//! tables.

use aquifer_sql::{Settings, TableSettings};
use serde_json::{Value, json};

use crate::needs::{ask, fixtures};
use crate::support::{Fixture, fixtures_with};

/// `countries` ← `sites` ← `visits` ← `stamps` ← `seals` ← `labels`. Every table has `name` and `n`. A visit also refers to
/// a person, and to a row of `fields` by a reference with the name of a keyword.
const TABLES: &str = "
    CREATE TABLE countries (id INTEGER PRIMARY KEY, name TEXT, n INTEGER);
    CREATE TABLE sites (id INTEGER PRIMARY KEY, name TEXT, n INTEGER, hushword TEXT, country_id INTEGER REFERENCES countries(id));
    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, n INTEGER, boss_id INTEGER REFERENCES people(id));
    CREATE TABLE fields (id INTEGER PRIMARY KEY, name TEXT, n INTEGER);
    CREATE TABLE visits (id INTEGER PRIMARY KEY, name TEXT, n INTEGER, site_id INTEGER REFERENCES sites(id),
        person_id INTEGER REFERENCES people(id), field_id INTEGER REFERENCES fields(id));
    CREATE TABLE stamps (id INTEGER PRIMARY KEY, name TEXT, n INTEGER, visit_id INTEGER REFERENCES visits(id));
    CREATE TABLE seals (id INTEGER PRIMARY KEY, name TEXT, n INTEGER, stamp_id INTEGER REFERENCES stamps(id));
    CREATE TABLE labels (id INTEGER PRIMARY KEY, name TEXT, n INTEGER, seal_id INTEGER REFERENCES seals(id));
    INSERT INTO countries VALUES (1, 'fr', 1); INSERT INTO sites VALUES (1, 'hunterzz', 1, 'hunterzz', 1);
    INSERT INTO people VALUES (1, 'Ann', 1, NULL); INSERT INTO fields VALUES (1, 'hunterzz', 1);
    INSERT INTO visits VALUES (1, 'site.name', 1, 1, 1, 1); INSERT INTO stamps VALUES (1, 's', 1, 1);
    INSERT INTO seals VALUES (1, 's', 1, 1); INSERT INTO labels VALUES (1, 'l', 1, 1);";

/// The content of what may not be read.
const SECRET: &str = "hunterzz";

/// Verb, singular, plural and parameters of a request.
type Attempt = (&'static str, &'static str, &'static str, Value);

/// Every way to `sites`: each reads them, or decides by them.
fn ways_to_sites() -> Vec<Attempt> {
    let visits = |params| ("list", "visit", "visits", params);
    let mut all: Vec<Attempt> = [
        json!({ "fields": ["site.name"] }),
        json!({ "fields": ["id", "n", "site.name"] }),
        json!({ "fields": ["site_id.name"] }),
        json!({ "preset": "full", "fields": ["site.name"] }),
        json!({ "fields": ["site.country.name"] }),
        json!({ "fields": ["site._computed.visits_count"] }),
        json!({ "filter": { "site.name": SECRET } }),
        json!({ "filter": { "site_id.name": SECRET } }),
        json!({ "filter": { "site.country.name": "fr" } }),
        json!({ "filter": { "site.name": { "starts_with": "h" } } }),
        json!({ "filter": { "site.name": null } }),
        json!({ "filter": { "not": { "site.name": "x" } } }),
        json!({ "filter": { "or": [{ "id": 1 }, { "and": [{ "site.n": 1 }] }] } }),
        json!({ "filter": { "n": { "lt": { "field": "site.n" } } } }),
        json!({ "filter": { "site.n": { "lt": { "field": "n" } } } }),
        json!({ "filter": { "n": { "ne": { "field": "site_id.n" } } } }),
        json!({ "filter": { "site.visits": { "some": { "n": 1 } } } }),
        json!({ "filter": { "site.visits": { "none": {} } } }),
        json!({ "filter": { "person.visits": { "some": { "site.name": SECRET } } } }),
        json!({ "filter": { "person.visits": { "every": { "not": { "n": { "gt": { "field": "site.n" } } } } } } }),
        json!({ "filter": { "site._computed.visits_count": 1 } }),
        json!({ "sort": "site.name" }),
        json!({ "sort": "-site.name" }),
        json!({ "sort": "+site.name" }),
        json!({ "sort": "- site.name" }),
        json!({ "sort": "site.name desc" }),
        json!({ "sort": " site.name desc" }),
        json!({ "sort": "\tsite.name:asc" }),
        json!({ "sort": "site.name", "order": "desc" }),
        json!({ "sort": [{ "field": "n" }, { "field": "-site_id.name" }] }),
        json!({ "sort": [{ "field": "n" }, { "field": "  site.name desc" }] }),
        json!({ "sort": { "field": "site.name", "nulls": "first" } }),
        json!({ "sort": [{ "field": "site.country.name", "order": "desc" }] }),
        json!({ "aggregate": { "x": { "group_by": "site.name", "count": true } } }),
        json!({ "aggregate": { "x": { "group_by": ["n", "site.name"], "count": true } } }),
        json!({ "aggregate": { "x": { "max": "site.name" } } }),
        json!({ "aggregate": { "a": { "count": true }, "b": { "sum": "site.n" } } }),
        json!({ "aggregate": { "x": { "min": "site.country.name" } }, "include_items": true }),
        json!({ "aggregate": { "x": { "sum": "n * site.n" } } }),
        json!({ "aggregate": { "x": { "max": "2*(1 + site_id.n)" } } }),
        json!({ "aggregate": { "x": { "group_by": "n", "avg": "n - site.country.n" } } }),
        json!({ "filter": { "n": { "lt": { "field": "n + site.n" } } } }),
        json!({ "filter": { "site.n": { "lt": { "field": "n + 1" } } } }),
        json!({ "aggregate": { "x": { "sum": "n * site.nothing" } } }),
        json!({ "aggregate": { "x": { "sum": "(n*site.nothing" } } }),
        // What cannot be parsed reads nothing, but would name fields of the table.
        json!({ "fields": ["site.nothing"] }),
        json!({ "fields": ["site.name", "nothing"] }),
        json!({ "filter": { "site": { "name": SECRET } } }),
    ]
    .into_iter()
    .map(visits)
    .collect();
    all.extend([
        ("get", "visit", "visits", json!({ "id": 1, "fields": ["site.name"] })),
        ("get", "visit", "visits", json!({ "id": 1, "fields": ["site.country.name"] })),
        ("search", "visit", "visits", json!({ "query": "site", "fields": ["site.name"] })),
        ("search", "visit", "visits", json!({ "query": "site", "filter": { "site.name": SECRET } })),
        ("list", "stamp", "stamps", json!({ "fields": ["visit.site.name"] })),
        ("list", "seal", "seals", json!({ "sort": "-stamp.visit.site.name" })),
        ("list", "label", "labels", json!({ "fields": ["seal.stamp.visit.site.name"] })),
        ("list", "label", "labels", json!({ "filter": { "seal.stamp.visit.site.name": SECRET } })),
        (
            "list",
            "label",
            "labels",
            json!({ "filter": { "seal.stamp.visit.n": { "eq": { "field": "seal.stamp.visit.site.n" } } } }),
        ),
        ("list", "person", "people", json!({ "filter": { "visits": { "some": { "site.name": SECRET } } } })),
        ("list", "country", "countries", json!({ "filter": { "sites": { "some": { "name": SECRET } } } })),
        ("list", "country", "countries", json!({ "filter": { "sites": { "none": {} } } })),
        (
            "list",
            "country",
            "countries",
            json!({ "filter": { "sites": { "some": { "visits": { "some": { "person.name": "Ann" } } } } } }),
        ),
        ("list", "field", "fields", json!({ "filter": { "visits": { "every": { "site.name": SECRET } } } })),
        // Rows shown in a row.
        ("list", "country", "countries", json!({ "fields": ["id", { "sites": { "fields": ["name"] } }] })),
        ("list", "country", "countries", json!({ "fields": [{ "sites": ["name"] }] })),
        ("get", "country", "countries", json!({ "id": 1, "fields": [{ "sites": {} }] })),
        ("list", "visit", "visits", json!({ "fields": [{ "site.visits": { "fields": ["n"] } }] })),
        ("list", "person", "people", json!({ "fields": [{ "visits": { "fields": ["site.name"] } }] })),
        (
            "list",
            "person",
            "people",
            json!({ "fields": [{ "visits": { "fields": ["site._computed.visits_count"] } }] }),
        ),
        (
            "list",
            "person",
            "people",
            json!({ "fields": [{ "visits": { "sort": " site.name desc", "fields": ["id"] } }] }),
        ),
        (
            "list",
            "person",
            "people",
            json!({ "fields": [{ "visits": { "filter": { "site.name": SECRET }, "fields": ["id"] } }] }),
        ),
        ("get", "person", "people", json!({ "id": 1, "fields": [{ "visits": { "fields": ["site.country.name"] } }] })),
    ]);
    all
}

/// Requests that do not read `sites`, though some mention them.
fn ways_past_sites() -> Vec<Attempt> {
    let visits = |params| ("list", "visit", "visits", params);
    let mut all: Vec<Attempt> = [
        json!({}),
        json!({ "fields": "full" }),
        json!({ "fields": ["id", "site_id"] }),
        json!({ "filter": { "site_id": 1 }, "sort": "-site_id" }),
        json!({ "filter": { "name": "site.name" } }),
        json!({ "filter": { "name": ["site", "site_id.name"] } }),
        json!({ "filter": { "person.name": "site.name" } }),
        json!({ "fields": ["person.name", "field.name"], "sort": "person.boss.name" }),
        json!({ "filter": { "person.visits": { "some": { "n": 1 } } } }),
        json!({ "filter": { "n": { "eq": { "field": "person.n" } } } }),
        json!({ "aggregate": { "site": { "group_by": "person.name", "count": true } } }),
    ]
    .into_iter()
    .map(visits)
    .collect();
    all.extend([
        ("search", "visit", "visits", json!({ "query": "site.name" })),
        ("get", "visit", "visits", json!({ "id": 1, "fields": ["person.name"] })),
        ("list", "label", "labels", json!({ "fields": ["seal.stamp.visit.person.name"] })),
        ("list", "country", "countries", json!({})),
        ("list", "person", "people", json!({ "fields": [{ "visits": { "fields": ["site_id", "person.name"] } }] })),
    ]);
    all
}

fn assert_silent(attempt: &str, answer: &Value) {
    assert!(!answer.to_string().contains(SECRET), "{attempt}: {answer}");
}

#[tokio::test]
async fn r_saf_2_paths_need_permission_for_every_table_on_their_way() {
    for (fixture, is_generic) in fixtures(TABLES, TABLES, &["list_sites"], false).await {
        for (verb, one, many, params) in ways_to_sites() {
            let answer = ask(&fixture, is_generic, verb, one, many, params.clone()).await;
            assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{verb} {many} {params}: {answer}");
        }
        for (verb, one, many, params) in ways_past_sites() {
            let answer = ask(&fixture, is_generic, verb, one, many, params.clone()).await;
            assert_eq!(answer["success"], json!(true), "{verb} {many} {params}: {answer}");
            assert!(!params.to_string().contains("field.name") || answer.to_string().contains(SECRET), "{answer}");
        }
        // Text is not a condition, or is one that policy sees.
        for filter in [r#"{"site.name": "hunterzz"}"#, r#"{"n": {"lt": {"field": "site.n"}}}"#] {
            let answer = ask(&fixture, is_generic, "list", "visit", "visits", json!({ "filter": filter })).await;
            assert_eq!(answer["success"], json!(false), "{filter}: {answer}");
        }
    }
}

/// Without rules, all of these are answered.
#[tokio::test]
async fn r_saf_2_paths_are_followed_where_nothing_is_denied() {
    let invalid = ["nothing"];
    for (fixture, is_generic) in fixtures(TABLES, TABLES, &[], false).await {
        for (verb, one, many, params) in ways_to_sites().into_iter().chain(ways_past_sites()) {
            let answer = ask(&fixture, is_generic, verb, one, many, params.clone()).await;
            let text = params.to_string();
            let expected = !invalid.iter().any(|part| text.contains(part));
            assert_eq!(answer["success"], json!(expected), "{verb} {many} {params}: {answer}");
        }
    }
}

/// The rows that are counted or tested count as read.
#[tokio::test]
async fn r_saf_2_conditions_on_related_rows_need_permission_for_them() {
    let refused = [
        ("list", "site", "sites", json!({ "filter": { "visits": { "some": { "n": 1 } } } })),
        ("list", "site", "sites", json!({ "filter": { "visits": { "none": {} } } })),
        (
            "list",
            "site",
            "sites",
            json!({ "filter": { "or": [{ "id": 1 }, { "not": { "visits": { "every": { "n": 1 } } } }] } }),
        ),
        ("list", "country", "countries", json!({ "filter": { "sites": { "some": { "visits": { "some": {} } } } } })),
        ("list", "country", "countries", json!({ "filter": { "sites": { "some": { "_computed.visits_count": 1 } } } })),
        ("list", "person", "people", json!({ "filter": { "boss.visits": { "some": {} } } })),
        ("list", "stamp", "stamps", json!({ "fields": ["visit.name"] })),
        ("list", "stamp", "stamps", json!({ "filter": { "visit.site.name": SECRET } })),
        ("list", "stamp", "stamps", json!({ "filter": { "visit.site.visits": { "some": {} } } })),
        ("list", "site", "sites", json!({ "sort": "_computed.visits_count" })),
        ("list", "person", "people", json!({ "fields": ["boss._computed.visits_count"] })),
        ("list", "person", "people", json!({ "filter": { "boss._computed.visits_count": { "gt": 0 } } })),
        ("list", "person", "people", json!({ "aggregate": { "x": { "sum": "boss._computed.visits_count" } } })),
    ];
    let allowed = [
        ("list", "site", "sites", json!({ "filter": { "country.sites": { "some": { "name": "x" } } } })),
        ("list", "person", "people", json!({ "fields": ["boss.name", "boss._computed.people_by_boss_id_count"] })),
        ("list", "stamp", "stamps", json!({ "filter": { "visit_id": 1, "name": "visit.name" } })),
    ];
    for (fixture, is_generic) in fixtures(TABLES, TABLES, &["list_visits"], false).await {
        for (verb, one, many, params) in &refused {
            let answer = ask(&fixture, is_generic, verb, one, many, params.clone()).await;
            assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{verb} {many} {params}: {answer}");
        }
        for (verb, one, many, params) in &allowed {
            let answer = ask(&fixture, is_generic, verb, one, many, params.clone()).await;
            assert_eq!(answer["success"], json!(true), "{verb} {many} {params}: {answer}");
        }
    }
}

/// A reference may be called `field`, like the keyword of comparisons.
#[tokio::test]
async fn r_saf_2_a_reference_called_like_a_keyword_is_told_apart() {
    for (fixture, is_generic) in fixtures(TABLES, TABLES, &["list_fields"], false).await {
        for (params, is_refused) in [
            (json!({ "filter": { "field.name": SECRET } }), true),
            (json!({ "filter": { "n": { "lt": { "field": "field.n" } } } }), true),
            (json!({ "filter": { "field.n": { "lt": { "field": "n" } } } }), true),
            (json!({ "sort": { "field": "field.name" } }), true),
            (json!({ "fields": ["field_id.name"] }), true),
            (json!({ "filter": { "n": { "lt": { "field": "id" } } } }), false),
            (json!({ "filter": { "n": { "lt": { "field": "site.n" } } } }), false),
            (json!({ "sort": { "field": "name" } }), false),
        ] {
            let answer = ask(&fixture, is_generic, "list", "visit", "visits", params.clone()).await;
            assert_eq!(answer["error"]["code"] == "PERMISSION_DENIED", is_refused, "{params}: {answer}");
            assert_eq!(answer["success"] == json!(true), !is_refused, "{params}: {answer}");
        }
    }
}

/// A table that everybody is denied is not there: no path leads to it, and no message names it.
#[tokio::test]
async fn r_saf_5_no_path_leads_to_a_table_that_is_always_denied() {
    let denied = ["list_sites", "search_sites", "get_site", "create_site", "update_site", "delete_site"];
    for (fixture, is_generic) in fixtures(TABLES, TABLES, &denied, true).await {
        for (verb, one, many, params) in ways_to_sites() {
            let answer = ask(&fixture, is_generic, verb, one, many, params.clone()).await;
            assert_eq!(answer["success"], json!(false), "{verb} {many} {params}: {answer}");
            let valid = answer["error"]["details"]["valid_fields"].to_string();
            assert!(!valid.contains("hushword") && !valid.contains("\"site."), "{verb} {many} {params}: {answer}");
            if params.to_string().contains(SECRET) {
                continue;
            }
            assert_silent(&format!("{verb} {many} {params}"), &answer);
        }
        for name in ["sit.name", "site.nam", "sites.name", "hushwor", "site"] {
            for (many, params) in [
                ("visits", json!({ "fields": [name] })),
                ("visits", json!({ "filter": { name: 1 } })),
                ("visits", json!({ "sort": name })),
                ("visits", json!({ "aggregate": { "x": { "max": name } } })),
                ("countries", json!({ "filter": { name: { "some": {} } } })),
                ("countries", json!({ "filter": { "site": { "some": {} } } })),
            ] {
                let answer = ask(&fixture, is_generic, "list", "", many, params.clone()).await;
                assert_eq!(answer["success"], json!(false), "{many} {params}: {answer}");
                let text = answer.to_string().replace("site_id", "");
                // Only what the caller wrote is repeated.
                for word in ["hushword", "site.*", "site.name", "\"sites\""] {
                    assert!(!text.contains(word) || params.to_string().contains(word), "{many} {params}: {answer}");
                }
            }
        }
        for (verb, one, many, params) in ways_past_sites() {
            let answer = ask(&fixture, is_generic, verb, one, many, params.clone()).await;
            assert_eq!(answer["success"], json!(true), "{verb} {many} {params}: {answer}");
        }
        let operations = fixture.operations().into_iter().filter(|name| name != "introspect");
        for operation in operations.collect::<Vec<_>>() {
            let details = fixture.details(&operation).await.to_string().replace("site_id", "");
            assert!(!details.contains("site") || is_generic, "{operation}: {details}");
            assert!(!details.contains("hushword"), "{operation}: {details}");
        }
    }
}

async fn check_unknown(fixture: &Fixture, operation: &str, params: Value, hidden: &[&str]) {
    let answer = fixture.call(operation, params.clone()).await;
    assert_eq!(answer["error"]["code"], "VALIDATION_UNKNOWN_FIELD", "{operation} {params}: {answer}");
    let details = answer["error"]["details"]["valid_fields"].to_string();
    for name in hidden {
        assert!(!details.contains(name), "{operation} {params}: {answer}");
    }
}

/// Hidden columns are hidden behind references too, and a hidden reference leads nowhere.
#[tokio::test]
async fn r_ext_6_no_path_leads_to_hidden_columns() {
    let hide = |columns: &[&str]| TableSettings {
        hide: columns.iter().map(|name| (*name).to_owned()).collect(),
        ..TableSettings::default()
    };
    let set = |settings: &mut Settings| {
        settings.tables.insert("sites".to_owned(), hide(&["hushword", "name"]));
        settings.tables.insert("stamps".to_owned(), hide(&["visit_id"]));
    };
    for fixture in fixtures_with(TABLES, TABLES, set).await {
        for name in ["site.name", "site.hushword", "site_id.hushword", "site.HUSHWORD", "site._computed.hushword"] {
            for params in [
                json!({ "fields": [name] }),
                json!({ "filter": { name: SECRET } }),
                json!({ "filter": { name: null } }),
                json!({ "filter": { "name": { "eq": { "field": name } } } }),
                json!({ "filter": { "person.visits": { "some": { name: SECRET } } } }),
                json!({ "sort": name }),
                json!({ "sort": format!("-{name}") }),
                json!({ "aggregate": { "x": { "group_by": name, "count": true } } }),
                json!({ "aggregate": { "x": { "max": name } } }),
            ] {
                check_unknown(&fixture, "list_visits", params, &["site.name", "hushword"]).await;
            }
            check_unknown(&fixture, "get_visit", json!({ "id": 1, "fields": [name] }), &["site.name", "hushword"])
                .await;
        }
        let sites = json!({ "filter": { "sites": { "some": { "hushword": SECRET } } } });
        check_unknown(&fixture, "list_countries", sites, &["hushword"]).await;
        for name in ["visit.name", "visit_id.name", "visit.site.n"] {
            check_unknown(&fixture, "list_stamps", json!({ "fields": [name] }), &["visit"]).await;
            check_unknown(&fixture, "list_seals", json!({ "sort": format!("stamp.{name}") }), &["visit"]).await;
        }
        check_unknown(&fixture, "list_visits", json!({ "filter": { "stamps": { "some": {} } } }), &["stamp"]).await;
        let shown = fixture.call_ok("list_visits", json!({ "fields": ["site.n", "site.country.name"] })).await;
        assert_eq!(shown["items"], json!([{ "site": { "n": 1, "country": { "name": "fr" } } }]));
    }
}

/// Excluded tables do not exist, and columns that look like secrets are hidden behind references.
#[tokio::test]
async fn r_ext_6_no_path_leads_to_excluded_tables_or_secrets() {
    for fixture in fixtures_with(TABLES, TABLES, |settings| settings.exclude.push("sites".to_owned())).await {
        for (verb, one, many, params) in ways_to_sites() {
            let answer = ask(&fixture, false, verb, one, many, params.clone()).await;
            // Without any reference, an operation accepts only names.
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            let expected = ["VALIDATION_UNKNOWN_FIELD", "VALIDATION_INVALID_TYPE"];
            assert!(expected.contains(&code), "{verb} {many} {params}: {answer}");
            assert!(!answer["error"]["details"]["valid_fields"].to_string().contains("\"site."), "{answer}");
        }
    }
    let secrets = "
        CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, password_hash TEXT);
        CREATE TABLE posts (id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users(id), title TEXT);
        INSERT INTO users VALUES (1, 'Ann', 'hunterzz'); INSERT INTO posts VALUES (1, 1, 't');";
    for fixture in fixtures_with(secrets, secrets, |_| {}).await {
        for params in [
            json!({ "fields": ["user.password_hash"] }),
            json!({ "filter": { "user.password_hash": { "starts_with": "h" } } }),
            json!({ "filter": { "title": { "lt": { "field": "user.password_hash" } } } }),
            json!({ "sort": "user.password_hash" }),
            json!({ "aggregate": { "x": { "max": "user.password_hash" } } }),
        ] {
            check_unknown(&fixture, "list_posts", params, &["password"]).await;
        }
        assert_eq!(
            fixture.call_ok("list_posts", json!({ "fields": ["user.name"] })).await["items"],
            json!([{ "user": { "name": "Ann" } }])
        );
    }
}
