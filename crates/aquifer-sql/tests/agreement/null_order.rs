//! NULLs sort last in both directions, or first if the caller wants that, and an index on the column is used either
//! way, whatever its type. The plans are from the database's own EXPLAIN of the statements in the log.

use aquifer_query::Collection;
use serde_json::{Value, json};

use crate::engines::{EngineSet, Extras, Participant};
use crate::scans::{explain_plan, log};
use crate::tables::Table;

const ROWS: usize = 300;

/// A table with a column type of each database, and how numbers become values of it. Without a type the database does
/// not participate.
struct Case {
    table: &'static str,
    sqlite: (&'static str, &'static str),
    postgres: (&'static str, &'static str),
    /// Values between which some rows are.
    range: fn() -> [Value; 2],
}

const CASES: &[Case] = &[
    Case { table: "a_events", sqlite: ("INTEGER", "x"), postgres: ("int4", "x"), range: || [json!(100), json!(200)] },
    Case {
        table: "b_events",
        sqlite: ("REAL", "x / 4.0"),
        postgres: ("float8", "x / 4.0"),
        range: || [json!(25), json!(50)],
    },
    Case {
        table: "c_events",
        sqlite: ("NUMERIC(9, 2)", "x"),
        postgres: ("numeric(9, 2)", "x"),
        range: || [json!(100), json!(200)],
    },
    Case {
        table: "d_events",
        sqlite: ("TEXT", "printf('k%04d', x)"),
        postgres: ("text", "'k' || lpad(x::text, 4, '0')"),
        range: || [json!("k0100"), json!("k0200")],
    },
    Case {
        table: "e_events",
        sqlite: ("DATE", "date(x * 86400, 'unixepoch')"),
        postgres: ("date", "date '1970-01-01' + x::int"),
        range: || [json!("1970-04-01"), json!("1970-07-01")],
    },
    Case {
        table: "f_events",
        sqlite: ("TIMESTAMP", "datetime(x * 86400, 'unixepoch')"),
        postgres: ("timestamptz", "to_timestamp(x * 86400)"),
        range: || [json!("1970-04-01"), json!("1970-07-01T00:00:00.25Z")],
    },
    Case {
        table: "g_events",
        sqlite: ("DATETIME", "strftime('%Y-%m-%dT%H:%M:%S', x * 86400, 'unixepoch')"),
        postgres: ("timestamp", "to_timestamp(x * 86400) AT TIME ZONE 'UTC'"),
        range: || [json!("1970-04-01"), json!("1970-07-01")],
    },
    Case { table: "h_events", sqlite: ("BIGINT", "x"), postgres: ("int8", "x"), range: || [json!(100), json!(200)] },
    Case {
        table: "i_events",
        sqlite: ("TEXT", "printf('%08d-0000-0000-0000-000000000000', x)"),
        postgres: ("uuid", "(lpad(x::text, 8, '0') || '-0000-0000-0000-000000000000')::uuid"),
        range: || [json!("00000100-0000-0000-0000-000000000000"), json!("00000200-0000-0000-0000-000000000000")],
    },
];

async fn engines(is_nullable: bool) -> EngineSet {
    log();
    let not_null = if is_nullable { "" } else { " NOT NULL" };
    let tables = CASES.iter().map(|case| Table {
        name: case.table,
        singular: "event",
        collection: Collection { name: case.table.into(), ..Collection::default() },
        sqlite: format!("(id INTEGER PRIMARY KEY, value {}{not_null}, x INTEGER)", case.sqlite.0).leak(),
        postgres: format!("(id int8 PRIMARY KEY, value {}{not_null}, x int8)", case.postgres.0).leak(),
    });
    let is_null = if is_nullable { "i % 5 = 0" } else { "FALSE" };
    let fill = |series: &str, value: fn(&Case) -> &'static str| {
        let one = |case: &Case| {
            let (table, value) = (case.table, value(case));
            format!(
                "CREATE INDEX {table}_by_value ON {table} (value);
                 {series} INSERT INTO {table} SELECT i, CASE WHEN NOT {is_null} THEN {value} END,
                 CASE WHEN NOT {is_null} THEN x END FROM m; ANALYZE {table};"
            )
        };
        &*CASES.iter().map(one).collect::<String>().leak()
    };
    let extras = Extras {
        without: &["memory"],
        sqlite: fill(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300),
             m AS (SELECT i, i * 7919 % 293 AS x FROM n)",
            |case| case.sqlite.1,
        ),
        postgres: fill("WITH m AS (SELECT i, i * 7919 % 293 AS x FROM generate_series(1, 300) AS i)", |case| {
            case.postgres.1
        }),
        ..Extras::default()
    };
    EngineSet::new(tables.collect(), &[], extras).await
}

