//! The result budget (R-EXT-3): every answer keeps it, and pages through a result lose and repeat nothing.

use aquifer_query::FieldType;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::awkward::table;
use crate::engines::{EngineSet, Extras, comparable, same};
use crate::properties::{check_law_with, with_rows};

/// Sentences in several alphabets, with escapes and characters of several code points.
const SENTENCES: [&str; 6] = [
    "The delivery was confirmed on Tuesday, but the buyer wants to return the damaged device. ",
    "Die Lieferung wurde bestätigt; \"Käufer\" möchte das Gerät zurückschicken.\n",
    "Доставка была подтверждена во вторник. ",
    "送货已于星期二确认，但买方希望退回损坏的设备。",
    "👩‍👩‍👧 e\u{301} 🚀 C:\\temp\\file.txt ",
    "2026-03-01T12:00:00Z 7f3a9c1e-44b2-4f0e-9d6a-0b1c2d3e4f50 19.99 ",
];

/// An estimate may be this much too low.
const TOLERANCE: f64 = 1.05;

async fn notes() -> EngineSet {
    let fields =
        [("id", FieldType::Integer), ("kind", FieldType::Text), ("title", FieldType::Text), ("body", FieldType::Text)];
    let columns = [
        "(id INTEGER PRIMARY KEY, kind TEXT, title TEXT, body TEXT)",
        "(id int4 PRIMARY KEY, kind text, title text, body text)",
    ];
    EngineSet::new(vec![table("notes", "note", columns, &fields)], &[], Extras::default()).await
}

fn note(id: usize, (kind, sentence, length): (usize, usize, usize)) -> Value {
    let body: String = SENTENCES[sentence].chars().cycle().take(length).collect();
    json!({ "id": id, "kind": format!("kind {kind}"), "title": format!("Note {id}"), "body": body })
}

fn tokens(answer: &Value) -> usize {
    tiktoken::get_encoding("o200k_base").unwrap().count(&answer.to_string())
}

/// Whether a shown text is the original or a beginning of it, cut between characters and marked.
fn is_shown_of(shown: &str, whole: &str) -> bool {
    if shown == whole {
        return true;
    }
    let Some((kept, rest)) = shown.rsplit_once("…[+") else { return false };
    let count = rest.strip_suffix(" characters]").and_then(|count| count.parse::<usize>().ok());
    whole.strip_prefix(kept).is_some_and(|cut| count == Some(cut.chars().count()))
}

/// Pages through a list on all engines. Returns the rows, and fails if a page exceeds the budget.
async fn walk(engines: &EngineSet, request: &Value, budget: usize, forwards: bool) -> Result<Vec<Value>, String> {
    let (size, place) = if forwards { ("first", "after") } else { ("last", "before") };
    let (more, cursor) = if forwards { ("hasNextPage", "endCursor") } else { ("hasPreviousPage", "startCursor") };
    let mut seen = Vec::new();
    let mut cursors = vec![Value::Null; engines.participants.len()];
    loop {
        let mut pages = Vec::new();
        for (participant, after) in engines.participants.iter().zip(&mut cursors) {
            let mut params = request.clone();
            params[size] = 100.into();
            params["max_tokens"] = budget.into();
            if !after.is_null() {
                params[place] = after.clone();
            }
            let answer = participant.ask("list_notes", &params).await;
            let count = tokens(&answer);
            if count as f64 > budget as f64 * TOLERANCE {
                return Err(format!("{} {params}: {count} tokens\n{answer}\n", participant.name));
            }
            *after = answer["data"]["pageInfo"][cursor].clone();
            let mut page = comparable(answer);
            // Warnings have no order.
            if let Some(warnings) = page["warnings"].as_array_mut() {
                warnings.sort_by_key(Value::to_string);
            }
            pages.push((participant.name, page));
        }
        let (_, first) = &pages[0];
        if let Some((name, other)) = pages.iter().find(|(_, page)| !same(first, page)) {
            return Err(format!("{request} within {budget}\n  {name}: {other}\n  memory: {first}\n"));
        }
        let data = &first["data"];
        let rows = ["items", "rows", "edges"].into_iter().find_map(|name| data[name].as_array()).unwrap().clone();
        let has_more = data["pageInfo"][more] == true;
        if rows.is_empty() && has_more {
            return Err(format!("{request} within {budget} makes no progress"));
        }
        if forwards {
            seen.extend(rows)
        } else {
            drop(seen.splice(0..0, rows))
        }
        if !has_more {
            return Ok(seen);
        }
    }
}

