//! Guarantees of the engine itself, with any gate: nothing runs without the gate, names do not move to other operations,
//! denied operations are concealed, and policy evaluates what will be done.

use std::sync::Arc;

use aquifer_engine::gate::{Decision, Gate, Pass, Rules};
use aquifer_engine::source::{Call, FetchRequest, Offering, Outcome, Resolution, ResourceSource, SourceCapabilities};
use aquifer_engine::{Context, Engine, Mount, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Comparison, Parameter, Schema};
use aquifer_protocol::trust::Trust;
use aquifer_protocol::validate::Checked;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::fixture::{ask, context, operation, surface};

/// A source of any operations that answers with its own name and the name of the call.
#[derive(Default)]
struct NamedSource {
    name: &'static str,
    operations: Mutex<Vec<Operation>>,
    indirect: Vec<Operation>,
    requests: Mutex<Vec<String>>,
}

impl NamedSource {
    fn new(name: &'static str, operations: Vec<Operation>) -> Arc<Self> {
        Arc::new(Self { name, operations: Mutex::new(operations), ..Self::default() })
    }
}

impl Source for NamedSource {
    fn name(&self) -> &str {
        self.name
    }

    fn offering(&self) -> Offering {
        let operations = self.operations.lock().clone();
        Offering { operations, indirect: self.indirect.clone(), ..Offering::default() }
    }

    fn resolve(&self, _operation: &str, mut params: Map<String, Value>) -> Result<Resolution, Failure> {
        let table = params.remove("table_name").unwrap_or_default();
        match table.as_str() {
            // An alias for the table.
            Some("orders" | "order") => {
                Ok(Resolution { operation: Some("delete_order".into()), params, ..Resolution::default() })
            }
            Some("both") => Ok(Resolution { params, also_needs: vec!["list_secrets".into()], ..Resolution::default() }),
            _ => Err(Failure::not_found("table", table)),
        }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        let answer = json!({ "source": self.name, "called": &*call.name, "params": call.params });
        async move { Outcome::from(Ok(answer)) }.boxed()
    }

    fn as_resources(&self) -> Option<&dyn ResourceSource> {
        Some(self)
    }
}

impl ResourceSource for NamedSource {
    fn capabilities(&self) -> SourceCapabilities {
        SourceCapabilities { resources: true, prompts: true, completions: true }
    }

    fn fetch(&self, wanted: FetchRequest, _context: Context) -> BoxFuture<'_, Result<Value, Failure>> {
        self.requests.lock().push(wanted.name().unwrap_or_default().to_owned());
        let content = match wanted {
            FetchRequest::Resources => json!([{ "uri": "doc://1" }]),
            FetchRequest::Resource(uri) => json!({ "contents": [{ "uri": uri, "text": self.name }] }),
            FetchRequest::Prompts => json!([{ "name": "pay" }, { "name": "b_pay" }]),
            _ => json!({ "messages": [
                { "role": "user", "content": { "type": "resource_link", "uri": "doc://1", "name": "one" } },
                { "role": "user", "content": [{ "type": "resource", "resource": { "uri": "aquifer://bank/doc://1" } }] },
            ] }),
        };
        std::future::ready(Ok(content)).boxed()
    }
}

/// Denies operations with these prefixes, and records the requests it evaluated.
#[derive(Default)]
struct DenyingGate {
    prefixes: Vec<&'static str>,
    judged: Arc<Mutex<Vec<String>>>,
}

impl Gate for DenyingGate {
    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        let all = std::iter::once(request.operation()).chain(request.also_needs());
        let names: Vec<String> = all.map(|operation| operation.origin.own_name.to_string()).collect();
        let denied = names.iter().any(|name| self.prefixes.iter().any(|prefix| name.starts_with(prefix)));
        self.judged.lock().push(format!("{} {}", names.join("+"), Value::from(request.params().clone())));
        let decision = match denied {
            true => Decision::Refuse(Failure::new(Code::PermissionDenied, "Permission denied")),
            false => Decision::Allow(Pass::default()),
        };
        std::future::ready(decision).boxed()
    }

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }
}

impl Rules for DenyingGate {
    fn denies_always(&self, operation: &Operation) -> bool {
        self.prefixes.iter().any(|prefix| operation.origin.own_name.starts_with(prefix))
    }
}

