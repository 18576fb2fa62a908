//! Held results: owner, lifetime and limits.

use super::*;

#[tokio::test]
async fn r_dis_8_a_cursor_belongs_to_one_caller_and_one_call() {
    let upstream = Upstream::new(issues(55), &["owner"], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let params = json!({ "owner": "a", "first": 10, "filter": { "state": "open" } });
    let first = list(&engine, params.clone()).await;
    let cursor = first["data"]["pageInfo"]["endCursor"].clone();
    let with = |changes: Value| {
        let mut params = params.clone();
        params["after"] = cursor.clone();
        params.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        operation("list_issues", params)
    };
    let stranger = Context::new(Caller::session("other"), "r");
    let principal = Caller { principal: Some("ann".into()), session: Some("tests".into()) };
    let answers = [
        ask_as(&engine, with(json!({})), stranger).await,
        ask_as(&engine, with(json!({})), Context::new(Caller::anonymous(), "r")).await,
        ask_as(&engine, with(json!({})), Context::new(principal, "r")).await,
        ask(&engine, with(json!({ "owner": "b" }))).await,
        ask(&engine, with(json!({ "filter": { "state": "closed" } }))).await,
        ask(&engine, with(json!({ "sort": "number" }))).await,
        ask(&engine, with(json!({ "after": "AAAA" }))).await,
    ];
    for answer in answers {
        assert_eq!(answer["error"]["code"], "VALIDATION_INVALID_VALUE", "{answer}");
        assert_eq!(answer["error"]["details"]["param_name"], "after");
    }
    assert_eq!(upstream.calls(), 1, "no wrong cursor reaches the upstream");
    let other_fields = ask(&engine, with(json!({ "fields": ["title"], "first": 2 }))).await;
    assert_eq!(other_fields["data"]["items"].as_array().unwrap().len(), 2, "how much is shown may change");
}

#[tokio::test]
async fn r_dis_8_a_result_no_longer_held_says_call_again() {
    let upstream = Upstream::new(issues(55), &[], Controls::Few, None);
    let clock = Arc::new(ManualClock(Mutex::new("2026-01-01T00:00:00Z".parse().unwrap())));
    let settings = shape::Settings { ttl: Duration::from_secs(60), ..shape::Settings::default() };
    let engine = builder(&upstream).clock(clock.clone()).shaping(settings).build().unwrap();
    let first = list(&engine, json!({ "first": 10 })).await;
    let next = json!({ "first": 10, "after": first["data"]["pageInfo"]["endCursor"] });
    assert_eq!(list(&engine, next.clone()).await["success"], true);
    *clock.0.lock() += jiff::Span::new().seconds(61);
    let late = list(&engine, next).await;
    assert_eq!(late["error"]["code"], "VALIDATION_INVALID_VALUE");
    assert!(late["error"]["message"].as_str().unwrap().contains("Call again"), "{late}");
    assert_eq!(upstream.calls(), 1);
}

#[tokio::test]
async fn r_end_6_held_results_end_with_their_session() {
    let upstream = Upstream::new(issues(55), &[], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let first = list(&engine, json!({ "first": 10 })).await;
    let next = json!({ "first": 10, "after": first["data"]["pageInfo"]["endCursor"] });
    engine.session_ended("another");
    assert_eq!(list(&engine, next.clone()).await["success"], true);
    engine.session_ended("tests");
    assert_eq!(list(&engine, next).await["success"], false);
}

#[tokio::test]
async fn r_dis_8_held_results_are_bounded() {
    let upstream = Upstream::new(issues(55), &["owner"], Controls::Few, None);
    let settings = shape::Settings { max_held: 2, ..shape::Settings::default() };
    let engine = builder(&upstream).shaping(settings).build().unwrap();
    let mut cursors = Vec::new();
    for owner in ["a", "b", "c"] {
        let answer = list(&engine, json!({ "owner": owner, "first": 10 })).await;
        cursors.push((owner, answer["data"]["pageInfo"]["endCursor"].clone()));
    }
    let mut successes = Vec::new();
    for (owner, cursor) in cursors {
        successes.push(list(&engine, json!({ "owner": owner, "first": 10, "after": cursor })).await["success"].clone());
    }
    assert_eq!(successes, [json!(false), json!(true), json!(true)], "the oldest was dropped");
    let small = shape::Settings { max_result_bytes: 1_000, ..shape::Settings::default() };
    let engine = builder(&upstream).shaping(small).build().unwrap();
    let answer = list(&engine, json!({ "first": 10 })).await;
    assert_eq!(answer["data"]["items"].as_array().unwrap().len(), 10);
    assert_eq!(answer["warnings"][0]["code"], "RESULT_NOT_HELD", "{answer}");
    assert_eq!(answer["data"]["pageInfo"], json!({ "hasNextPage": true, "hasPreviousPage": false }));
}

/// A store that behaves as if several processes shared it.
struct SharedStore(MemoryStore);

impl StateStore for SharedStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.0.get(key)
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.compare_and_set(key, expected, value, keep)
    }

    fn list<'a>(&'a self, prefix: &'a str, most: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        self.0.list(prefix, most)
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        most: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        self.0.spend(key, amount, most, window)
    }
}