#[test]
fn r_ext_3_pages_within_a_budget_lose_and_repeat_nothing() {
    let lengths = prop_oneof![4 => 0..200_usize, 2 => 200..2_000_usize, 1 => 2_000..20_000_usize];
    let rows = prop::collection::vec((0..3_usize, 0..SENTENCES.len(), lengths), 0..14);
    let budget = prop_oneof![400..800_usize, 800..5_000_usize];
    let request = prop_oneof![
        Just(json!({})),
        Just(json!({ "shape": "table", "fields": ["id", "body"] })),
        Just(json!({ "sort": "-title", "fields": ["id", "kind", "body"] })),
        Just(json!({ "edges": true, "sort": "kind" })),
    ];
    check_law_with(
        40,
        notes(),
        &(rows, budget, request, any::<bool>()),
        async |engines, (rows, budget, request, forwards)| {
            let rows: Vec<Value> = (1..).zip(rows).map(|(id, row)| note(id, row)).collect();
            engines.fill("notes", &rows).await;
            let mut all = request.clone();
            all["first"] = 100.into();
            // Without the long texts, which would make it end at the byte limit of a page.
            all["fields"] = json!(["id", "kind"]);
            let whole = engines.agreed_answer("list_notes", &all).await.map_err(|report| with_rows(&report, &rows))?;
            let whole = ["items", "rows", "edges"].into_iter().find_map(|name| whole["data"][name].as_array()).unwrap();
            let seen = walk(engines, &request, budget, forwards).await.map_err(|report| with_rows(&report, &rows))?;
            let parts = |row: &Value| match row {
                Value::Array(cells) => (cells[0].clone(), cells[1].clone()),
                row => {
                    let row = row.get("node").unwrap_or(row);
                    (row["id"].clone(), row["body"].clone())
                }
            };
            for (shown, expected) in seen.iter().zip(whole) {
                let ((id, body), (expected, _)) = (parts(shown), parts(expected));
                let whole = rows.iter().find(|row| row["id"] == id).unwrap()["body"].as_str().unwrap();
                let is_shown = body.as_str().is_some_and(|body| is_shown_of(body, whole));
                if id != expected || !is_shown {
                    return Err(format!("{request} within {budget}: {shown} instead of {expected}"));
                }
            }
            if seen.len() != rows.len() {
                return Err(format!("{request} within {budget}: {} of {} rows", seen.len(), rows.len()));
            }
            Ok(())
        },
    );
}

#[tokio::test]
async fn r_ext_3_the_answer_says_first_what_was_cut() {
    let engines = notes().await;
    let rows: Vec<Value> = (1..=3).map(|id| note(id, (id, 0, 9_000))).collect();
    engines.fill("notes", &rows).await;
    for participant in &engines.participants {
        let answer = participant.ask("list_notes", &json!({ "max_tokens": 400 })).await;
        let names: Vec<&String> = answer.as_object().unwrap().keys().collect();
        assert_eq!(names, ["success", "warnings", "data"], "{}", participant.name);
        let warnings = answer["warnings"].as_array().unwrap();
        assert_eq!(warnings[0]["code"], "RESULT_SHORTENED", "{answer}");
        assert_eq!(warnings[0]["details"]["cut"][0]["field"], "body");
        assert_eq!(warnings[0]["details"]["cut"][0]["of"], 9_000);
        assert_eq!(warnings[1]["code"], "RESULT_PAGED");
        assert_eq!(answer["data"]["items"][0]["title"], "Note 1", "short values stay whole");
        let one = participant.ask("get_note", &json!({ "id": 2, "max_tokens": 400 })).await;
        assert_eq!(one["warnings"][0]["code"], "RESULT_SHORTENED", "{one}");
        assert_eq!(one["data"]["id"], 2);
        assert!(is_shown_of(one["data"]["body"].as_str().unwrap(), rows[1]["body"].as_str().unwrap()), "{one}");
        assert!(tokens(&one) <= 420, "{one}");
        let whole = participant.ask("get_note", &json!({ "id": 2, "max_tokens": 20_000 })).await;
        assert!(whole.get("warnings").is_none(), "{whole}");
        assert_eq!(whole["data"]["body"], rows[1]["body"]);
    }
}