fn plain(name: &str, category: Category) -> Operation {
    Operation::new(name, category, "Does what its name says.")
}

fn upstream(name: &str) -> Operation {
    foreign(plain(name, Category::Read))
}

/// The operation, with the parameters of an upstream.
fn foreign(mut operation: Operation) -> Operation {
    operation.origin.native = false;
    operation
}

/// An operation of an upstream, first seen at this time or only now.
fn upstream_since(at: Option<u64>, name: &str) -> Operation {
    let mut operation = upstream(name);
    operation.origin.is_established = at.is_some();
    operation.origin.established_at = at;
    operation
}

async fn called(engine: &Engine, name: &str) -> Value {
    let answer = ask(engine, operation(name, json!({}))).await;
    if answer["success"] == true { answer["data"].clone() } else { answer["error"]["code"].clone() }
}

#[tokio::test]
async fn r_saf_2_an_engine_without_a_gate_refuses_what_cannot_be_undone() {
    let danger = |name: &str, danger: Danger| {
        let mut operation = plain(name, Category::Execute);
        operation.safety.danger = danger;
        operation
    };
    let trusted = |name: &str, category: Category, trust: Trust| {
        let mut operation = plain(name, category);
        operation.origin.trust = trust;
        operation
    };
    let mut asked_for = plain("run_asked_for", Category::Execute);
    asked_for.safety.safeguards.always_confirm = true;
    let mut changed = plain("get_changed", Category::Read);
    changed.safety.quarantine = Some("its definition changed".into());
    let table = [
        (plain("get_it", Category::Read), None),
        (plain("create_it", Category::Create), None),
        (plain("update_all", Category::Execute), None),
        (plain("delete_it", Category::Delete), Some("PERMISSION_DANGER_LEVEL_DENIED")),
        (danger("run_destructive", Danger::Destructive), Some("PERMISSION_DANGER_LEVEL_DENIED")),
        (danger("run_dangerous", Danger::Dangerous), Some("PERMISSION_DANGER_LEVEL_DENIED")),
        (danger("run_forbidden", Danger::Forbidden), Some("PERMISSION_DANGER_LEVEL_DENIED")),
        (trusted("get_untested", Category::Read, Trust::Untested), Some("PERMISSION_TRUST_LEVEL_INSUFFICIENT")),
        (trusted("get_generated", Category::Read, Trust::Generated), None),
        (trusted("create_generated", Category::Create, Trust::Generated), Some("PERMISSION_TRUST_LEVEL_INSUFFICIENT")),
        (asked_for, Some("PERMISSION_DENIED")),
        (changed, Some("PERMISSION_DENIED")),
    ];
    let operations = table.iter().map(|(operation, _)| operation.clone()).collect();
    let engine = Engine::builder(surface()).source(NamedSource::new("adapter", operations)).build().unwrap();
    for (operation, refused) in table {
        let answer = called(&engine, &operation.name).await;
        match refused {
            Some(code) => assert_eq!(answer, code, "{}", operation.name),
            None => assert_eq!(answer["called"], *operation.name, "{}", operation.name),
        }
    }
    assert!(called(&engine, "introspect").await != json!("PERMISSION_DENIED"), "callers discover operations with it");
}

