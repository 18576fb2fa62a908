//! R-RES-5: the times of a column have one width, so that their text sorts like the times, and what is written is what
//! the application itself would write: it finds a time by comparing the text.

use serde_json::{Value, json};

use crate::support::Fixture;

/// The texts of a field, in the order of the list.
async fn shown(fixture: &Fixture, operation: &str, field: &str) -> Vec<String> {
    let params = json!({ "sort": { "field": field, "order": "asc" }, "fields": [field] });
    let rows = fixture.walk(operation, params, 2).await;
    rows.iter().map(|row| row[field].as_str().unwrap().to_owned()).collect()
}

fn is_sorted(texts: &[String]) -> bool {
    texts.windows(2).all(|pair| pair[0] < pair[1])
}

/// Fractions with trailing zeros, and none at all.
const FRACTIONS: [&str; 5] = ["05", "05.05", "05.056", "05.5", "06"];

#[tokio::test]
async fn r_res_5_the_times_of_a_sqlite_column_sort_as_text() {
    let mut sql = String::from(
        "CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY);
         CREATE TABLE runs (id INTEGER PRIMARY KEY, start_time BIGINT, end_at DATETIME, plain_at TEXT, seconds_at REAL);",
    );
    for (number, second) in FRACTIONS.into_iter().enumerate() {
        let time: jiff::Timestamp = format!("2026-11-18T12:00:{second}Z").parse().unwrap();
        let (ms, micros) = (time.as_millisecond(), time.subsec_nanosecond() / 1000);
        let end = format!("2026-11-18 12:00:{}.{micros:06}", second.split('.').next().unwrap());
        sql +=
            &format!("INSERT INTO runs VALUES ({number}, {ms}, '{end}', '2026-11-18 12:00:{second}', {ms}.0 / 1000);");
    }
    let fixture = Fixture::sqlite(&sql).await;
    for field in ["start_time", "end_at", "plain_at", "seconds_at"] {
        let texts = shown(&fixture, "list_runs", field).await;
        assert_eq!(texts.len(), FRACTIONS.len());
        assert!(is_sorted(&texts), "{field}: {texts:?}");
        let widths: Vec<usize> = texts.iter().map(String::len).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{field}: {texts:?}");
    }
}

#[tokio::test]
async fn r_res_5_the_times_of_a_postgres_column_have_its_declared_width() {
    let fixture = Fixture::postgres(
        "CREATE TABLE runs (id int PRIMARY KEY, at timestamptz, ms timestamptz(3), whole timestamp(0));
         INSERT INTO runs SELECT n, t, t, t FROM (VALUES (1, '2026-11-18 12:00:05Z'), (2, '2026-11-18 12:00:06.05Z'),
            (3, '2026-11-18 12:00:06.056Z'), (4, '2026-11-18 12:00:07.5Z')) AS x(n, s), CAST(s AS timestamptz) AS t;",
    )
    .await;
    for (field, expected) in
        [("at", ["05.000000", "06.050000", "06.056000", "07.500000"]), ("ms", ["05.000", "06.050", "06.056", "07.500"])]
    {
        let expected: Vec<String> = expected.iter().map(|second| format!("2026-11-18T12:00:{second}Z")).collect();
        assert_eq!(shown(&fixture, "list_runs", field).await, expected);
    }
    let first = fixture.call_ok("get_run", json!({ "id": 1 })).await;
    assert_eq!(first["whole"], "2026-11-18T12:00:05Z");
    // The extremes of a column are written like its values.
    let aggregate = json!({ "aggregate": { "last": { "max": "at" }, "first": { "min": "ms" } } });
    let extremes = fixture.call_ok("list_runs", aggregate).await;
    let expected = json!({ "last": "2026-11-18T12:00:07.500000Z", "first": "2026-11-18T12:00:05.000Z" });
    assert_eq!(extremes["aggregations"], expected);
}

