//! A page costs the same however deep it is: an index on the sorted columns bounds the scan. The statements are taken
//! from the log, and their plans from the database's own EXPLAIN.

use std::sync::{Arc, OnceLock};

use aquifer_query::{Collection, FieldType};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::engines::{EngineSet, Extras, Participant};
use crate::shop::{field, words};
use crate::tables::Table;

/// Every statement that was run.
#[derive(Clone, Default)]
pub(crate) struct Log(pub(crate) Arc<Mutex<Vec<String>>>);

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("aquifer_sql")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Statements(self));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Statements<'l>(&'l Log);

impl Visit for Statements<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "sql" {
            self.0.0.lock().push(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

pub(crate) fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        tracing::subscriber::set_global_default(log.clone()).unwrap();
        log
    })
}

/// Many entries, half of them without a priority, and indexes for the tested orders.
async fn engines() -> EngineSet {
    log();
    let collection = Collection {
        name: "entries".into(),
        fields: vec![
            field("id", FieldType::Integer),
            field("status", words(&["closed", "open"])),
            field("created_at", FieldType::Time),
            field("priority", FieldType::Integer),
        ],
        key: vec!["id".into()],
        versions: true,
        ..Collection::default()
    };
    let table = Table {
        name: "entries",
        singular: "entry",
        collection,
        sqlite: "(id INTEGER PRIMARY KEY, status TEXT NOT NULL CHECK (status IN ('closed', 'open')), \
                 created_at TIMESTAMP NOT NULL, priority INTEGER)",
        postgres: "(id int4 PRIMARY KEY, status text NOT NULL CHECK (status IN ('closed', 'open')), \
                   created_at timestamptz NOT NULL, priority int4)",
    };
    let extras = Extras {
        without: &["memory"],
        sqlite: "CREATE INDEX by_status ON entries (status, created_at, id);
                 CREATE INDEX by_priority ON entries (priority, id);
                 CREATE INDEX by_both ON entries (priority, created_at, id);
                 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                 INSERT INTO entries SELECT i, iif(i % 2, 'open', 'closed'), datetime(1767225600 + i * 60, 'unixepoch'),
                   iif(i % 2, NULL, i / 4) FROM n;
                 ANALYZE",
        postgres: "CREATE INDEX by_status ON entries (status, created_at, id);
                   CREATE INDEX by_priority ON entries (priority, id);
                   CREATE INDEX by_both ON entries (priority, created_at, id);
                   INSERT INTO entries SELECT i, CASE i % 2 WHEN 1 THEN 'open' ELSE 'closed' END,
                     to_timestamp(1767225600 + i * 60), CASE i % 2 WHEN 1 THEN NULL ELSE i / 4 END
                   FROM generate_series(1, 20000) AS i;
                   ANALYZE entries",
        ..Extras::default()
    };
    EngineSet::new(vec![table], &[], extras).await
}

/// The plan of a statement, for any bound values.
pub(crate) async fn explain_plan(participant: &Participant, sql: &str) -> String {
    if let Some(connection) = participant.sqlite() {
        // Only its existence matters: nothing is executed.
        let flags = rusqlite::functions::FunctionFlags::SQLITE_UTF8;
        connection.create_scalar_function("aquifer_is_time", 1, flags, |_| Ok(true)).unwrap();
        connection.create_scalar_function("aquifer_time", 1, flags, |_| Ok(0)).unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
        let steps = statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get(3)).unwrap();
        let steps: Result<Vec<String>, _> = steps.collect();
        return steps.unwrap().join("\n");
    }
    if let Some(client) = participant.postgres() {
        let most = (1..100).rev().find(|number| sql.contains(&format!("${number}"))).unwrap_or(0);
        let values = vec!["NULL"; most].join(", ");
        let values = if values.is_empty() { values } else { format!("({values})") };
        let prepare = format!("SET plan_cache_mode = force_generic_plan; PREPARE page AS {sql}");
        client.batch_execute(&prepare).await.unwrap();
        let rows = client.query(&format!("EXPLAIN EXECUTE page{values}"), &[]).await.unwrap();
        client.batch_execute("DEALLOCATE page").await.unwrap();
        return rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n");
    }
    panic!("{} gives no account", participant.name);
}

