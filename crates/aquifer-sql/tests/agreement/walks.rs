//! Pagination visits every row exactly once, in the same order on all engines, even during concurrent changes.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::cases;
use crate::engines::{EngineSet, Participant, comparable, same};
use crate::grains;
use crate::properties::{check_law, with_rows};
use crate::shop::shop_without;
use crate::tables::{StorageFormat, TimeFormat};

/// A walk on all engines at once, each with its own cursors.
struct Walk<'b> {
    engines: &'b EngineSet,
    operation: &'b str,
    params: Value,
    forwards: bool,
    cursors: Vec<Value>,
    more: bool,
}

impl<'b> Walk<'b> {
    fn new(engines: &'b EngineSet, operation: &'b str, params: &Value, size: usize, forwards: bool) -> Self {
        let mut params = params.clone();
        params[if forwards { "first" } else { "last" }] = size.into();
        Self {
            engines,
            operation,
            params,
            forwards,
            cursors: vec![Value::Null; engines.participants.len()],
            more: true,
        }
    }

    /// The next page of each engine.
    async fn step(&mut self) -> Vec<(&'b Participant, Value)> {
        let mut pages = Vec::new();
        for (participant, cursor) in self.engines.participants.iter().zip(&mut self.cursors) {
            let mut params = self.params.clone();
            if !cursor.is_null() {
                params[if self.forwards { "after" } else { "before" }] = cursor.clone();
            }
            let answer = participant.ask(self.operation, &params).await;
            assert_eq!(answer["success"], true, "{}: {} {params}: {answer}", participant.name, self.operation);
            let info = &answer["data"]["pageInfo"];
            *cursor = info[if self.forwards { "endCursor" } else { "startCursor" }].clone();
            self.more = info[if self.forwards { "hasNextPage" } else { "hasPreviousPage" }] == true;
            pages.push((participant, comparable(answer)["data"].clone()));
        }
        pages
    }

    /// The next page, which must be the same on all engines.
    async fn step_together(&mut self) -> Result<Vec<Value>, String> {
        let pages = self.step().await;
        let (_, first) = &pages[0];
        if pages.iter().any(|(_, page)| !same(first, page)) {
            let report: Vec<String> =
                pages.iter().map(|(participant, page)| format!("{:>12}: {page}\n", participant.name)).collect();
            return Err(format!("{} {}\n{}", self.operation, self.params, report.concat()));
        }
        Ok(first["items"].as_array().unwrap().clone())
    }

    async fn rest(mut self) -> Result<Vec<Value>, String> {
        let mut seen: Vec<Value> = Vec::new();
        while self.more {
            let page = self.step_together().await?;
            if self.forwards {
                seen.extend(page);
            } else {
                seen.splice(0..0, page);
            }
            if seen.len() > 1_000 {
                return Err(format!("{} {} does not end", self.operation, self.params));
            }
        }
        Ok(seen)
    }
}

/// Both directions visit the same rows as one page.
pub(crate) async fn check_walk_visits_all(
    engines: &EngineSet,
    operation: &str,
    params: &Value,
    size: usize,
) -> Result<(), String> {
    let mut whole = params.clone();
    whole["limit"] = 100.into();
    let answer = engines.agreed_answer(operation, &whole).await?;
    let whole = answer["data"]["items"].as_array().ok_or_else(|| format!("{operation} {whole}: {answer}"))?.clone();
    for forwards in [true, false] {
        let seen = Walk::new(engines, operation, params, size, forwards).rest().await?;
        if !same(&json!(seen), &json!(whole)) {
            let seen = json!(seen);
            return Err(format!(
                "{operation} {params} in pages of {size}, forwards: {forwards}\n  at once: {}\n  in pages: {seen}\n",
                json!(whole)
            ));
        }
    }
    Ok(())
}

#[test]
fn r_col_8_walks_over_a_plain_key() {
    let cases = (
        grains::grains(30),
        grains::sort(&grains::SORTABLE),
        prop::option::weighted(0.3, grains::filter()),
        1..7_usize,
    );
    check_law(60, &cases, async |engines, (rows, sort, filter, size)| {
        engines.fill("grains", &rows).await;
        let params = json!({ "sort": sort, "filter": filter.unwrap_or(json!({})), "fields": ["id"] });
        check_walk_visits_all(engines, "list_grains", &params, size).await.map_err(|report| with_rows(&report, &rows))
    });
}