#[tokio::test]
async fn r_dis_7a_a_new_operation_never_takes_over_a_name() {
    let unprefixed = |source: &Arc<NamedSource>| Mount { prefix: Some(String::new()), ..Mount::new(source.clone()) };
    let shop = NamedSource::new("shop", vec![plain("list_orders", Category::Read)]);
    let files = NamedSource::new("files", vec![upstream("list_orders"), upstream("read_file")]);
    let other = NamedSource::new("other", vec![upstream("read_file")]);
    // In any mount order, an upstream cannot take the name of a native source.
    let mounts = [unprefixed(&files), unprefixed(&other), unprefixed(&shop)];
    let engine =
        mounts.iter().cloned().fold(Engine::builder(surface()), |builder, mount| builder.mount(mount)).build().unwrap();
    assert_eq!(called(&engine, "list_orders").await["source"], "shop");
    assert_eq!(called(&engine, "read_file").await["source"], "files");
    let names = |engine: &Engine| -> Vec<String> {
        engine.snapshot().catalog().operations().iter().map(|operation| operation.name.to_string()).collect()
    };
    let before = names(&engine);
    assert_eq!(before.iter().filter(|name| name.starts_with("list_orders_")).count(), 1, "{before:?}");
    assert_eq!(before.iter().filter(|name| name.starts_with("read_file_")).count(), 1, "{before:?}");
    // An established operation keeps its name, in any mount order.
    let newest = NamedSource::new("newest", vec![plain("list_orders", Category::Read), upstream("read_file")]);
    engine.remount(vec![unprefixed(&newest), mounts[1].clone(), mounts[0].clone(), mounts[2].clone()]).unwrap();
    assert_eq!(called(&engine, "list_orders").await["source"], "shop");
    assert_eq!(called(&engine, "read_file").await["source"], "files");
    let now = names(&engine);
    assert!(before.iter().all(|name| now.contains(name)), "{before:?} {now:?}");
    // A new tool does not take the name of an existing one, even in the same source.
    newest.operations.lock().insert(0, upstream_since(None, "read_file"));
    engine.refresh().unwrap();
    assert!(names(&engine).len() > now.len());
    assert!(now.iter().all(|name| names(&engine).contains(name)));
}

#[tokio::test]
async fn r_dis_7a_after_a_restart_the_older_operation_has_the_name() {
    let unprefixed = |source: &Arc<NamedSource>| Mount { prefix: Some(String::new()), ..Mount::new(source.clone()) };
    let since = |at: Option<u64>| upstream_since(at, "read_file");
    for (first, second, owner) in [
        (Some(1), Some(2), "first"),
        (Some(2), Some(1), "second"),
        (None, Some(9), "second"),
        (Some(9), None, "first"),
        (None, None, "first"),
    ] {
        let sources = [NamedSource::new("first", vec![since(first)]), NamedSource::new("second", vec![since(second)])];
        let mut mounts: Vec<Mount> = sources.iter().map(unprefixed).collect();
        for _ in 0..2 {
            let builder = mounts.iter().cloned().fold(Engine::builder(surface()), |all, mount| all.mount(mount));
            let engine = builder.build().unwrap();
            let actual = called(&engine, "read_file").await["source"].clone();
            // Of two equally old operations, the first mounted one has the name.
            let expected = if first == second { mounts[0].source.name() } else { owner };
            assert_eq!(actual, expected, "{first:?} {second:?}");
            mounts.reverse();
        }
    }
}

#[tokio::test]
async fn r_dis_7a_a_name_is_not_inherited() {
    let unprefixed = |source: &Arc<NamedSource>| Mount { prefix: Some(String::new()), ..Mount::new(source.clone()) };
    let files = NamedSource::new("files", vec![upstream("read_file")]);
    let other = NamedSource::new("other", vec![upstream("read_file")]);
    let builder = Engine::builder(surface()).mount(unprefixed(&files)).mount(unprefixed(&other));
    let engine = builder.build().unwrap();
    let marked = |engine: &Engine| {
        let snapshot = engine.snapshot();
        let suffixed =
            snapshot.catalog().operations().iter().find(|operation| operation.name.starts_with("read_file_"));
        suffixed.map(|operation| operation.name.to_string())
    };
    let name = marked(&engine).unwrap();
    assert_eq!(called(&engine, &name).await["source"], "other");
    // A call of a removed operation must not reach another one.
    files.operations.lock().clear();
    engine.refresh().unwrap();
    assert_eq!(called(&engine, "read_file").await, "NOT_FOUND_OPERATION");
    assert_eq!(called(&engine, &name).await["source"], "other");
    files.operations.lock().push(upstream("read_file"));
    engine.refresh().unwrap();
    assert_eq!(called(&engine, "read_file").await["source"], "files");
    assert_eq!(marked(&engine), Some(name));
}

