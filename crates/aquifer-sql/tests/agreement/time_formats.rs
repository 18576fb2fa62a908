//! Times in every format of SQLite columns, under every declared type, with and without NULLs: pages are in
//! chronological order, use the index, and stay correct when a row in another format is written. The reference is plain
//! SQL over a second column that holds the same time as a number.

use aquifer_query::Collection;
use serde_json::{Value, json};

use crate::engines::{EngineSet, Extras, Participant};
use crate::scans::{explain_plan, log};
use crate::tables::Table;

const ROWS: usize = 200;

/// A format, as SQL over `x` (seconds since 1970) and `i` (the row number), and the time it represents.
struct Format {
    name: &'static str,
    sql: &'static str,
    time: &'static str,
}

const TEXTS: &[Format] = &[
    Format { name: "space", sql: "datetime(x, 'unixepoch')", time: "x" },
    Format { name: "t", sql: "strftime('%Y-%m-%dT%H:%M:%S', x, 'unixepoch')", time: "x" },
    Format { name: "zulu", sql: "strftime('%Y-%m-%dT%H:%M:%SZ', x, 'unixepoch')", time: "x" },
    Format {
        name: "zulu_millis",
        sql: "strftime('%Y-%m-%dT%H:%M:%S.', x, 'unixepoch') || (i % 4 * 250 + 100) || 'Z'",
        time: "x + (i % 4 * 250 + 100) / 1000.0",
    },
    Format {
        name: "micros",
        sql: "datetime(x, 'unixepoch') || printf('.%06d', i % 8 * 125000)",
        time: "x + i % 8 / 8.0",
    },
    Format {
        name: "python",
        sql: "strftime('%Y-%m-%dT%H:%M:%S', x, 'unixepoch') || iif(i % 4, printf('.%06d', i % 4 * 250000), '')",
        time: "x + i % 4 / 4.0",
    },
    Format {
        name: "python_aware",
        sql: "datetime(x, 'unixepoch') || iif(i % 4, printf('.%06d', i % 4 * 250000), '') || '+00:00'",
        time: "x + i % 4 / 4.0",
    },
    Format { name: "offset", sql: "strftime('%Y-%m-%dT%H:%M:%S-05:30', x - 19800, 'unixepoch')", time: "x" },
    Format { name: "day", sql: "date(x, 'unixepoch')", time: "x - x % 86400" },
];
const NUMBERS: &[Format] = &[
    Format { name: "seconds", sql: "x", time: "x" },
    Format { name: "millis", sql: "x * 1000 + i % 4 * 250", time: "x + i % 4 / 4.0" },
    Format { name: "real", sql: "x + i % 4 / 4.0", time: "x + i % 4 / 4.0" },
    Format { name: "real_millis", sql: "x * 1000 + i % 4 / 4.0", time: "x + i % 4 / 4000.0" },
];

/// Formats that are not expected beside the others. The last ones are not times.
const STRANGERS: &[(&str, &str)] = &[
    ("datetime(x, 'unixepoch')", "x"),
    ("strftime('%Y-%m-%dT%H:%M:%S', x, 'unixepoch')", "x"),
    ("strftime('%Y-%m-%dT%H:%M:%SZ', x, 'unixepoch')", "x"),
    ("strftime('%Y-%m-%dT%H:%M:%S.5', x, 'unixepoch')", "x + 0.5"),
    ("strftime('%Y-%m-%dT%H:%M:%S.000000', x, 'unixepoch')", "x"),
    ("strftime('%Y-%m-%dT%H:%M:%S+14:00', x + 50400, 'unixepoch')", "x"),
    ("strftime('%Y-%m-%dT%H:%M:%S-12:00', x - 43200, 'unixepoch')", "x"),
    ("strftime('%Y%m%dT%H%M%SZ', x, 'unixepoch')", "x"),
    ("date(x, 'unixepoch')", "x - x % 86400"),
    ("x", "x"),
    ("x * 1000", "x"),
    ("x + 0.5", "x + 0.5"),
    ("'n/a'", "NULL"),
    ("''", "NULL"),
    ("strftime('%Y-%m-%d noon', x, 'unixepoch')", "NULL"),
    ("'12/31/2025'", "NULL"),
];