#[test]
fn r_col_8_walks_over_a_key_of_two_columns() {
    let cases = (grains::pairs(16), grains::sort(&["l", "r", "v", "w"]), 1..5_usize);
    check_law(30, &cases, async |engines, (rows, sort, size)| {
        engines.fill("pairs", &rows).await;
        let params = json!({ "sort": sort, "fields": ["l", "r"] });
        check_walk_visits_all(engines, "list_pairs", &params, size).await.map_err(|report| with_rows(&report, &rows))
    });
}

#[test]
fn r_col_8_walks_without_a_key() {
    let cases = (grains::bags(20), grains::sort(&["v", "w"]), 1..5_usize);
    check_law(30, &cases, async |engines, (rows, sort, size)| {
        engines.fill("bags", &rows).await;
        let params = json!({ "sort": sort, "fields": ["name"] });
        check_walk_visits_all(engines, "list_bags", &params, size).await.map_err(|report| with_rows(&report, &rows))
    });
}

#[test]
fn r_col_2_r_col_8_walks_from_the_best_match() {
    let cases = (grains::grains(25), grains::query(), 1..5_usize);
    check_law(20, &cases, async |engines, (rows, query, size)| {
        engines.fill("grains", &rows).await;
        let params = json!({ "query": format!("{query} a é"), "fields": ["id"] });
        check_walk_visits_all(engines, "search_grains", &params, size).await.map_err(|report| with_rows(&report, &rows))
    });
}

#[test]
fn r_col_7_r_col_8_every_edge_cursor_resumes_the_walk() {
    let cases = (grains::grains(15), grains::sort(&grains::SORTABLE), any::<bool>());
    check_law(12, &cases, async |engines, (rows, sort, forwards)| {
        engines.fill("grains", &rows).await;
        for participant in &engines.participants {
            let params = json!({ "sort": sort, "fields": ["id"], "edges": true, "first": 100 });
            let answer = participant.ask("list_grains", &params).await;
            let edges = answer["data"]["edges"].as_array().unwrap().clone();
            let ids: Vec<&Value> = edges.iter().map(|edge| &edge["node"]["id"]).collect();
            for (index, edge) in edges.iter().enumerate() {
                let mut params = json!({ "sort": sort, "fields": ["id"] });
                let (size, place) = if forwards { ("first", "after") } else { ("last", "before") };
                params[size] = 100.into();
                params[place] = edge["cursor"].clone();
                let rest = participant.ask("list_grains", &params).await["data"]["items"].clone();
                let rest: Vec<&Value> = rest.as_array().unwrap().iter().map(|item| &item["id"]).collect();
                let expected = if forwards { &ids[index + 1..] } else { &ids[..index] };
                if rest != expected {
                    return Err(format!("{}: {params} after {index} of {ids:?}: {rest:?}", participant.name));
                }
            }
        }
        Ok(())
    });
}

/// Changes between two pages.
#[derive(Debug, Clone)]
struct Changes {
    /// Indexes of rows to delete, one after each page.
    gone: Vec<usize>,
    /// Rows to insert, one after each page.
    come: Vec<Value>,
}

/// Walks during changes. Rows that exist all the time are seen exactly once.
async fn check_walk_during_changes(
    engines: &EngineSet,
    (table, key, name): (&str, &str, fn(&Value) -> String),
    rows: &[Value],
    changes: &Changes,
    walk: (&Value, usize, bool),
    together: bool,
) -> Result<(), String> {
    engines.fill(table, rows).await;
    let (sort, size, forwards) = walk;
    let fields: Vec<&str> = key.split(',').collect();
    let params = json!({ "sort": sort, "fields": fields });
    let operation = format!("list_{table}");
    let mut walk = Walk::new(engines, &operation, &params, size, forwards);
    let mut present = rows.to_vec();
    let mut seen: Vec<(&str, String)> = Vec::new();
    for round in 0..60 {
        let pages = walk.step().await;
        if together && pages.iter().any(|(_, page)| !same(&pages[0].1, page)) {
            let report: Vec<String> =
                pages.iter().map(|(participant, page)| format!("{:>12}: {page}\n", participant.name)).collect();
            return Err(format!("{params} {changes:?}\n{}", report.concat()));
        }
        for (participant, page) in &pages {
            seen.extend(page["items"].as_array().unwrap().iter().map(|item| (participant.name, name(item))));
        }
        let more = walk.more;
        if !more {
            break;
        }
        let leaves = changes.gone.get(round).and_then(|index| rows.get(*index));
        let comes = changes.come.get(round);
        present.retain(|row| leaves.is_none_or(|gone| name(row) != name(gone)));
        present.extend(comes.cloned());
        let delete = match leaves {
            Some(gone) => format!("DELETE FROM {table} WHERE {}", name(gone)),
            None => format!("DELETE FROM {table} WHERE 1 = 0"),
        };
        engines.change(table, &delete, comes.map(std::slice::from_ref).unwrap_or_default(), &present).await;
    }
    for participant in &engines.participants {
        for row in rows {
            let times = seen.iter().filter(|(who, one)| *who == participant.name && *one == name(row)).count();
            let stayed = present.iter().any(|one| name(one) == name(row));
            if times > 1 || (stayed && times == 0) {
                return Err(format!("{}: {row} was seen {times} times. {params} {changes:?}", participant.name));
            }
        }
    }
    Ok(())
}

