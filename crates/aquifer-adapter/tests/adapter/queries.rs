//! Collections that execute queries themselves.

use std::sync::atomic::{AtomicUsize, Ordering};

use aquifer_adapter::plan::Plan;
use aquifer_adapter::{Answer, Collection, Items, Page, Query, Scan, adapter};
use aquifer_query::budget::estimate_value;
use serde_json::{Value, json};

use crate::{call, open_engine};

/// A number.
#[derive(Clone, serde::Serialize, schemars::JsonSchema)]
struct Number {
    id: u64,
    parity: &'static str,
}

fn number(id: u64) -> Number {
    Number { id, parity: if id.is_multiple_of(2) { "even" } else { "odd" } }
}

/// A thousand numbers, and how many of them were read.
#[derive(Default)]
struct Numbers {
    is_sorted: bool,
    read: AtomicUsize,
}

const ALL: std::ops::RangeInclusive<u64> = 1..=1_000;

impl Collection for Numbers {
    type Item = Number;

    async fn scan<'a>(&'a self, plan: &'a Plan) -> Answer<Scan<'a, Number>> {
        let items = ALL.map(|id| {
            self.read.fetch_add(1, Ordering::Relaxed);
            number(id)
        });
        Ok(if self.is_sorted && plan.sort.is_empty() { Scan::new(items).sorted() } else { Scan::new(items) })
    }
}

#[adapter]
impl Numbers {
    /// List numbers, asked of the collection.
    #[operation]
    async fn list_numbers(&self, query: Query<Number>) -> Answer<Page<Number>> {
        query.run(self).await
    }

    /// List numbers, all of them for the engine.
    #[operation]
    async fn list_all(&self) -> Answer<Items<Number>> {
        Ok(ALL.map(number).collect())
    }
}

#[tokio::test]
async fn r_col_1_a_collection_answers_like_the_engine() {
    for is_sorted in [false, true] {
        let numbers = open_engine(Numbers { is_sorted, ..Numbers::default() });
        for query in [
            json!({}),
            json!({ "first": 3 }),
            json!({ "filter": { "parity": "even" }, "first": 4 }),
            json!({ "sort": "-id", "first": 2, "total": true }),
            json!({ "limit": 5, "offset": 990 }),
            json!({ "page": 3, "page_size": 10, "filter": { "id": { "gte": 500 } } }),
            json!({ "last": 2 }),
            json!({ "aggregate": { "n": { "count": true, "group_by": "parity" }, "s": { "sum": "id" } } }),
            json!({ "filter": { "id": { "in": [] } } }),
            json!({ "fields": ["nothing"] }),
        ] {
            let mut pushed = call(&numbers, "list_numbers", query.clone()).await;
            let mut whole = call(&numbers, "list_all", query.clone()).await;
            for answer in [&mut pushed, &mut whole] {
                // Cursors are sealed with different keys.
                if let Some(page) = answer.pointer_mut("/data/pageInfo").and_then(Value::as_object_mut) {
                    assert!(page.remove("endCursor").is_some() || answer["data"]["items"] == json!([]));
                    let page = answer.pointer_mut("/data/pageInfo").and_then(Value::as_object_mut).unwrap();
                    page.remove("startCursor");
                }
            }
            assert_eq!(pushed["data"], whole["data"], "{query}");
            assert_eq!(pushed["error"]["code"], whole["error"]["code"], "{query}");
        }
    }
}

#[tokio::test]
async fn r_col_7_every_item_is_on_exactly_one_page_in_both_directions() {
    let numbers = open_engine(Numbers { is_sorted: true, ..Numbers::default() });
    for (size, cursor, key, next) in
        [("first", "after", "endCursor", "hasNextPage"), ("last", "before", "startCursor", "hasPreviousPage")]
    {
        let (mut seen, mut params) = (Vec::new(), json!({ size: 99, "filter": { "parity": "odd" } }));
        loop {
            let page = call(&numbers, "list_numbers", params.clone()).await;
            let ids = page["data"]["items"].as_array().unwrap_or_else(|| panic!("{page}")).iter();
            seen.extend(ids.map(|item| item["id"].as_u64().unwrap()));
            if page["data"]["pageInfo"][next] == false {
                break;
            }
            params[cursor] = page["data"]["pageInfo"][key].clone();
        }
        seen.sort_unstable();
        assert_eq!(seen, ALL.filter(|id| id % 2 == 1).collect::<Vec<u64>>(), "{size}");
    }
}

#[tokio::test]
async fn reading_stops_when_a_page_is_full() {
    static NUMBERS: Numbers = Numbers { is_sorted: true, read: AtomicUsize::new(0) };
    struct Shared;
    #[adapter]
    impl Shared {
        /// List numbers.
        #[operation]
        async fn list_numbers(&self, query: Query<Number>) -> Answer<Page<Number>> {
            query.run(&NUMBERS).await
        }
    }
    let engine = open_engine(Shared);
    call(&engine, "list_numbers", json!({ "first": 10 })).await;
    assert_eq!(NUMBERS.read.swap(0, Ordering::Relaxed), 11, "the page, and one to know whether there are more");
    call(&engine, "list_numbers", json!({ "first": 10, "total": true })).await;
    assert_eq!(NUMBERS.read.load(Ordering::Relaxed), 1_000, "a total needs all");
}

#[tokio::test]
async fn r_ext_3_pages_of_a_collection_end_within_the_budget() {
    for is_sorted in [false, true] {
        let numbers = open_engine(Numbers { is_sorted, ..Numbers::default() });
        let (mut params, mut seen) = (json!({ "max_tokens": 400, "first": 100 }), Vec::new());
        while seen.len() < 300 {
            let page = call(&numbers, "list_numbers", params.clone()).await;
            assert!(estimate_value(&page) <= 400, "{page}");
            assert_eq!(page["warnings"][0]["code"], "RESULT_PAGED", "{page}");
            seen.extend(page["data"]["items"].as_array().unwrap().clone());
            params["after"] = page["data"]["pageInfo"]["endCursor"].clone();
        }
        let expected: Vec<Value> =
            ALL.map(|id| json!({ "id": id, "parity": number(id).parity })).take(seen.len()).collect();
        assert_eq!(seen, expected, "nothing is lost or repeated");
    }
}
