//! Which SQLite reads run inline, and which run on a blocking thread because they are one long step.

use serde_json::json;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::sql_log::SqlLog;
use crate::support::Fixture;

#[tokio::test]
async fn only_cheap_reads_run_inline() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT);
         CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, owner_id INTEGER REFERENCES owners (id));
         INSERT INTO owners VALUES (1, 'Ann');
         INSERT INTO things VALUES (1, 'one', 1), (2, 'two', 1);",
    )
    .await;
    // Listens on this thread only.
    let here = SqlLog::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(here.clone()));
    for (operation, params, run_inline) in [
        ("get_thing", json!({ "id": 1 }), true),
        ("list_things", json!({ "sort": "name", "first": 1 }), true),
        ("list_things", json!({ "filter": { "name": { "contains": "w" } } }), true),
        ("list_things", json!({ "aggregate": { "n": { "count": true } } }), false),
        ("list_things", json!({ "aggregate": { "n": { "count": true } }, "filter": { "id": 2 } }), false),
        ("search_things", json!({ "query": "one" }), false),
        ("query_relationships", json!({ "root": { "element_type": "things", "id": 1 }, "direction": "both" }), false),
    ] {
        fixture.call_ok(operation, params.clone()).await;
        let read = here.take(|text| text.contains("SELECT"));
        assert_eq!(!read.is_empty(), run_inline, "{operation} {params}: {read:?}");
    }
}