#[tokio::test]
async fn r_dis_8_processes_share_small_results() {
    let upstream = Upstream::new(issues(55), &["owner"], Controls::Few, None);
    let store: Arc<SharedStore> =
        Arc::new(SharedStore(MemoryStore::new(Arc::new(aquifer_engine::clock::SystemClock), 100)));
    let engine = |max_stored_bytes: usize| {
        let settings = shape::Settings { max_stored_bytes, ..shape::Settings::default() };
        builder(&upstream).store(store.clone()).cursor_key(CursorKey::new([7; 32])).shaping(settings).build().unwrap()
    };
    let (one, other) = (engine(1 << 20), engine(1 << 20));
    let first = list(&one, json!({ "owner": "a", "first": 10 })).await;
    let next = json!({ "owner": "a", "first": 10, "after": first["data"]["pageInfo"]["endCursor"] });
    assert_eq!(list(&one, next.clone()).await, list(&other, next).await);
    assert_eq!(upstream.calls(), 1);
    let (one, other) = (engine(100), engine(100));
    let first = list(&one, json!({ "owner": "b", "first": 10 })).await;
    let next = json!({ "owner": "b", "first": 10, "after": first["data"]["pageInfo"]["endCursor"] });
    assert_eq!(list(&one, next.clone()).await["success"], true, "too large for the store, held in the process");
    assert!(list(&other, next).await["error"]["message"].as_str().unwrap().contains("Call again"));
}

/// A source whose caller is gone when it answers.
struct Slow(Arc<Upstream>);

impl Source for Slow {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn offering(&self) -> Offering {
        self.0.offering()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        call.context.cancelled.cancel();
        self.0.call(call)
    }
}

#[tokio::test]
async fn r_req_7_shaping_ends_with_its_budget_and_with_its_caller() {
    let upstream = Upstream::new(issues(3_000), &[], Controls::Few, None);
    let sort = json!({ "sort": ["-number", "title"], "first": 1 });
    assert_eq!(list(&builder(&upstream).build().unwrap(), sort.clone()).await["success"], true);
    let work = aquifer_query::WorkLimits { max_steps: 1_000, ..aquifer_query::WorkLimits::DEFAULT };
    let settings = shape::Settings { work, ..shape::Settings::default() };
    let answer = list(&builder(&upstream).shaping(settings).build().unwrap(), sort.clone()).await;
    assert_eq!(answer["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE", "{answer}");
    let engine =
        Engine::builder(surface()).dangerously_let_everything_pass().source(Arc::new(Slow(upstream))).build().unwrap();
    let answer = list(&engine, sort).await;
    assert_eq!(answer["success"], false, "{answer}");
}