/// Walks to a page in the middle, and returns the plans of its statements.
async fn explain_pages(participant: &Participant, params: &Value, pages: usize) -> Vec<(String, String)> {
    let mut params = params.clone();
    let mut statements = Vec::new();
    for page in 0..pages {
        log().0.lock().clear();
        let answer = participant.ask("list_entries", &params).await;
        assert_eq!(
            answer["data"]["items"].as_array().map(Vec::len),
            params["first"].as_u64().map(|n| n as usize),
            "{answer}"
        );
        params["after"] = answer["data"]["pageInfo"]["endCursor"].clone();
        let ran: Vec<String> = log().0.lock().iter().filter(|sql| sql.contains("\"entries\"")).cloned().collect();
        assert!(!ran.is_empty(), "page {page} left nothing in the log");
        statements = ran;
    }
    let mut all = Vec::new();
    for sql in statements {
        let report = explain_plan(participant, &sql).await;
        all.push((sql, report));
    }
    all
}

/// The index bounds the scan by the sorted column, and nothing is sorted.
fn is_bounded(name: &str, report: &str, index: &str, column: &str) -> bool {
    let by_index = match name {
        "sqlite" => report.lines().any(|line| {
            let bound =
                [format!("{column}<"), format!("{column}>"), format!("({column},id)<"), format!("({column},id)>")];
            line.starts_with("SEARCH") && line.contains(index) && bound.iter().any(|bound| line.contains(bound))
        }),
        _ => {
            let condition = report.lines().find(|line| line.contains("Index Cond")).unwrap_or_default();
            report.contains(&format!("using {index}"))
                && [format!("{column} <"), format!("{column} >"), format!("ROW({column}, id)")]
                    .iter()
                    .any(|bound| condition.contains(bound))
        }
    };
    by_index && !report.contains("Sort") && !report.contains("TEMP B-TREE")
}

#[tokio::test]
async fn r_col_8_a_page_of_a_filtered_order_is_bounded_by_its_index() {
    let engines = engines().await;
    for participant in &engines.participants {
        for order in ["asc", "desc"] {
            let params = json!({ "filter": { "status": "open" }, "sort": { "field": "created_at", "order": order }, "first": 50 });
            for (sql, report) in explain_pages(participant, &params, 4).await {
                assert!(
                    is_bounded(participant.name, &report, "by_status", "created_at"),
                    "{}: {sql}\n{report}",
                    participant.name
                );
                assert!(
                    report.contains("status=?") || report.contains("(status = "),
                    "{}: {sql}\n{report}",
                    participant.name
                );
            }
        }
    }
}

#[tokio::test]
async fn r_col_8_a_page_of_an_order_with_nulls_is_bounded_by_its_index() {
    let engines = engines().await;
    for participant in &engines.participants {
        // Numbers come first in both directions, so the page is among them.
        for order in ["asc", "desc"] {
            let params = json!({ "sort": "priority", "order": order, "first": 50 });
            for (sql, report) in explain_pages(participant, &params, 4).await {
                assert!(
                    is_bounded(participant.name, &report, "by_priority", "priority"),
                    "{}: {sql}\n{report}",
                    participant.name
                );
            }
        }
        // Among missing values, the next sort column bounds the scan.
        let nulls_first = json!({ "field": "priority", "order": "desc", "nulls": "first" });
        let key = json!({ "sort": nulls_first, "first": 50 });
        let descending = |field: &str| json!({ "field": field, "order": "desc" });
        let both = json!({ "sort": [nulls_first, descending("created_at")], "first": 50 });
        for (params, index, column) in [(key, "by_priority", "id"), (both, "by_both", "created_at")] {
            for (sql, report) in explain_pages(participant, &params, 4).await {
                assert!(is_bounded(participant.name, &report, index, column), "{}: {sql}\n{report}", participant.name);
                let missing = report.contains("priority=?") || report.contains("priority IS NULL");
                assert!(missing, "{}: {sql}\n{report}", participant.name);
            }
        }
    }
}