/// Tables of one declared type, each in one format, every row with a distinct time.
struct Case {
    table: &'static str,
    format: &'static Format,
    nullable: bool,
}

const NAMES: [&str; 18] = [
    "a_events", "b_events", "c_events", "d_events", "e_events", "f_events", "g_events", "h_events", "i_events",
    "j_events", "k_events", "l_events", "m_events", "n_events", "o_events", "p_events", "q_events", "r_events",
];

/// Every format with and without NULLs; only with NULLs if that was tested under another type.
fn cases(declared: &str, formats: &'static [Format]) -> Vec<Case> {
    let both = formats.iter().flat_map(|format| [(format, false), (format, true)]);
    let both = both.filter(|(_, nullable)| *nullable || ["TIMESTAMP", "BIGINT"].contains(&declared));
    NAMES.into_iter().zip(both).map(|(table, (format, nullable))| Case { table, format, nullable }).collect()
}

async fn engines(declared: &str, cases: &[Case]) -> EngineSet {
    log();
    let tables = cases.iter().map(|case| Table {
        name: case.table,
        singular: "event",
        collection: Collection { name: case.table.into(), ..Collection::default() },
        sqlite: format!(
            "(id INTEGER PRIMARY KEY, created_at {declared}{}, time)",
            if case.nullable { "" } else { " NOT NULL" }
        )
        .leak(),
        postgres: "",
    });
    let mut sql = String::new();
    for Case { table, format, nullable } in cases {
        let null = if *nullable { "i % 5 = 0" } else { "FALSE" };
        sql.push_str(&format!(
            "CREATE INDEX {table}_by_time ON {table} (created_at);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}),
             m AS (SELECT i, 1700000000 + i * 7919 % 200 * 14400 AS x FROM n)
             INSERT INTO {table} SELECT i, iif({null}, NULL, {}), iif({null}, NULL, {}) FROM m;",
            format.sql, format.time
        ));
    }
    let extras = Extras { without: &["memory", "postgres"], sqlite: sql.leak(), ..Extras::default() };
    EngineSet::new(tables.collect(), &[], extras).await
}