fn changes(come: impl Strategy<Value = Vec<Value>>) -> impl Strategy<Value = Changes> {
    let gone = prop::collection::vec(0..25_usize, 0..12);
    (gone, come).prop_map(|(gone, come)| Changes { gone, come })
}

#[test]
fn r_col_8_unchanged_rows_are_seen_once_during_concurrent_changes() {
    let come = grains::grains(12).prop_map(|rows| {
        let number = |(index, mut row): (usize, Value)| {
            let index = i64::try_from(index).unwrap();
            row["id"] = json!(if index % 2 == 0 { 500 - index } else { -index });
            row
        };
        rows.into_iter().enumerate().map(number).collect()
    });
    let walk = (grains::sort(&grains::SORTABLE), 1..5_usize, any::<bool>());
    let cases = (grains::grains(25), changes(come), walk);
    check_law(30, &cases, async |engines, (rows, changes, (sort, size, forwards))| {
        let key: (_, _, fn(&Value) -> String) = ("grains", "id", |row| format!("id = {}", row["id"]));
        check_walk_during_changes(engines, key, &rows, &changes, (&sort, size, forwards), true)
            .await
            .map_err(|report| with_rows(&report, &rows))
    });
}

#[test]
fn r_col_8_unchanged_rows_are_seen_once_in_any_table() {
    let come = grains::bags(8).prop_map(|rows| {
        let number = |(index, mut row): (usize, Value)| {
            row["(row)"] = json!(100 + index);
            row["name"] = json!(format!("new {index}"));
            row
        };
        rows.into_iter().enumerate().map(number).collect()
    });
    let more = (-9_i64..9, select(&["x", "y"][..])).prop_map(|(r, w)| json!({ "l": "new", "r": r, "v": r, "w": w }));
    let more = prop::collection::vec(more, 0..8).prop_map(|mut rows| {
        rows.sort_by_key(|row| row["r"].as_i64());
        rows.dedup_by_key(|row| row["r"].as_i64());
        rows
    });
    let walk = (1..4_usize, any::<bool>());
    let bags = (grains::bags(20), changes(come), grains::sort(&["v", "w"]));
    let pairs = (grains::pairs(16), changes(more), grains::sort(&["l", "r", "v", "w"]));
    check_law(20, &(bags, pairs, walk), async |engines, (bags, pairs, (size, forwards))| {
        let (rows, changes, sort) = bags;
        let key: (_, _, fn(&Value) -> String) =
            ("bags", "name", |row| format!("name = '{}'", row["name"].as_str().unwrap()));
        // The row number of a deleted row may be reused, so the position of new rows differs between engines.
        check_walk_during_changes(engines, key, &rows, &changes, (&sort, size, forwards), false)
            .await
            .map_err(|report| with_rows(&report, &rows))?;
        let (rows, changes, sort) = pairs;
        let key: (_, _, fn(&Value) -> String) =
            ("pairs", "l,r", |row| format!("l = '{}' AND r = {}", row["l"].as_str().unwrap(), row["r"]));
        check_walk_during_changes(engines, key, &rows, &changes, (&sort, size, forwards), true)
            .await
            .map_err(|report| with_rows(&report, &rows))
    });
}

/// Every order of the cases, in every time format of SQLite.
#[tokio::test]
async fn r_col_4_r_col_8_r_col_9_walks_in_every_order_and_form() {
    for times in TimeFormat::ALL {
        let without: &[&str] = if times == TimeFormat::Mixed { &[] } else { &["postgres"] };
        let engines = shop_without(StorageFormat { times, binary_json: true }, without).await;
        for (sort, _) in cases::sorts() {
            let about_time = ["created_at", "age_days"].iter().any(|name| sort.to_string().contains(name));
            if about_time || times == TimeFormat::Mixed {
                let params = json!({ "sort": sort, "fields": ["id"] });
                check_walk_visits_all(&engines, "list_things", &params, 3)
                    .await
                    .unwrap_or_else(|report| panic!("{times:?}\n{report}"));
            }
        }
    }
}