/// The ids in sort order, computed from the inserted values.
fn expected(is_nullable: bool, descending: bool, nulls_first: bool) -> Vec<usize> {
    let mut rows: Vec<(Option<usize>, usize)> =
        (1..=ROWS).map(|i| ((!is_nullable || i % 5 != 0).then_some(i * 7919 % 293), i)).collect();
    rows.sort_by_key(|(value, id)| (value.is_none() != nulls_first, *value, *id));
    if descending {
        let split = |is_null: bool| {
            let mut part: Vec<_> = rows.iter().copied().filter(|(value, _)| value.is_none() == is_null).collect();
            part.reverse();
            part
        };
        rows = if nulls_first { [split(true), split(false)].concat() } else { [split(false), split(true)].concat() };
    }
    rows.into_iter().map(|(_, id)| id).collect()
}

/// A page, and its statements.
async fn page(participant: &Participant, table: &str, params: &Value) -> (Value, Vec<String>) {
    log().0.lock().clear();
    let answer = participant.ask(&format!("list_{table}"), params).await;
    assert_eq!(answer["success"], true, "{params} {answer}");
    let ran = log().0.lock().iter().filter(|sql| sql.contains(&format!("\"{table}\""))).cloned().collect();
    (answer["data"].clone(), ran)
}

/// Why a statement does not make full use of its index, if so.
async fn problem(participant: &Participant, table: &str, sql: &str) -> Option<String> {
    let plan = explain_plan(participant, sql).await;
    let index = format!("{table}_by_value");
    let sorts = match participant.name {
        "sqlite" => plan.contains("TEMP B-TREE"),
        // The key within equal values is sorted in small batches.
        _ => plan.lines().any(|line| line.contains("Sort  (") && !line.contains("Incremental Sort")),
    };
    // In such a small table SQLite may follow the key among missing values.
    let by_key = sql.contains("IS NULL") && plan.contains("USING INTEGER PRIMARY KEY (rowid");
    (!(plan.contains(&index) || by_key) || sorts).then(|| format!("{}: {sql}\n{plan}", participant.name))
}

#[tokio::test]
async fn r_col_8_nulls_sort_last_in_both_directions_and_the_index_is_used() {
    let mut wrong = Vec::new();
    for is_nullable in [false, true] {
        let engines = engines(is_nullable).await;
        for participant in &engines.participants {
            if let Some(client) = participant.postgres() {
                // PostgreSQL scans such small tables unless that is disabled.
                let forbid = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off";
                client.batch_execute(forbid).await.unwrap();
            }
            for case in CASES {
                let [low, high] = (case.range)();
                let filters =
                    [json!({}), json!({ "value": { "gt": low } }), json!({ "value": { "between": [low, high] } })];
                for (order, nulls) in [("asc", "last"), ("desc", "last"), ("asc", "first"), ("desc", "first")] {
                    let sort = json!({ "field": "value", "order": order, "nulls": nulls });
                    let all = expected(is_nullable, order == "desc", nulls == "first");
                    for filter in &filters {
                        for (size, place, info) in [("first", "after", "endCursor"), ("last", "before", "startCursor")]
                        {
                            let mut params = json!({ "sort": sort, "filter": filter, size: 7 });
                            for _ in 0..2 {
                                let (data, statements) = page(participant, case.table, &params).await;
                                params[place] = data["pageInfo"][info].clone();
                                for sql in statements {
                                    wrong.extend(problem(participant, case.table, &sql).await);
                                }
                            }
                        }
                    }
                    // Every row once, in all three paging styles.
                    let report = format!("{} {} {sort} nullable {is_nullable}", participant.name, case.table);
                    for pages in [["first", "after"], ["limit", "offset"], ["page_size", "page"]] {
                        let found = everything(participant, case.table, &sort, pages).await;
                        assert_eq!(found, all, "{report} {pages:?}");
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every id of a list in sort order, in one paging style.
async fn everything(participant: &Participant, table: &str, sort: &Value, [size, place]: [&str; 2]) -> Vec<usize> {
    let mut params = json!({ "sort": sort, size: 100, "fields": ["id"] });
    let mut ids = Vec::new();
    for number in 0..ROWS {
        match place {
            "offset" => params[place] = json!(number * 100),
            "page" => params[place] = json!(number + 1),
            _ => {}
        }
        let (data, _) = page(participant, table, &params).await;
        ids.extend(data["items"].as_array().unwrap().iter().map(|item| item["id"].as_u64().unwrap() as usize));
        if data["pageInfo"]["hasNextPage"] != true && data["pagination"]["has_more"] != true {
            break;
        }
        if place == "after" {
            params[place] = data["pageInfo"]["endCursor"].clone();
        }
    }
    ids
}