#[tokio::test]
async fn r_ext_3_groups_end_early_and_continue_by_offset() {
    let engines = notes().await;
    let rows: Vec<Value> = (1..=90).map(|id| note(id, (id, 0, 5))).collect();
    engines.fill("notes", &rows).await;
    for shape in ["items", "table"] {
        let mut seen = Vec::new();
        let mut offset = 0;
        loop {
            let by = json!({ "group_by": ["kind", "title"], "count": true, "offset": offset });
            let params = json!({ "aggregate": { "by": by }, "shape": shape, "max_tokens": 400 });
            let answer = engines.ask("list_notes", &params).await;
            let text = engines.participants[0].ask("list_notes", &params).await;
            assert!(tokens(&text) <= 420, "{text}");
            let by = &answer["data"]["aggregations"]["by"];
            let groups: Vec<String> = match by["rows"].as_array() {
                Some(rows) => {
                    assert_eq!(by["columns"], json!(["kind", "title", "count"]));
                    rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect()
                }
                None => by.as_object().unwrap().keys().cloned().collect(),
            };
            assert!(!groups.is_empty());
            seen.extend(groups);
            match answer["data"]["groups"]["by"]["next_offset"].as_u64() {
                Some(next) => offset = next,
                None => break,
            }
        }
        let mut expected: Vec<String> = (1..=90).map(|id| format!("kind {id}")).collect();
        expected.sort();
        assert_eq!(seen, expected, "{shape}");
    }
}

#[tokio::test]
async fn r_ext_3_budgets_out_of_range_are_refused() {
    let engines = notes().await;
    for (value, code) in [
        (json!(0), "VALIDATION_INVALID_VALUE"),
        (json!(-5), "VALIDATION_INVALID_VALUE"),
        (json!(199), "VALIDATION_INVALID_VALUE"),
        (json!(1_000_001), "VALIDATION_INVALID_VALUE"),
        (json!("many"), "VALIDATION_INVALID_TYPE"),
        (json!(300.5), "VALIDATION_INVALID_TYPE"),
    ] {
        for (operation, params) in [("list_notes", json!({})), ("get_note", json!({ "id": 1 }))] {
            let mut params = params.clone();
            params["max_tokens"] = value.clone();
            for participant in &engines.participants {
                let answer = participant.ask(operation, &params).await;
                assert_eq!(answer["error"]["code"], code, "{answer}");
                assert!(answer["error"]["message"].as_str().unwrap().contains("max_tokens"), "{answer}");
            }
        }
    }
}

#[tokio::test]
async fn r_col_6_groups_follow_sort_and_first_beside_the_aggregate() {
    let engines = notes().await;
    let kinds = [(1, "b"), (2, "a"), (3, "b"), (4, "c"), (5, "b"), (6, "a")];
    let mut rows: Vec<Value> =
        kinds.iter().map(|(id, kind)| json!({ "id": id, "kind": kind, "title": "x", "body": "" })).collect();
    rows.push(json!({ "id": 7, "kind": null, "title": "x", "body": "" }));
    engines.fill("notes", &rows).await;
    let by = |more: Value| {
        let mut params = json!({ "aggregate": { "n": { "group_by": "kind", "count": true } }, "shape": "table" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    for (more, expected) in [
        (json!({ "first": 0 }), json!([["a", 2], ["b", 3], ["c", 1], [null, 1]])),
        (json!({ "first": 2, "sort": "-count" }), json!([["b", 3], ["a", 2]])),
        (json!({ "first": 2, "order": "desc" }), json!([["b", 3], ["a", 2]])),
        (json!({ "limit": 1, "offset": 1, "sort": { "field": "n", "order": "desc" } }), json!([["a", 2]])),
        (json!({ "sort": "-kind" }), json!([["c", 1], ["b", 3], ["a", 2], [null, 1]])),
        (json!({ "sort": "kind", "first": 1 }), json!([["a", 2]])),
    ] {
        let answer = engines.ask("list_notes", &by(more.clone())).await;
        assert_eq!(answer["data"]["aggregations"]["n"]["rows"], expected, "{more}");
        assert!(answer.get("warnings").is_none(), "{more}: {answer}");
    }
    let answer =
        engines.ask("list_notes", &json!({ "aggregate": { "n": { "count": true } }, "first": 5, "sort": "-id" })).await;
    assert_eq!(
        (&answer["data"], &answer["warnings"]),
        (&json!({ "aggregations": { "n": 7 } }), &json!(["PARAMETER_NOT_APPLIED"]))
    );
}
