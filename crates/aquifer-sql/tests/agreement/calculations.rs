//! Calculations with the numbers of a row (R-EXT-3).

use serde_json::{Value, json};

use crate::engines::{EngineSet, comparable};
use crate::related::{farm, rows};
use crate::tables::StorageFormat;

/// A calculation for a row, as somebody would write it in Rust.
type ByHand = fn(&Value) -> Option<f64>;

fn number(row: &Value, pointer: &str) -> Option<f64> {
    row.pointer(pointer).and_then(Value::as_f64)
}

fn cases() -> Vec<(&'static str, ByHand)> {
    vec![
        ("cost * n", |row| Some(number(row, "/cost")? * number(row, "/n")?)),
        ("cost*n*(1 - 0.15)", |row| Some(number(row, "/cost")? * number(row, "/n")? * (1.0 - 0.15))),
        ("cost - weight", |row| Some(number(row, "/cost")? - number(row, "/weight")?)),
        ("cost-weight-1", |row| Some(number(row, "/cost")? - number(row, "/weight")? - 1.0)),
        ("cost - (weight - 1)", |row| Some(number(row, "/cost")? - (number(row, "/weight")? - 1.0))),
        ("1 + 2 * n", |row| Some(1.0 + 2.0 * number(row, "/n")?)),
        ("n / 2", |row| Some(number(row, "/n")? / 2.0)),
        ("-n * 3", |row| Some(-number(row, "/n")? * 3.0)),
        ("cost / (n - n)", |_| None),
        ("cost / n", |row| {
            let n = number(row, "/n")?;
            Some(number(row, "/cost")? / if n == 0.0 { return None } else { n })
        }),
        ("site.n * host.rate", |row| Some(number(row, "/site/n")? * number(row, "/host/rate")?)),
        ("host.manager.rate + cost", |row| Some(number(row, "/host/manager/rate")? + number(row, "/cost")?)),
        ("site.meta.floor * 2", |row| {
            let floor = row.pointer("/site/meta/floor").filter(|floor| floor.is_number())?;
            Some(floor.as_f64()? * 2.0)
        }),
        ("_computed.doubled + n", |row| Some(number(row, "/_computed/doubled")? + number(row, "/n")?)),
        ("site._computed.visits_count * 10", |row| Some(number(row, "/site/_computed/visits_count")? * 10.0)),
    ]
}

fn visits() -> Vec<Value> {
    rows().nested().into_iter().find(|(table, _)| *table == "visits").unwrap().1
}

/// The result as an answer shows it: 15 digits, integers without a fraction.
fn shown(result: f64) -> Value {
    let digits: f64 = format!("{result:.14e}").parse().unwrap();
    if digits.fract() == 0.0 { json!(digits as i64) } else { json!(digits) }
}

async fn check(engines: &EngineSet, params: &Value, expected: &Value, wrong: &mut Vec<String>) {
    for participant in &engines.participants {
        let answer = comparable(participant.ask("list_visits", params).await);
        if answer["data"] != *expected {
            wrong.push(format!("{} {params}\n  expected {expected}\n  received {answer}", participant.name));
        }
    }
}