/// The ids and times of an order, by plain SQL.
fn reference(
    participant: &Participant,
    table: &str,
    order: &str,
    nulls_first: bool,
    range: Option<(f64, f64)>,
) -> Vec<i64> {
    let range = range.map_or("TRUE".to_owned(), |(low, high)| format!("time >= {low} AND time < {high}"));
    let nulls = if nulls_first { "DESC" } else { "ASC" };
    let sql = format!("SELECT id FROM {table} WHERE {range} ORDER BY time IS NULL {nulls}, time {order}, id {order}");
    let connection = participant.sqlite().unwrap();
    let mut statement = connection.prepare(&sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn moment(seconds: f64) -> String {
    jiff::Timestamp::from_nanosecond((seconds * 1e3) as i128 * 1_000_000).unwrap().to_string()
}

fn ids(answer: &Value) -> Vec<i64> {
    let items = answer["data"]["items"].as_array().unwrap_or_else(|| panic!("{answer}"));
    items.iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

/// Every id of a list, page by page; pages from the end are reversed.
async fn walk(participant: &Participant, table: &str, params: &Value, backward: bool) -> Vec<i64> {
    let (size, place, info, more) = match backward {
        false => ("first", "after", "endCursor", "hasNextPage"),
        true => ("last", "before", "startCursor", "hasPreviousPage"),
    };
    let mut params = params.clone();
    params[size] = json!(70);
    let mut pages = Vec::new();
    for _ in 0..ROWS {
        let answer = participant.ask(&format!("list_{table}"), &params).await;
        pages.push(ids(&answer));
        let page = &answer["data"]["pageInfo"];
        if page[more] != true {
            break;
        }
        params[place] = page[info].clone();
    }
    if backward {
        pages.reverse();
    }
    pages.concat()
}

fn listing(order: &str, nulls: &str, filter: Option<Value>) -> Value {
    let mut params = json!({ "sort": { "field": "created_at", "order": order, "nulls": nulls } });
    if let Some(filter) = filter {
        params["filter"] = filter;
    }
    params
}

/// Walks a table in every order, with and without a filter, and compares with the reference.
async fn walk_everywhere(participant: &Participant, table: &str, report: &str) {
    let (low, high) = (1_700_700_000.25, 1_701_400_000.5);
    let range = json!({ "created_at": { "gte": moment(low), "lt": moment(high) } });
    for (order, nulls, backward) in [("asc", "last", false), ("desc", "last", true), ("desc", "first", false)] {
        let found = walk(participant, table, &listing(order, nulls, None), backward).await;
        let expected = reference(participant, table, order, nulls == "first", None);
        assert_eq!(found, expected, "{report} {order} nulls {nulls} backward {backward}");
        let found = walk(participant, table, &listing(order, nulls, Some(range.clone())), backward).await;
        let expected = reference(participant, table, order, false, Some((low, high)));
        assert_eq!(found, expected, "{report} in a range, {order} backward {backward}");
    }
    let counted = json!({ "filter": range, "aggregate": { "n": { "count": true } } });
    let answer = participant.ask(&format!("list_{table}"), &counted).await;
    assert_eq!(
        answer["data"]["aggregations"]["n"],
        reference(participant, table, "asc", false, Some((low, high))).len(),
        "{report}"
    );
}

const TEXT_TYPES: [&str; 4] = ["TIMESTAMP", "DATETIME", "TEXT", ""];
const NUMBER_TYPES: [&str; 3] = ["DATETIME", "REAL", "BIGINT"];

fn groups() -> impl Iterator<Item = (&'static str, &'static [Format])> {
    TEXT_TYPES.into_iter().map(|declared| (declared, TEXTS)).chain(NUMBER_TYPES.into_iter().map(|d| (d, NUMBERS)))
}

#[tokio::test]
async fn r_col_8_times_of_every_format_are_sorted_and_filtered_by_their_index() {
    let mut wrong = Vec::new();
    for (declared, formats) in groups() {
        let cases = cases(declared, formats);
        let engines = engines(declared, &cases).await;
        let participant = &engines.participants[0];
        // The planner without statistics is tested for one text type and one numeric type.
        let is_first = ["TIMESTAMP", "BIGINT"].contains(&declared);
        for analyzed in [false, true].into_iter().skip(usize::from(!is_first)) {
            if analyzed {
                participant.run("ANALYZE").await;
            }
            for Case { table, format, nullable } in &cases {
                let report = format!("{declared} {} nullable {nullable} analyzed {analyzed}", format.name);
                wrong.extend(
                    unindexed(participant, table).await.into_iter().map(|problem| format!("{report}: {problem}")),
                );
                if analyzed {
                    walk_everywhere(participant, table, &report).await;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Statements of pages that do not use the index, or sort.
async fn unindexed(participant: &Participant, table: &str) -> Vec<String> {
    let (from, to) = (moment(1_700_700_000.0), moment(1_700_800_000.0));
    let filters = [
        None,
        Some(json!({ "created_at": { "gt": from } })),
        Some(json!({ "created_at": { "lte": to } })),
        Some(json!({ "created_at": { "between": [from, to] } })),
    ];
    let mut wrong = Vec::new();
    let orders = [("asc", "last"), ("asc", "first"), ("desc", "last"), ("desc", "first")];
    for (number, (order, nulls)) in orders.into_iter().enumerate() {
        // Each order without a filter, and with two of the others.
        for filter in
            filters.iter().enumerate().filter(|(index, _)| *index == 0 || index % 3 != number % 3).map(|(_, f)| f)
        {
            for (size, place, info) in [("first", "after", "endCursor"), ("last", "before", "startCursor")] {
                let mut params = listing(order, nulls, filter.clone());
                params[size] = json!(5);
                for _ in 0..2 {
                    let (answer, statements) = asked_and_logged(participant, table, &params).await;
                    let cursor = answer["data"]["pageInfo"][info].clone();
                    let is_last = cursor.is_null();
                    params[place] = cursor;
                    for sql in statements {
                        let plan = explain_plan(participant, &sql).await;
                        // In such a small table SQLite may follow the key among missing values.
                        let by_key = sql.contains("IS NULL") && plan.contains("USING INTEGER PRIMARY KEY (rowid");
                        let by_index = by_key || plan.contains(&format!("{table}_by_time"));
                        if !by_index || plan.contains("TEMP B-TREE") || sql.contains("aquifer_time") {
                            wrong.push(format!("{params}\n  {sql}\n  {plan}"));
                        }
                    }
                    if is_last {
                        break;
                    }
                }
            }
        }
    }
    let sums =
        json!({ "filter": { "created_at": { "gte": from, "lt": to } }, "aggregate": { "n": { "count": true } } });
    for sql in asked_and_logged(participant, table, &sums).await.1 {
        let plan = explain_plan(participant, &sql).await;
        if !plan.contains(&format!("{table}_by_time")) {
            wrong.push(format!("{sums}\n  {sql}\n  {plan}"));
        }
    }
    wrong
}

async fn asked_and_logged(participant: &Participant, table: &str, params: &Value) -> (Value, Vec<String>) {
    log().0.lock().clear();
    let answer = participant.ask(&format!("list_{table}"), params).await;
    assert_eq!(answer["success"], true, "{params} {answer}");
    let ran = log().0.lock().iter().filter(|sql| sql.contains(&format!("\"{table}\""))).cloned().collect();
    (answer, ran)
}

/// A row in another format, or with an invalid time, sorts correctly whenever it is written.
#[tokio::test]
async fn r_col_8_a_later_row_in_another_time_format_sorts_correctly() {
    for (declared, formats) in groups() {
        let cases = cases(declared, formats);
        let engines = engines(declared, &cases).await;
        let participant = &engines.participants[0];
        for (number, Case { table, format, .. }) in cases.iter().enumerate() {
            // Everything is known to be in one format before it is written.
            let report = format!("{declared} {}", format.name);
            walk_everywhere(participant, table, &report).await;
            for offset in 0..2 {
                let (sql, time) =
                    STRANGERS[(number * 5 + offset * 3 + usize::from(declared.len() % 2 == 0)) % STRANGERS.len()];
                // A text column stores the digits of numbers, which are not a time.
                let time = if declared == "TEXT" && sql.starts_with('x') { "NULL" } else { time };
                let change = match offset % 2 {
                    0 => format!(
                        "INSERT INTO {table} SELECT 1000 + {offset}, {sql}, {time} FROM (SELECT 1701000123 AS x)"
                    ),
                    _ => format!(
                        "UPDATE {table} SET created_at = new.c, time = new.t FROM (SELECT {sql} AS c, {time} AS t FROM (SELECT 1700900456 AS x)) AS new WHERE id = 7"
                    ),
                };
                participant.run(&change).await;
                walk_everywhere(participant, table, &format!("{report}, after {change}")).await;
            }
        }
    }
}

/// A cursor continues where it was, although the format has changed.
#[tokio::test]
async fn r_col_8_a_cursor_survives_a_change_of_the_time_format() {
    for (declared, formats) in groups() {
        let cases = cases(declared, formats);
        let engines = engines(declared, &cases).await;
        let participant = &engines.participants[0];
        for (number, Case { table, format, .. }) in cases.iter().enumerate() {
            for order in ["asc", "desc"] {
                let mut params = listing(order, "last", None);
                params["first"] = json!(50);
                let first = participant.ask(&format!("list_{table}"), &params).await;
                // Formats that keep whole seconds.
                let strangers = [0, 1, 2, 5, 6, 7, 9, 10].map(|index: usize| STRANGERS[index].0);
                let sql = strangers[number % if declared == "TEXT" { 6 } else { 8 }];
                // The last row of the page is rewritten: the value of the cursor now has another format.
                let last = ids(&first)[49];
                participant
                    .run(&format!(
                        "UPDATE {table} SET created_at = (SELECT {sql} FROM (SELECT CAST(time AS INTEGER) AS x)) \
                     WHERE time = CAST(time AS INTEGER) AND id IN ({last}, 7, 8, 9, 12, 16)"
                    ))
                    .await;
                params["after"] = first["data"]["pageInfo"]["endCursor"].clone();
                params["first"] = json!(100);
                let second = ids(&participant.ask(&format!("list_{table}"), &params).await);
                let expected = reference(participant, table, order, false, None);
                assert_eq!(second, expected[50..150], "{declared} {} {order}", format.name);
            }
        }
    }
}
