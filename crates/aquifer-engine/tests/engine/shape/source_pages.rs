//! Lists that their source returns page by page: when further pages are fetched, and what callers see of it.

use aquifer_protocol::error::{Code, Failure};

use super::*;

/// A source with numbered rows, at most ten on a page.
struct Pages {
    rows: usize,
    /// The offset of the page that cannot be fetched.
    broken: Option<usize>,
    /// Whether every page leads to itself.
    is_circular: bool,
    calls: Mutex<Vec<(usize, Option<usize>)>>,
}

impl Pages {
    fn new(rows: usize) -> Arc<Self> {
        Arc::new(Self { rows, broken: None, is_circular: false, calls: Mutex::default() })
    }

    /// The offsets of the pages that were fetched since the last time.
    fn fetched(&self) -> Vec<usize> {
        std::mem::take(&mut *self.calls.lock()).into_iter().map(|(offset, _)| offset).collect()
    }
}

impl Source for Pages {
    fn name(&self) -> &str {
        "pages"
    }

    fn offering(&self) -> Offering {
        let mut read = Operation::new("list_issues", Category::Read, "Lists issues.");
        read.origin.native = false;
        read.parameters = vec![Parameter::optional("state", Schema::string())];
        shape::add_controls(&mut read, &super::rows_at(None), Controls::All);
        read.capabilities.shaping.as_mut().unwrap().is_paged = true;
        Offering { operations: vec![read], ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        assert_eq!(call.params, *json!({ "state": "open" }).as_object().unwrap(), "every page has the same parameters");
        let offset = call.page.resume.and_then(|resume| resume["offset"].as_u64()).unwrap_or(0) as usize;
        self.calls.lock().push((offset, call.page.rows));
        if self.broken == Some(offset) {
            let failure = Failure::new(Code::NotFoundResource, "This page cannot be fetched");
            return std::future::ready(Outcome::Failed(failure)).boxed();
        }
        let end = (offset + call.page.rows.unwrap_or(10).clamp(1, 10)).min(self.rows);
        let rows: Vec<Value> = (offset..end).map(|number| json!({ "number": number })).collect();
        let next = if self.is_circular { offset } else { end };
        let next_page = (end < self.rows).then(|| Box::new(json!({ "offset": next })));
        let answer = Answer { next_page, ..Answer::new(json!({ "items": rows, "total": self.rows })) };
        std::future::ready(Outcome::Done(answer)).boxed()
    }
}

fn engine(pages: &Arc<Pages>) -> Engine {
    Engine::builder(surface()).dangerously_let_everything_pass().source(pages.clone()).build().unwrap()
}

async fn issues_page(engine: &Engine, mut params: Value) -> Value {
    params["state"] = json!("open");
    list(engine, params).await
}

fn numbers(answer: &Value) -> Vec<u64> {
    let items = answer["data"]["items"].as_array().unwrap_or_else(|| panic!("{answer}"));
    items.iter().map(|item| item["number"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn without_controls_one_page_is_fetched_and_says_how_to_go_on() {
    let pages = Pages::new(45);
    let engine = engine(&pages);
    let first = issues_page(&engine, json!({})).await;
    assert_eq!(numbers(&first), (0..10).collect::<Vec<_>>());
    assert_eq!(first["data"]["total"], 45, "values beside the rows are kept");
    assert_eq!(first["data"]["pageInfo"]["hasNextPage"], true);
    assert_eq!(pages.fetched(), [0]);
    let after = first["data"]["pageInfo"]["endCursor"].clone();
    let second = issues_page(&engine, json!({ "first": 10, "after": after })).await;
    assert_eq!(numbers(&second), (10..20).collect::<Vec<_>>(), "{second}");
    assert_eq!(pages.fetched(), [10]);
}

#[tokio::test]
async fn pages_of_any_size_show_every_row_once() {
    for size in [1_usize, 3, 10, 17, 25, 44, 45, 60] {
        let pages = Pages::new(45);
        let engine = engine(&pages);
        let (mut params, mut seen, mut rounds) = (json!({ "first": size }), Vec::new(), 0);
        loop {
            let page = issues_page(&engine, params.clone()).await;
            seen.extend(numbers(&page));
            rounds += 1;
            let info = &page["data"]["pageInfo"];
            if info["hasNextPage"] == false {
                break;
            }
            assert_eq!(numbers(&page).len(), size, "{page}");
            params["after"] = info["endCursor"].clone();
        }
        assert_eq!(seen, (0..45).collect::<Vec<u64>>(), "pages of {size}");
        assert_eq!(rounds, 45_usize.div_ceil(size), "pages of {size}");
        let mut fetched = pages.fetched();
        let all = fetched.len();
        fetched.dedup();
        assert_eq!(fetched.len(), all, "no page is fetched twice");
    }
}

#[tokio::test]
async fn counts_of_the_source_are_not_those_of_filtered_rows() {
    let pages = Pages::new(45);
    let engine = engine(&pages);
    let answer = issues_page(&engine, json!({ "first": 3, "filter": { "number": { "lt": 5 } } })).await;
    assert_eq!(answer["data"].get("total"), None, "{answer}");
    assert_eq!(answer["data"]["_upstream"]["total"], 45, "{answer}");
    let all = issues_page(&engine, json!({ "first": 3 })).await;
    assert_eq!(all["data"]["total"], 45, "{all}");
}

/// A gate that lets two further pages be fetched.
struct TwoPages(std::sync::atomic::AtomicUsize);

impl aquifer_engine::gate::Gate for TwoPages {
    fn decide<'a>(
        &'a self,
        _: &'a aquifer_protocol::validate::Checked,
        _: &'a Context,
    ) -> BoxFuture<'a, aquifer_engine::gate::Decision> {
        std::future::ready(aquifer_engine::gate::Decision::Allow(aquifer_engine::gate::Pass::default())).boxed()
    }

    fn count_page<'a>(&'a self, operation: &'a Operation, _: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        assert_eq!(&*operation.name, "list_issues");
        let count = self.0.fetch_add(1, Ordering::SeqCst);
        let limit = || Failure::new(Code::RateLimitExceeded, "API rate limit exceeded");
        std::future::ready(if count < 2 { Ok(()) } else { Err(limit()) }).boxed()
    }
}

#[tokio::test]
async fn a_limit_of_the_source_ends_a_list_early() {
    for controls in [json!({ "aggregate": { "all": { "sum": "number" } } }), json!({ "first": 40 })] {
        let pages = Pages::new(45);
        let gate = Arc::new(TwoPages(Default::default()));
        let engine = Engine::builder(surface()).gate(gate).source(pages.clone()).build().unwrap();
        let answer = issues_page(&engine, controls).await;
        assert_eq!(pages.fetched(), [0, 10, 20], "{answer}");
        assert_eq!(answer["success"], true, "{answer}");
        let words = answer.to_string();
        assert!(words.contains("RESULT_INCOMPLETE") && words.contains("rate limit"), "{answer}");
    }
}

#[tokio::test]
async fn a_small_page_asks_the_source_for_few_rows() {
    let pages = Pages::new(45);
    let page = issues_page(&engine(&pages), json!({ "first": 3 })).await;
    assert_eq!(numbers(&page), [0, 1, 2]);
    assert_eq!(*pages.calls.lock(), [(0, Some(3))]);
    pages.fetched();
    let filter = json!({ "first": 3, "filter": { "number": { "gte": 0 } } });
    issues_page(&engine(&pages), filter).await;
    assert_eq!(*pages.calls.lock(), [(0, None)], "few rows may match");
}

#[tokio::test]
async fn filters_are_applied_across_pages() {
    let pages = Pages::new(45);
    let engine = engine(&pages);
    let filter = json!({ "number": { "gte": 24 } });
    let answer = issues_page(&engine, json!({ "first": 3, "filter": filter })).await;
    assert_eq!(numbers(&answer), [24, 25, 26]);
    assert_eq!(pages.fetched(), [0, 10, 20], "the rest is not needed yet");
    let after = answer["data"]["pageInfo"]["endCursor"].clone();
    let more = issues_page(&engine, json!({ "first": 30, "filter": filter, "after": after })).await;
    assert_eq!(numbers(&more), (27..45).collect::<Vec<_>>());
    assert_eq!(more["data"]["pageInfo"]["hasNextPage"], false);
    assert_eq!(pages.fetched(), [30, 40]);
}

#[tokio::test]
async fn sums_orders_and_totals_cover_all_pages() {
    let pages = Pages::new(45);
    let engine = engine(&pages);
    let sum = json!({ "aggregate": { "n": { "count": true }, "top": { "max": "number" } } });
    let answer = issues_page(&engine, sum).await;
    assert_eq!(answer["data"]["aggregations"], json!({ "n": 45, "top": 44 }), "{answer}");
    assert_eq!(pages.fetched(), [0, 10, 20, 30, 40]);
    let sorted = issues_page(&engine, json!({ "first": 2, "sort": "-number" })).await;
    assert_eq!(numbers(&sorted), [44, 43]);
    pages.fetched();
    let after = sorted["data"]["pageInfo"]["endCursor"].clone();
    let more = issues_page(&engine, json!({ "first": 2, "sort": "-number", "after": after })).await;
    assert_eq!(numbers(&more), [42, 41]);
    assert!(pages.fetched().is_empty(), "all rows are held");
    let last = issues_page(&engine, json!({ "last": 2 })).await;
    assert_eq!(numbers(&last), [43, 44]);
    let counted = issues_page(&engine, json!({ "first": 2, "total": true })).await;
    assert_eq!(counted["data"]["pageInfo"]["totalCount"], 45);
    let numbered = issues_page(&engine, json!({ "page": 5, "page_size": 10 })).await;
    assert_eq!(numbers(&numbered), (40..45).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_long_list_is_fetched_up_to_a_bound_which_is_said_first() {
    let pages = Pages::new(1_000);
    let engine = engine(&pages);
    let counted = issues_page(&engine, json!({ "aggregate": { "n": { "count": true } } })).await;
    assert_eq!(pages.fetched().len(), 20);
    assert_eq!(counted["warnings"][0]["code"], "RESULT_INCOMPLETE", "{counted}");
    assert_eq!(counted["warnings"][0]["details"]["rows"], 200);
    let filter = json!({ "number": { "gte": 250 } });
    let (mut params, mut rounds) = (json!({ "first": 5, "filter": filter }), 0);
    let answer = loop {
        let page = issues_page(&engine, params.clone()).await;
        rounds += 1;
        assert_eq!(page["data"]["pageInfo"]["hasNextPage"], true);
        if !numbers(&page).is_empty() || rounds > 3 {
            break page;
        }
        assert_eq!(page["warnings"][0]["code"], "RESULT_INCOMPLETE", "{page}");
        params["after"] = page["data"]["pageInfo"]["endCursor"].clone();
    };
    assert_eq!(numbers(&answer), [250, 251, 252, 253, 254], "{answer}");
}

#[tokio::test]
async fn a_page_that_cannot_be_fetched_fails_the_call() {
    let pages = Arc::new(Pages { broken: Some(20), ..Arc::into_inner(Pages::new(45)).unwrap() });
    let engine = engine(&pages);
    let answer = issues_page(&engine, json!({ "aggregate": { "n": { "count": true } } })).await;
    assert_eq!(answer["error"]["code"], "NOT_FOUND_RESOURCE", "a sum of some pages would be wrong: {answer}");
    assert_eq!(numbers(&issues_page(&engine, json!({ "first": 5 })).await).len(), 5);
}

#[tokio::test]
async fn a_source_that_returns_the_same_page_again_is_not_asked_for_ever() {
    let pages = Arc::new(Pages { is_circular: true, ..Arc::into_inner(Pages::new(45)).unwrap() });
    let answer = issues_page(&engine(&pages), json!({ "aggregate": { "n": { "count": true } } })).await;
    assert_eq!(answer["data"]["aggregations"]["n"], 10, "no row is counted twice: {answer}");
    assert_eq!(answer["warnings"][0]["code"], "RESULT_INCOMPLETE", "{answer}");
    assert!(pages.fetched().len() <= 3);
}
