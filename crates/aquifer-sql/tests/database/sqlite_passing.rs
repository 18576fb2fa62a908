//! Which reads of SQLite keep the thread of their call, and which leave it at once because they are one long step.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::support::Stage;

/// What is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn only_what_is_made_of_small_steps_is_read_in_passing() {
    let stage = Stage::sqlite(
        "CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT);
         CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, owner_id INTEGER REFERENCES owners (id));
         INSERT INTO owners VALUES (1, 'Ann');
         INSERT INTO things VALUES (1, 'one', 1), (2, 'two', 1);",
    )
    .await;
    let log = Log::default();
    let writer = log.clone();
    let filter = tracing_subscriber::EnvFilter::new("aquifer_sql=trace");
    let here = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(move || writer.clone());
    let _guard = tracing::subscriber::set_default(here.finish());
    for (operation, params, in_passing) in [
        ("get_thing", json!({ "id": 1 }), true),
        ("list_things", json!({ "sort": "name", "first": 1 }), true),
        ("list_things", json!({ "filter": { "name": { "contains": "w" } } }), true),
        ("list_things", json!({ "aggregate": { "n": { "count": true } } }), false),
        ("list_things", json!({ "aggregate": { "n": { "count": true } }, "filter": { "id": 2 } }), false),
        ("search_things", json!({ "query": "one" }), false),
        ("query_relationships", json!({ "root": { "element_type": "things", "id": 1 }, "direction": "both" }), false),
    ] {
        log.0.lock().unwrap().clear();
        stage.get(operation, params.clone()).await;
        let heard = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert_eq!(heard.contains("SELECT"), in_passing, "{operation} {params}: {heard}");
    }
}