#[tokio::test]
async fn r_dis_7_one_upstream_cannot_keep_the_others_from_being_served() {
    let bad = |name: &str| {
        let mut operation = upstream(name);
        operation.parameters = vec![Parameter::optional("a", Schema::string()); 2];
        operation
    };
    let hostile = vec![upstream("introspect"), upstream("Not Snake"), bad("twice"), upstream("fine"), upstream("fine")];
    let mount = Mount { prefix: Some(String::new()), ..Mount::new(NamedSource::new("hostile", hostile)) };
    let shop = NamedSource::new("shop", vec![plain("list_orders", Category::Read)]);
    let engine = Engine::builder(surface()).mount(mount).source(shop).build().unwrap();
    assert_eq!(called(&engine, "shop_list_orders").await["source"], "shop");
    assert_eq!(called(&engine, "fine").await["source"], "hostile");
    for name in ["twice", "Not Snake"] {
        assert_eq!(called(&engine, name).await, "NOT_FOUND_OPERATION", "{name}");
    }
}

#[tokio::test]
async fn r_saf_2_always_denied_operations_are_concealed_and_still_refused() {
    let operations = vec![
        plain("get_order", Category::Read),
        plain("delete_order", Category::Delete),
        plain("create_order", Category::Create),
    ];
    let gate = Arc::new(DenyingGate { prefixes: vec!["delete_", "create_"], ..DenyingGate::default() });
    let engine = Engine::builder(surface()).source(NamedSource::new("shop", operations)).gate(gate).build().unwrap();
    let shown = |params: Value| ask(&engine, operation("introspect", params));
    for params in [
        json!({ "query": "operations" }),
        json!({ "query": "operations", "search": "delete an order" }),
        json!({ "query": "operations", "name": "delete_order" }),
        json!({ "query": "summary" }),
        json!({ "query": "types" }),
        json!({ "query": "policy" }),
    ] {
        let answer = shown(params.clone()).await.to_string();
        assert!(!answer.contains("delete_order") && !answer.contains("create_order"), "{params} {answer}");
    }
    let tools: Vec<String> = engine.snapshot().tools().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(tools, ["mcp_aql_read", "mcp_aql"], "a tool with nothing left is not offered");
    let texts: Vec<String> = engine.snapshot().tools().iter().map(|tool| tool.description.clone()).collect();
    assert!(!texts.concat().contains("delete_order"), "{texts:?}");
    assert_eq!(called(&engine, "delete_order").await, "PERMISSION_DENIED");
    let near = ask(&engine, operation("delete_orde", json!({}))).await.to_string();
    assert!(!near.contains("delete_order"), "{near}");
    assert_eq!(engine.snapshot().unlisted().operations().len(), 2, "the operator sees them");
}