#[tokio::test]
async fn r_ext_3_aggregates_of_calculations_equal_those_by_hand() {
    let engines = farm(StorageFormat::default(), &[]).await;
    let (visits, mut wrong) = (visits(), Vec::new());
    for (calculation, by_hand) in cases() {
        let results: Vec<f64> = visits.iter().filter_map(by_hand).collect();
        let value = |result: Option<f64>| result.map_or(Value::Null, shown);
        let sum = (!results.is_empty()).then(|| results.iter().sum::<f64>());
        let expected = json!({ "aggregations": { "x": {
            "sum": value(sum),
            "avg": value(sum.map(|sum| sum / results.len() as f64)),
            "min": value(results.iter().copied().reduce(f64::min)),
            "max": value(results.iter().copied().reduce(f64::max)),
        } } });
        let functions = json!({ "sum": calculation, "avg": calculation, "min": calculation, "max": calculation });
        check(&engines, &json!({ "aggregate": { "x": functions } }), &expected, &mut wrong).await;
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn r_ext_3_groups_are_ordered_and_chosen_by_calculations() {
    let engines = farm(StorageFormat::default(), &[]).await;
    let mut sums: Vec<(Option<String>, f64)> = Vec::new();
    for visit in visits() {
        let name = visit.pointer("/site/name").and_then(Value::as_str).map(str::to_owned);
        let Some(result) = number(&visit, "/cost").zip(number(&visit, "/n")).map(|(cost, n)| cost * n) else {
            continue;
        };
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += result,
            None => sums.push((name, result)),
        }
    }
    sums.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let (best, most) = sums[0].clone();
    let least = sums.last().unwrap().1;
    assert!(most > least, "nothing to order");
    let by = |more: Value| {
        let mut aggregate = json!({ "group_by": "site.name", "sum": "cost * n", "order": "desc" });
        aggregate.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "aggregate": { "x": aggregate } })
    };
    for participant in &engines.participants {
        let answer = participant.ask("list_visits", &by(json!({ "first": 1 }))).await;
        let group = best.clone().unwrap_or_else(|| "null".to_owned());
        assert_eq!(answer["data"]["aggregations"]["x"], json!({ group: shown(most) }), "{}", participant.name);
        let answer = participant.ask("list_visits", &by(json!({ "having": { "gt": least } }))).await;
        let above = sums.iter().filter(|(_, sum)| *sum > least).count();
        assert_eq!(answer["data"]["aggregations"]["x"].as_object().unwrap().len(), above, "{}", participant.name);
    }
}

#[tokio::test]
async fn r_ext_3_fields_are_compared_with_calculations() {
    let engines = farm(StorageFormat::default(), &[]).await;
    let (visits, mut wrong, mut matching) = (visits(), Vec::new(), 0);
    for (calculation, by_hand) in cases() {
        for (operator, holds) in [
            ("lt", (|a, b| a < b) as fn(f64, f64) -> bool),
            ("gte", |a, b| a >= b),
            ("eq", |a, b| a == b),
            ("ne", |a, b| a != b),
        ] {
            let matches = |row: &&Value| number(row, "/cost").zip(by_hand(row)).is_some_and(|(a, b)| holds(a, b));
            let items: Vec<Value> = visits.iter().filter(matches).map(|row| json!({ "id": row["id"] })).collect();
            matching += items.len();
            let filter = json!({ "cost": { operator: { "field": calculation } } });
            let expected = json!({ "items": items, "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } });
            check(&engines, &json!({ "filter": filter, "fields": ["id"] }), &expected, &mut wrong).await;
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(matching > 20, "the rows are no test");
}

#[tokio::test]
async fn r_ext_3_refused_calculations_say_what_to_write() {
    let engines = farm(StorageFormat::default(), &[]).await;
    let deep = format!("{}n{}", "(".repeat(40), ")".repeat(40));
    let long = vec!["n"; 60].join(" + ");
    let minus = format!("{}n * 1", "-".repeat(60));
    for (calculation, expected) in [
        ("cost * nn", "nn"),
        ("cost * name", "type string"),
        ("cost * created_at", "created_at"),
        ("cost *", "ends too early"),
        ("(cost * n", "closing parenthesis"),
        ("cost * n)", "unexpected ')'"),
        ("cost ** n", "unexpected '*'"),
        ("cost * n; DROP TABLE visits", "an unexpected"),
        ("cost * 'x'", "an unexpected"),
        ("cost * 1.2.3", "not a number"),
        ("cost * 1e999", "not a number"),
        ("abs(cost)", "abs"),
        (deep.as_str(), "levels deep"),
        (minus.as_str(), "levels deep"),
        (long.as_str(), "operations"),
    ] {
        let answer =
            engines.participants[0].ask("list_visits", &json!({ "aggregate": { "x": { "sum": calculation } } })).await;
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(expected), "{calculation}: {answer}");
    }
    let answer = engines.participants[0]
        .ask("list_visits", &json!({ "aggregate": { "x": { "count_distinct": "n * 2" } } }))
        .await;
    assert!(answer["error"]["message"].as_str().unwrap_or_default().contains("not the results"), "{answer}");
    let answer = engines.participants[0]
        .ask("list_visits", &json!({ "filter": { "name": { "eq": { "field": "n * 2" } } } }))
        .await;
    assert!(answer["error"]["message"].as_str().unwrap_or_default().contains("with a calculation"), "{answer}");
}
