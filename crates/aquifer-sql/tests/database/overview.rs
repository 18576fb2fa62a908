//! `introspect {query: "schema"}`: tables in one line each, within bounds, and without anything that is hidden.

use aquifer_sql::Style;
use serde_json::{Value, json};

use crate::hidden::hide;
use crate::needs;
use crate::support::{Fixture, fixtures_with};

const TABLES: &str = "
    CREATE TABLE sites (id INTEGER PRIMARY KEY, title VARCHAR(40) NOT NULL, parent_id INTEGER REFERENCES sites(id));
    CREATE TABLE visits (
        id INTEGER PRIMARY KEY, site_id INTEGER NOT NULL REFERENCES sites(id),
        state VARCHAR(9) NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done')), seen_at TIMESTAMP, note TEXT, pin TEXT, meta JSON);
    CREATE TABLE codes (code VARCHAR(9) PRIMARY KEY, price NUMERIC(9,2) NOT NULL, is_old BOOLEAN NOT NULL DEFAULT FALSE);
    CREATE VIEW open_visits AS SELECT id, site_id, state FROM visits WHERE state = 'open' AND seen_at IS NULL;
    CREATE VIEW pinned_visits AS SELECT id, site_id FROM visits WHERE pin = '4711';
    INSERT INTO sites (id, title) VALUES (1, 'North'), (2, 'South');
    INSERT INTO visits (id, site_id, state, meta) VALUES
        (1, 1, 'open', '{\"size\": 1, \"colour\": \"red\"}'), (2, 1, 'done', '{\"size\": 2}'), (3, 2, 'done', NULL);";

async fn schema(fixture: &Fixture, params: Value) -> Value {
    let mut all = json!({ "query": "schema" });
    all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
    fixture.call_ok("introspect", all).await
}

fn lines(answer: &Value) -> Vec<&str> {
    answer["schema"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

#[tokio::test]
async fn r_ext_2_each_table_is_one_line_and_the_grammar_is_said_once() {
    for fixture in fixtures_with(TABLES, TABLES, |settings| hide(&["visits.pin"])(settings)).await {
        let answer = schema(&fixture, json!({})).await;
        let mut found = lines(&answer);
        found.sort_unstable();
        let price = found[0].split("price ").nth(1).unwrap_or_default().split(',').next().unwrap_or_default();
        assert_eq!(price, "number", "{answer}");
        assert_eq!(
            found,
            [
                "codes (0): code* text, price number, is_old bool=false",
                "open_visits (view: state = 'open' and seen_at is null): id int, site_id→sites, state",
                "pinned_visits (view): id int, site_id→sites",
                "sites (2): id*, title, parent_id→sites?, ←sites_by_parent_id",
                "visits (3): id*, site_id→sites, state open|done=open, seen_at time?, note?, meta json {size, colour}?",
            ],
            "{answer}"
        );
        assert_eq!(answer["grammar"], json!(aquifer_query::grammar::GRAMMAR));
        let text = answer.to_string();
        assert!(text.contains("list/search_codes") || text.contains("list_records"), "{text}");
        assert!(text.contains("_computed.s_count"), "{text}");
        assert!(!text.contains("pin") || !text.replace("pinned_visits", "").contains("pin"), "{text}");
        assert!(!text.contains("4711"), "{text}");
        let whole = schema(&fixture, json!({ "names": ["sites"] })).await;
        assert_eq!(
            lines(&whole),
            [
                "sites (2): id*, title, parent_id→sites?, ←open_visits, ←pinned_visits, ←sites_by_parent_id, ←visits, _computed.sites_by_parent_id_count int, _computed.visits_count int"
            ]
        );
        let found = schema(&fixture, json!({ "search": "when was a visit seen" })).await;
        assert!(lines(&found)[0].starts_with("visits "), "{found}");
        assert!(found["other_tables"].as_array().unwrap().contains(&json!("codes")), "{found}");
        let unknown = fixture
            .call_err("introspect", json!({ "query": "schema", "names": ["sitess"] }), "NOT_FOUND_RESOURCE")
            .await;
        assert!(unknown["message"].as_str().unwrap().contains("Did you mean 'sites'?"), "{unknown}");
        let wrong = json!({ "query": "schema", "family": "read" });
        fixture.call_err("introspect", wrong, "VALIDATION_INVALID_VALUE").await;
    }
}

#[tokio::test]
async fn r_ext_6_denied_tables_are_in_no_overview() {
    let denied: Vec<&'static str> =
        vec!["list_sites", "search_sites", "get_site", "create_site", "update_site", "delete_site"];
    for (fixture, is_generic) in needs::fixtures(TABLES, TABLES, &denied, true).await {
        let answer = schema(&fixture, json!({})).await;
        assert!(!answer.to_string().contains("sites"), "{answer}");
        let visits = lines(&answer).into_iter().find(|line| line.starts_with("visits ")).unwrap();
        assert!(visits.starts_with("visits (3): id*, site_id int, "), "{visits}");
        let unknown = json!({ "query": "schema", "names": ["sites"] });
        let unknown = fixture.call_err("introspect", unknown, "NOT_FOUND_RESOURCE").await;
        assert!(!unknown["message"].as_str().unwrap().contains("Did you mean"), "{unknown}");
        let note = if is_generic {
            "table_name: codes: list_records, "
        } else {
            "list/search_codes, get/create/update/delete_code; update: {code, input: columns}"
        };
        assert!(answer["hints"].to_string().contains(note), "{answer}");
    }
}

#[tokio::test]
async fn r_ext_2_many_tables_are_ranked_and_bounded() {
    let mut sql = "CREATE TABLE hubs (id INTEGER PRIMARY KEY, name TEXT);".to_owned();
    for number in 0..300 {
        let columns: String = (0..30).map(|column| format!(", some_column_{column} INTEGER")).collect();
        sql += &format!(
            "CREATE TABLE spokes_{number} (id INTEGER PRIMARY KEY, hub_id INTEGER REFERENCES hubs(id){columns});"
        );
    }
    sql += "CREATE TABLE umbrellas (id INTEGER PRIMARY KEY, colour TEXT);";
    let fixture = Fixture::sqlite(&sql).await;
    let answer = schema(&fixture, json!({})).await;
    assert!(answer.to_string().len() < 16 * 1024, "{}", answer.to_string().len());
    assert!(lines(&answer)[0].starts_with("hubs (0): id*, name?"), "the most referred to comes first: {answer}");
    let told = lines(&answer).len() + answer["other_tables"].as_array().unwrap().len();
    assert_eq!(told as u64 + answer["more"].as_u64().unwrap_or(0), 302, "every table is a line, a name or counted");
    let found = schema(&fixture, json!({ "search": "colour of an umbrella" })).await;
    assert!(lines(&found)[0].starts_with("umbrellas "), "{found}");
    assert!(fixture.operations().contains(&"list_umbrellas".to_owned()), "tables keep operations of their own");
    let wide: String = (0..400).map(|column| format!(", column_with_a_long_name_{column} TEXT")).collect();
    let fixture = Fixture::sqlite(&format!("CREATE TABLE wide (id INTEGER PRIMARY KEY{wide})")).await;
    let answer = schema(&fixture, json!({})).await;
    assert!(lines(&answer)[0].len() < 2_000 && lines(&answer)[0].contains(" more"), "{answer}");
    let whole = schema(&fixture, json!({ "names": ["wides"] })).await;
    assert!(lines(&whole)[0].contains("column_with_a_long_name_399"), "{whole}");
}

#[tokio::test]
async fn r_ext_2_names_and_values_of_a_database_cannot_forge_a_line() {
    let forged = "x\nforged (9): id*";
    let sql = format!(
        "CREATE TABLE things (id INTEGER PRIMARY KEY, \"{forged}\" TEXT, state TEXT CHECK (state IN ('a', '{forged}')), meta JSON);
         CREATE TABLE \"{forged}\" (id INTEGER PRIMARY KEY);
         INSERT INTO things (id, meta) VALUES (1, json_object('{forged}', 1));"
    );
    let fixture = Fixture::sqlite_with(&sql, |settings| settings.style = Style::Tables).await;
    let answer = schema(&fixture, json!({})).await;
    assert_eq!(lines(&answer).len(), 2, "{answer}");
    for line in lines(&answer) {
        assert!(!line.contains('\n') && !line.contains("\nforged"), "{line:?}");
    }
}

#[tokio::test]
async fn r_ext_2_json_that_is_none_and_keys_that_are_data_are_not_shown() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE things (id INTEGER PRIMARY KEY, meta JSON, map JSON);
         INSERT INTO things VALUES (1, 'not json', '{}'), (2, '[1]', NULL), (3, '{\"a\": 1}', NULL);
         WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
         INSERT INTO things SELECT i, NULL, json_object('user' || i, 1) FROM n;",
    )
    .await;
    let answer = schema(&fixture, json!({})).await;
    let line = lines(&answer)[0];
    assert!(!line.contains("user"), "{line}");
    assert!(line.starts_with("things (40): id*, meta json"), "{line}");
}

#[tokio::test]
async fn r_ext_2_columns_of_views_refer_to_what_their_tables_refer_to() {
    let views = "
        CREATE VIEW late_visits AS SELECT v.id, v.site_id AS place, s.title, v.site_id + 0 AS computed
            FROM visits v JOIN sites s ON s.id = v.site_id WHERE v.state = 'open';
        CREATE VIEW latest_visits AS SELECT id, place FROM late_visits;
        CREATE VIEW mixed_places AS SELECT id, site_id FROM visits UNION SELECT id, parent_id FROM sites;";
    let sql = format!("{TABLES}{views}");
    for fixture in fixtures_with(&sql, &sql, |_| {}).await {
        let answer = schema(&fixture, json!({ "names": ["late_visits", "latest_visits", "mixed_places"] })).await;
        let found = lines(&answer).join("\n");
        assert!(found.contains("): id int, place→sites, title, computed int"), "{found}");
        assert!(found.contains("latest_visits (view): id int, place→sites"), "{found}");
        assert!(found.contains("mixed_places (view): id int, site_id int"), "{found}");
        // What is shown as a reference can be followed, both ways.
        let titles = json!({ "fields": ["id", "place.title"], "filter": { "place.title": "North" } });
        for operation in ["list_late_visits", "list_latest_visits"] {
            let page = fixture.call_ok(operation, titles.clone()).await;
            assert_eq!(page["items"], json!([{ "id": 1, "place": { "title": "North" } }]), "{operation}: {page}");
        }
        let late = json!({ "fields": ["id"], "filter": { "late_visits": { "some": {} } } });
        assert_eq!(fixture.call_ok("list_sites", late).await["items"], json!([{ "id": 1 }]));
        // A view holds no row back, and no row of it is deleted.
        let visit = json!({ "id": 1, "dry_run": true });
        let deleted = fixture.call_ok("delete_visit", visit).await.to_string();
        assert!(!deleted.contains("late"), "{deleted}");
        let held = fixture.call_err("delete_site", json!({ "id": 1 }), "CONFLICT_CONSTRAINT").await.to_string();
        assert!(held.contains("visits") && !held.contains("late_visits"), "{held}");
    }
}

#[tokio::test]
async fn r_ext_2_overviews_tell_the_names_of_paths_and_what_deleting_does() {
    let sql = "
        CREATE TABLE owners (id INTEGER PRIMARY KEY, name VARCHAR(9), visits INTEGER);
        CREATE TABLE animals (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owners(id) ON DELETE CASCADE,
            vet_id INTEGER REFERENCES owners(id) ON DELETE SET NULL);
        CREATE TABLE visits (id INTEGER PRIMARY KEY, animal_id INTEGER NOT NULL REFERENCES animals(id),
            payer_id INTEGER REFERENCES owners(id));
        CREATE TABLE secrets (id INTEGER PRIMARY KEY, animal_id INTEGER REFERENCES animals(id) ON DELETE CASCADE);
        INSERT INTO owners (id, name) VALUES (1, 'Ann');
        INSERT INTO animals (id, owner_id, vet_id) VALUES (1, 1, 1);
        INSERT INTO visits VALUES (1, 1, 1);";
    for fixture in fixtures_with(sql, sql, |settings| settings.exclude.push("secrets".to_owned())).await {
        let answer = schema(&fixture, json!({})).await;
        let mut found = lines(&answer);
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "animals (1): id*, owner_id→!owners?, vet_id→~owners?",
                "owners (1): id*, name?, visits int?, ←animals_by_owner_id, ←animals_by_vet_id, ←visits_by_payer_id",
                "visits (1): id*, animal_id→animals, payer_id→owners?",
            ],
            "{answer}"
        );
        let hints = answer["hints"].to_string();
        for note in
            ["s.x_id→t: s.x, t.s, _computed.s_count", "←y", "→ blocks delete", "→! is deleted", "→~ is set to null"]
        {
            assert_eq!(hints.matches(note).count(), 1, "{note}: {hints}");
        }
        // What is told can be used.
        for (operation, path) in [
            ("list_animals", "visits"),
            ("list_owners", "animals_by_owner_id"),
            ("list_owners", "animals_by_vet_id"),
            ("list_owners", "visits_by_payer_id"),
        ] {
            let request = json!({ "filter": { path: { "some": { "id": 1 } } }, "fields": ["id", { path: {} }] });
            let rows = fixture.call_ok(operation, request).await;
            assert_eq!(rows["items"][0][path][0]["id"], 1, "{operation} {path}: {rows}");
        }
        let owner = fixture.call_ok("list_visits", json!({ "fields": ["animal.owner.name"] })).await;
        assert!(owner.to_string().contains("Ann"), "{owner}");
        assert!(!answer.to_string().contains("secret"), "{answer}");
        let whole = schema(&fixture, json!({ "names": ["animals"] })).await;
        assert!(lines(&whole)[0].contains(", ←visits") && !whole.to_string().contains("secret"), "{whole}");
    }
}
