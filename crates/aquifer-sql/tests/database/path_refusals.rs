//! Paths that lead nowhere: each refusal says what to write instead.

use serde_json::{Value, json};

use crate::support::{Fixture, fixtures};

/// The reference of an animal has the name of its column.
const TABLES: &str = "
    CREATE TABLE sites (id INTEGER PRIMARY KEY, title TEXT, parent_id INTEGER REFERENCES sites(id));
    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE animals (id INTEGER PRIMARY KEY, name TEXT, owner INTEGER REFERENCES people(id));
    CREATE TABLE visits (id INTEGER PRIMARY KEY, state TEXT, site_id INTEGER REFERENCES sites(id),
        animal_id INTEGER REFERENCES animals(id));
    INSERT INTO sites VALUES (1, 'Mill', NULL); INSERT INTO people VALUES (7, 'Ann');
    INSERT INTO animals VALUES (1, 'Rex', 7), (2, 'Tom', NULL); INSERT INTO visits VALUES (1, 'open', 1, 1);";

async fn message(fixture: &Fixture, operation: &str, params: Value) -> String {
    let answer = fixture.call(operation, params.clone()).await;
    assert_eq!(answer["success"], json!(false), "{operation} {params}: {answer}");
    answer["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn r_col_3_r_col_5_a_path_that_leads_nowhere_says_what_to_write() {
    let too_long = "parent.parent.parent.parent.parent.title";
    let some = r#"{"visits": {"some": {"state": …}}}"#;
    for fixture in fixtures(TABLES, TABLES).await {
        for (operation, params, expected) in [
            // A field that does not exist, at each step.
            ("list_visits", json!({ "fields": ["site.titel"] }), "Did you mean 'site.title'?"),
            ("list_visits", json!({ "filter": { "site.titel": "x" } }), "Did you mean 'site.title'?"),
            ("list_visits", json!({ "sort": "-animal.owner.nam" }), "Did you mean 'animal.owner.name'?"),
            ("list_visits", json!({ "fields": ["sites.title"] }), "Did you mean 'site.title'?"),
            ("list_visits", json!({ "fields": ["animal.ownr.name"] }), "Did you mean 'animal.owner.name'?"),
            (
                "list_visits",
                json!({ "filter": { "state": { "eq": { "field": "site.titl" } } } }),
                "Did you mean 'site.title'?",
            ),
            // A reference without a field.
            ("list_visits", json!({ "fields": ["site"] }), "such as 'site.title'"),
            ("list_visits", json!({ "fields": ["animal.owner.name", "animal"] }), "such as 'animal.name'"),
            ("list_visits", json!({ "filter": { "site": { "titel": "x" } } }), "site.title"),
            ("list_visits", json!({ "sort": "site" }), "such as 'site.title'"),
            (
                "list_visits",
                json!({ "aggregate": { "x": { "group_by": "site", "count": true } } }),
                "such as 'site.title'",
            ),
            // Too many steps.
            ("list_sites", json!({ "fields": [too_long] }), "up to 4 references"),
            ("list_sites", json!({ "filter": { too_long: "x" } }), "up to 4 references"),
            ("list_sites", json!({ "sort": too_long }), "up to 4 references"),
            ("list_sites", json!({ "aggregate": { "x": { "max": too_long } } }), "up to 4 references"),
            // Many rows where one is needed.
            ("list_sites", json!({ "fields": ["visits.state"] }), some),
            ("list_sites", json!({ "fields": ["visits"] }), r#"{"visits": {"some": {""#),
            ("list_sites", json!({ "sort": "visits.state" }), some),
            ("list_sites", json!({ "filter": { "visits.state": "open" } }), some),
            ("list_sites", json!({ "aggregate": { "x": { "max": "visits.state" } } }), some),
            ("list_visits", json!({ "fields": ["site.visits.state"] }), r#"{"site.visits": {"some": {"state": …}}}"#),
            ("list_sites", json!({ "fields": ["visits.state"] }), r#"{"visits": {"fields": ["state"]}}"#),
            // Conditions on many rows without a quantifier.
            ("list_sites", json!({ "filter": { "visits": "open" } }), r#"{"some": {"status": "open"}}"#),
            ("list_sites", json!({ "filter": { "visits": { "state": "open" } } }), "'none' or 'every'"),
            ("list_sites", json!({ "filter": { "visits": {} } }), r#"{"some": "#),
            ("list_sites", json!({ "filter": { "visit": { "some": { "state": "open" } } } }), "Did you mean 'visits'?"),
            ("list_sites", json!({ "filter": { "visits": { "some": { "stat": "open" } } } }), "Did you mean 'state'?"),
            // Comparisons of what cannot be compared.
            (
                "list_visits",
                json!({ "filter": { "id": { "lt": { "field": "site.title" } } } }),
                "cannot compare 'id' (integer) with 'site.title'",
            ),
            (
                "list_visits",
                json!({ "filter": { "id": { "in": { "field": "site.id" } } } }),
                "cannot compare with another field",
            ),
            ("list_visits", json!({ "filter": { "id": { "lt": { "field": 7 } } } }), "a field's name"),
        ] {
            let message = message(&fixture, operation, params.clone()).await;
            assert!(message.contains(expected), "{operation} {params}: {message}");
        }
        let four = json!({ "fields": ["parent.parent.parent.parent.title"] });
        let deepest = json!([{ "parent": { "parent": { "parent": { "parent": { "title": null } } } } }]);
        assert_eq!(fixture.call_ok("list_sites", four).await["items"], deepest);
    }
}

/// A field and what is behind it have the same place in an answer.
#[tokio::test]
async fn r_col_5_a_reference_named_like_its_field() {
    for fixture in fixtures(TABLES, TABLES).await {
        for params in [
            json!({ "fields": ["owner", "owner.name"] }),
            json!({ "fields": ["owner.name", "id", "owner"] }),
            json!({ "preset": "standard", "fields": ["owner.name"] }),
            json!({ "fields": ["owner", { "owner.animals": { "fields": ["id"] } }] }),
        ] {
            let message = message(&fixture, "list_animals", params.clone()).await;
            assert!(message.contains("Write 'owner.id' instead of 'owner'"), "{params}: {message}");
        }
        for (params, expected) in [
            (json!({ "fields": ["owner"] }), json!([{ "owner": 7 }, { "owner": null }])),
            (
                json!({ "fields": ["owner.name"] }),
                json!([{ "owner": { "name": "Ann" } }, { "owner": { "name": null } }]),
            ),
            (
                json!({ "fields": ["owner.id", "owner.name"], "filter": { "owner": 7, "owner.name": "Ann" } }),
                json!([{ "owner": { "id": 7, "name": "Ann" } }]),
            ),
        ] {
            assert_eq!(fixture.call_ok("list_animals", params.clone()).await["items"], expected, "{params}");
        }
        let refused = json!({ "id": 1, "fields": ["owner", "owner.name"] });
        assert!(message(&fixture, "get_animal", refused).await.contains("'owner.id'"));
        let nested = message(&fixture, "list_visits", json!({ "fields": ["animal.owner", "animal.owner.name"] })).await;
        assert!(nested.contains("Write 'animal.owner.id' instead of 'animal.owner'"), "{nested}");
    }
}

/// A database cannot join any number of tables.
#[tokio::test]
async fn r_col_3_the_number_of_references_is_limited() {
    let columns: Vec<String> = (0..70).map(|number| format!("r{number}_id INTEGER REFERENCES sites(id)")).collect();
    let tables = format!(
        "CREATE TABLE sites (id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE hubs (id INTEGER PRIMARY KEY, {});
         INSERT INTO sites VALUES (1, 'Mill'); INSERT INTO hubs (id, r0_id, r31_id) VALUES (1, 1, 1);",
        columns.join(", ")
    );
    for fixture in fixtures(&tables, &tables).await {
        let fields = |count: usize| (0..count).map(|number| json!(format!("r{number}.title"))).collect::<Value>();
        let most =
            fixture.call_ok("list_hubs", json!({ "fields": fields(32), "filter": { "r0.title": "Mill" } })).await;
        assert_eq!(most["items"][0]["r31"]["title"], "Mill");
        let filter: Value = (0..70).map(|number| json!({ format!("r{number}.title"): "x" })).collect();
        for params in [
            json!({ "fields": fields(33) }),
            json!({ "fields": fields(20), "filter": { "or": filter } }),
            json!({ "filter": { "or": filter } }),
        ] {
            let message = message(&fixture, "list_hubs", params).await;
            assert!(message.contains("The maximum is 32"), "{message}");
        }
        let get = message(&fixture, "get_hub", json!({ "id": 1, "fields": fields(70) })).await;
        assert!(get.contains("The maximum is 32"), "{get}");
    }
}