#[tokio::test]
async fn r_saf_2_policy_evaluates_the_resolved_operation_under_its_one_name() {
    let generic = |name: &str, category: Category| {
        let mut operation = plain(name, category);
        operation.routing.is_indirect = true;
        operation.parameters =
            vec![Parameter::required("table_name", Schema::string()), Parameter::optional("id", Schema::string())];
        operation
    };
    let mut delete_order = plain("delete_order", Category::Delete);
    delete_order.parameters = vec![Parameter::required("id", Schema::string())];
    let source = Arc::new(NamedSource {
        name: "shop",
        operations: Mutex::new(vec![generic("delete_record", Category::Delete), generic("walk", Category::Read)]),
        indirect: vec![delete_order, plain("list_secrets", Category::Read)],
        ..NamedSource::default()
    });
    let judged = Arc::new(Mutex::new(Vec::new()));
    let gate = DenyingGate { prefixes: vec!["list_secrets"], judged: judged.clone() };
    let engine = Engine::builder(surface()).source(source).gate(Arc::new(gate)).build().unwrap();
    for table in ["orders", "order"] {
        let answer = ask(&engine, operation("delete_record", json!({ "table_name": table, "id": "7" }))).await;
        assert_eq!(answer["data"]["called"], "delete_order", "{answer}");
        assert_eq!(judged.lock().pop().unwrap(), r#"delete_order {"id":"7"}"#);
    }
    // The resolved request is checked before policy decides.
    let unfit = ask(&engine, operation("delete_record", json!({ "table_name": "orders" }))).await;
    assert_eq!(unfit["error"]["code"], "VALIDATION_MISSING_PARAM", "{unfit}");
    let unknown = ask(&engine, operation("delete_record", json!({ "table_name": "nothing" }))).await;
    assert_eq!(unknown["error"]["code"], "NOT_FOUND_RESOURCE");
    assert!(judged.lock().is_empty());
    // A caller who may not read a table cannot read it through another operation.
    let by_detour = ask(&engine, operation("walk", json!({ "table_name": "both" }))).await;
    assert_eq!(by_detour["error"]["code"], "PERMISSION_DENIED", "{by_detour}");
    // Operations behind generic ones are not listed, but can be called and introspected by name.
    let direct = ask(&engine, operation("delete_order", json!({ "id": "7" }))).await;
    assert_eq!(direct["data"]["called"], "delete_order", "{direct}");
    let named = ask(&engine, operation("introspect", json!({ "query": "operations", "name": "delete_order" }))).await;
    assert_eq!(named["data"]["operation"]["name"], "delete_order");
    let list = ask(&engine, operation("introspect", json!({ "query": "operations" }))).await.to_string();
    assert!(!list.contains("delete_order"), "{list}");
}

#[tokio::test]
async fn r_dis_7_only_the_source_named_in_a_uri_is_asked_for_it() {
    let (bank, thief) = (NamedSource::new("bank", Vec::new()), NamedSource::new("thief", Vec::new()));
    let engine = Engine::builder(surface()).source(thief.clone()).source(bank.clone()).build().unwrap();
    let secret = "bank://doc/1?sig=s3cret";
    let bare = engine.fetch(FetchRequest::Resource(secret.to_owned()), context()).await.unwrap_err();
    assert_eq!(bare.code(), Code::NotFoundResource);
    assert!(bare.message().contains("aquifer://SOURCE/URI"), "{}", bare.message());
    let qualified = format!("aquifer://bank/{secret}");
    let read = engine.fetch(FetchRequest::Resource(qualified.clone()), context()).await.unwrap();
    assert_eq!(read["contents"][0], json!({ "uri": qualified, "text": "bank" }));
    for wanted in [
        FetchRequest::Completion { target: secret.to_owned(), by_uri: true, params: Map::new() },
        FetchRequest::Prompt { name: "bank_greet".to_owned(), arguments: None },
        FetchRequest::Prompt { name: "greet".to_owned(), arguments: None },
    ] {
        let _ = engine.fetch(wanted, context()).await;
    }
    assert_eq!(*bank.requests.lock(), [secret, "greet"]);
    assert_eq!(*thief.requests.lock(), [""; 0], "another source neither sees nor answers it");
}

/// URIs of a removed source never reach another source.
#[tokio::test]
async fn r_dis_7_a_uri_is_not_inherited() {
    let (bank, thief) = (NamedSource::new("bank", Vec::new()), NamedSource::new("thief", Vec::new()));
    let secret = "bank://doc/1?sig=s3cret";
    let mount = |source: &Arc<NamedSource>| vec![Mount::new(source.clone())];
    let engine = Engine::builder(surface()).source(bank.clone()).build().unwrap();
    let read = engine.fetch(FetchRequest::Resource(secret.to_owned()), context()).await.unwrap();
    assert_eq!(read["contents"][0]["uri"], secret, "alone, it keeps its addresses");
    let qualified = format!("aquifer://bank/{secret}");
    let tried = [
        secret.to_owned(),
        qualified.clone(),
        format!("AQUIFER://bank/{secret}"),
        format!(" {qualified}"),
        format!("\t\u{a0}\u{feff}{qualified}"),
        format!("<{qualified}>"),
    ];
    let alone = Engine::builder(surface()).source(thief.clone()).build().unwrap();
    engine.remount(mount(&thief)).unwrap();
    for address in tried {
        for engine in [&engine, &alone] {
            // For a source that was always the only one, every URI without a source is its own.
            if address != secret || !std::ptr::eq(engine, &alone) {
                engine.fetch(FetchRequest::Resource(address.clone()), context()).await.unwrap_err();
            }
        }
    }
    assert_eq!(*thief.requests.lock(), [""; 0]);
    // The URIs that it returns lead to it.
    let listed = engine.list(&FetchRequest::Resources, context()).await;
    assert_eq!(listed[0]["uri"], "aquifer://thief/doc://1");
    let own = engine.fetch(FetchRequest::Resource("aquifer://thief/doc://1".to_owned()), context()).await.unwrap();
    assert_eq!(own["contents"][0], json!({ "uri": "aquifer://thief/doc://1", "text": "thief" }));
    engine.remount(mount(&bank)).unwrap();
    engine.fetch(FetchRequest::Resource(secret.to_owned()), context()).await.unwrap_err();
}

/// Prompts refer to resources of their own source, and no source takes the name of another's prompt.
#[tokio::test]
async fn r_dis_7_prompts_belong_to_their_source() {
    let (a, ab) = (NamedSource::new("a", Vec::new()), NamedSource::new("a_b", Vec::new()));
    let engine = Engine::builder(surface()).source(a.clone()).source(ab.clone()).build().unwrap();
    let listed: Vec<String> =
        engine.list(&FetchRequest::Prompts, context()).await.iter().map(|entry| entry["name"].to_string()).collect();
    assert_eq!(listed, ["\"a_pay\"", "\"a_b_pay\"", "\"a_b_b_pay\""]);
    let got =
        engine.fetch(FetchRequest::Prompt { name: "a_pay".to_owned(), arguments: None }, context()).await.unwrap();
    assert_eq!(got["messages"][0]["content"]["uri"], "aquifer://a/doc://1");
    assert_eq!(got["messages"][1]["content"][0]["resource"]["uri"], "aquifer://a/aquifer://bank/doc://1");
}

/// With prefixes `a_` and `a_b_`, names with the longer prefix belong to its source, even after it is removed.
#[tokio::test]
async fn r_dis_7a_a_source_gets_no_name_under_the_prefix_of_another() {
    let since = upstream_since;
    // The conflicting operation may be older.
    for (first, second) in [(None, None), (Some(1), Some(2)), (Some(1), None), (Some(2), Some(1))] {
        for is_reversed in [false, true] {
            let a = NamedSource::new("a", vec![since(first, "b_list"), upstream("list")]);
            let ab = NamedSource::new("a_b", vec![since(second, "list")]);
            let mut mounts = vec![Mount::new(a.clone()), Mount::new(ab.clone())];
            if is_reversed {
                mounts.reverse();
            }
            let builder = mounts.into_iter().fold(Engine::builder(surface()), |all, mount| all.mount(mount));
            let engine = builder.build().unwrap();
            assert_eq!(called(&engine, "a_b_list").await["source"], "a_b", "{first:?} {second:?}");
            assert_eq!(called(&engine, "a_list").await["source"], "a");
            // After the other source is removed, no source gets its names, even with another prefix.
            for prefix in ["a_", ""] {
                let alone = Mount { prefix: Some(prefix.to_owned()), ..Mount::new(a.clone()) };
                engine.remount(vec![alone]).unwrap();
                a.operations.lock().extend([upstream("b_more"), upstream("a_b_more")]);
                engine.refresh().unwrap();
                for name in ["a_b_list", "a_b_more"] {
                    assert_eq!(called(&engine, name).await, "NOT_FOUND_OPERATION", "{name} {prefix}");
                }
                let pay = |name: &str| FetchRequest::Prompt { name: name.to_owned(), arguments: None };
                a.requests.lock().clear();
                engine.fetch(pay("a_b_pay"), context()).await.unwrap_err();
                assert_eq!(*a.requests.lock(), [""; 0], "{prefix}");
                let own = format!("{prefix}pay");
                engine.fetch(pay(&own), context()).await.unwrap();
                let listed = engine.list(&FetchRequest::Prompts, context()).await;
                assert!(listed.iter().all(|entry| entry["name"] != "a_b_pay"), "{listed:?}");
                assert!(listed.iter().any(|entry| entry["name"] == *own), "{listed:?}");
                a.operations.lock().truncate(2);
            }
            // It comes back with its own names.
            engine.remount(vec![Mount::new(a), Mount::new(ab)]).unwrap();
            assert_eq!(called(&engine, "a_b_list").await["source"], "a_b");
            engine
                .fetch(FetchRequest::Prompt { name: "a_b_pay".to_owned(), arguments: None }, context())
                .await
                .unwrap();
        }
    }
}

/// Many servers prefix the names of their tools. An assigned name stays, whatever is added later.
#[tokio::test]
async fn r_dis_7a_a_prefix_is_not_repeated() {
    let brave = NamedSource::new("brave", vec![upstream("brave_web_search"), upstream("images")]);
    let other = NamedSource::new("other", vec![upstream("list")]);
    let engine = Engine::builder(surface()).mount(Mount::new(brave.clone())).mount(Mount::new(other)).build().unwrap();
    let own = |answer: Value| (answer["source"].clone(), answer["called"].clone());
    assert_eq!(own(called(&engine, "brave_web_search").await), (json!("brave"), json!("brave_web_search")));
    assert_eq!(own(called(&engine, "brave_images").await), (json!("brave"), json!("images")));
    assert_eq!(called(&engine, "brave_brave_web_search").await, "NOT_FOUND_OPERATION");
    brave.operations.lock().insert(0, upstream("web_search"));
    engine.refresh().unwrap();
    assert_eq!(own(called(&engine, "brave_web_search").await), (json!("brave"), json!("brave_web_search")));
}

/// A gate that allows a call after the configuration has changed.
struct SlowGate(tokio::sync::Notify, tokio::sync::Notify);

impl Gate for SlowGate {
    fn decide<'a>(&'a self, _request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        async {
            self.0.notify_one();
            self.1.notified().await;
            Decision::Allow(Pass::default())
        }
        .boxed()
    }
}