/// What Django, SQLAlchemy and SQLite itself write. A framework is recognized by the table that it keeps.
#[tokio::test]
async fn r_res_5_written_times_are_what_the_application_would_write() {
    const DJANGO: &str = "CREATE TABLE django_migrations (id integer PRIMARY KEY, applied datetime NOT NULL);";
    const ALEMBIC: &str = "CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY);";
    let whole = ("2026-03-04T05:06:07Z", "2026-03-04 05:06:07");
    let half = "2026-03-04T05:06:07.5Z";
    for (framework, existing, written_whole, written_half) in [
        // Almost no time has a fraction of zero, so the values alone do not show what becomes of it.
        (DJANGO, "2026-01-01 10:00:00.123456", "2026-03-04 05:06:07", "2026-03-04 05:06:07.500000"),
        (DJANGO, "2026-01-01 10:00:00", "2026-03-04 05:06:07", "2026-03-04 05:06:07.500000"),
        (DJANGO, "", "2026-03-04 05:06:07", "2026-03-04 05:06:07.500000"),
        (ALEMBIC, "2026-01-01 10:00:00.123456", "2026-03-04 05:06:07.000000", "2026-03-04 05:06:07.500000"),
        (ALEMBIC, "", "2026-03-04 05:06:07.000000", "2026-03-04 05:06:07.500000"),
        ("", "2026-01-01T10:00:00.123Z", "2026-03-04T05:06:07.000Z", "2026-03-04T05:06:07.500Z"),
        ("", "2026-01-01 10:00:00", "2026-03-04 05:06:07", "2026-03-04 05:06:07.500"),
        (
            "",
            "2026-01-01 10:00:00.123456+00:00",
            "2026-03-04 05:06:07.000000+00:00",
            "2026-03-04 05:06:07.500000+00:00",
        ),
        ("", "", whole.1, "2026-03-04 05:06:07.500"),
    ] {
        let insert = if existing.is_empty() { "" } else { &format!("INSERT INTO pages (made) VALUES ('{existing}');") };
        let fixture = Fixture::sqlite(&format!(
            "{framework} CREATE TABLE pages (id INTEGER PRIMARY KEY AUTOINCREMENT, made datetime NULL); {insert}"
        ))
        .await;
        for (sent, expected) in [(whole.0, written_whole), (half, written_half)] {
            let made = fixture.call_ok("create_page", json!({ "made": sent })).await;
            let stored = fixture.value("SELECT made FROM pages ORDER BY id DESC LIMIT 1").await;
            assert_eq!(stored, expected, "{framework} {existing}");
            // Found again by an exact filter and by a range.
            for filter in [json!({ "made": sent }), json!({ "made": { "gte": sent, "lte": sent } })] {
                let found = fixture.call_ok("list_pages", json!({ "filter": filter, "fields": ["id"] })).await;
                assert_eq!(found["items"], json!([{ "id": made["id"] }]), "{framework} {existing} {sent}");
            }
        }
        let texts = shown(&fixture, "list_pages", "made").await;
        assert!(is_sorted(&texts), "{existing}: {texts:?}");
    }
}

/// No digit is lost, and the rows of one answer look alike, when a value has more digits than those that were sampled.
#[tokio::test]
async fn r_res_5_a_finer_time_widens_its_column() {
    let rows: Vec<String> = (0..300).map(|n| format!("('2026-01-01 10:{:02}:{:02}')", n / 60, n % 60)).collect();
    let fixture = Fixture::sqlite(&format!(
        "CREATE TABLE events (id INTEGER PRIMARY KEY, made_at TEXT); INSERT INTO events (made_at) VALUES {};
         UPDATE events SET made_at = made_at || '.25' WHERE id = 80;",
        rows.join(", ")
    ))
    .await;
    let first = fixture.call_ok("list_events", json!({ "first": 1 })).await;
    assert_eq!(first["items"][0]["made_at"], "2026-01-01T10:00:00Z");
    let all = fixture.call_ok("list_events", json!({ "first": 100, "fields": ["made_at"] })).await;
    let texts: Vec<&str> =
        all["items"].as_array().unwrap().iter().map(|row| row["made_at"].as_str().unwrap()).collect();
    assert!(texts.iter().all(|text| text.len() == texts[0].len()), "{texts:?}");
    assert!(texts.contains(&"2026-01-01T10:01:19.25Z"), "{texts:?}");
    assert_eq!(all["items"][0]["made_at"], Value::from("2026-01-01T10:00:00.00Z"));
}