#[tokio::test]
async fn r_saf_2_changes_decided_under_another_configuration_do_not_run() {
    for (category, is_run) in [(Category::Delete, false), (Category::Update, false), (Category::Read, true)] {
        let name = format!("{}_order", category.as_str().to_lowercase());
        let source = NamedSource::new("shop", vec![foreign(plain(&name, category))]);
        let gate = Arc::new(SlowGate(tokio::sync::Notify::new(), tokio::sync::Notify::new()));
        let engine = Arc::new(Engine::builder(surface()).source(source.clone()).gate(gate.clone()).build().unwrap());
        let asking = tokio::spawn({
            let engine = engine.clone();
            async move { ask(&engine, operation(&name, json!({}))).await }
        });
        gate.0.notified().await;
        // The same gate and the same source, but the operator may have lowered its trust.
        engine.remount(vec![Mount { trust: Some(Trust::Generated), ..Mount::new(source) }]).unwrap();
        gate.1.notify_one();
        let answer = asking.await.unwrap();
        assert_eq!(answer["success"], is_run, "{answer}");
        assert!(is_run || answer["error"]["message"].as_str().unwrap().contains("configuration changed"), "{answer}");
    }
}

/// A gate that records what it sees of the operation and its first parameter.
struct InspectingGate(Arc<Mutex<Vec<(bool, Comparison)>>>);

impl Gate for InspectingGate {
    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        let operation = request.operation();
        let comparison = operation.parameters.first().map_or(Comparison::Exact, |first| first.schema.comparison);
        self.0.lock().push((operation.safety.has_safe_dry_run, comparison));
        std::future::ready(Decision::Allow(Pass::default())).boxed()
    }
}

#[tokio::test]
async fn r_saf_2_changes_visible_only_to_policy_are_applied() {
    let offered = |is_safe: bool, comparison: Comparison| {
        let mut schema = Schema::string();
        schema.comparison = comparison;
        let mut offered = plain("read_order", Category::Read);
        offered.safety.has_safe_dry_run = is_safe;
        offered.parameters = vec![Parameter::optional("name", schema)];
        offered
    };
    let source = NamedSource::new("shop", vec![offered(true, Comparison::Exact)]);
    let seen = Arc::default();
    let gate = Arc::new(InspectingGate(Arc::clone(&seen)));
    let engine = Engine::builder(surface()).source(source.clone()).gate(gate).build().unwrap();
    called(&engine, "read_order").await;
    *source.operations.lock() = vec![offered(false, Comparison::IgnoreCase)];
    assert!(!engine.refresh().unwrap(), "callers cannot tell the difference");
    called(&engine, "read_order").await;
    let expected = [(true, Comparison::Exact), (false, Comparison::IgnoreCase)];
    assert_eq!(*seen.lock(), expected);
}
