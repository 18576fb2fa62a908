//! A whole engine behind the gate while operations are renamed: no rule, limit or quarantine is evaded by another name,
//! a generic operation, an alias or an indirect read, and operations that are always denied are not listed.

use std::sync::Arc;

use aquifer_engine::source::{Call, Offering, Resolution};
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_engine::{Answer, Context, Engine, Mount, Outcome, Reply, Source};
use aquifer_gate::audit::{Audit, AuditSettings, Sink};
use aquifer_gate::{GateSettings, SafetyGate};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::{Backing, Operation};
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape};
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::audit::support::{Folder, lines};
use crate::harness::{anna, caller, code, request, system_clock, with_token};

/// A small database: two tables, with operations of their own or with generic ones.
struct Shop {
    name: &'static str,
    is_generic: bool,
    quarantine: Mutex<Option<Arc<str>>>,
    done: Arc<Mutex<Vec<String>>>,
}

impl Shop {
    fn tables(&self) -> Vec<Operation> {
        let make = |name: &str, category, table: &str| {
            let mut made = Operation::new(name, category, "Does it.");
            made.origin.backing = Backing::Table(table.into());
            made.routing.generic_name =
                (self.is_generic && category == Category::Delete).then(|| "delete_record".into());
            made.safety.quarantine = self.quarantine.lock().clone().filter(|_| name == "list_orders");
            made.parameters = vec![Parameter::optional("region", Schema::string())];
            made
        };
        vec![
            make("list_orders", Category::Read, "Orders"),
            make("delete_order", Category::Delete, "Orders"),
            make("list_secrets", Category::Read, "Secrets"),
        ]
    }
}

impl Source for Shop {
    fn name(&self) -> &str {
        self.name
    }

    fn offering(&self) -> Offering {
        let generic = |name: &str, category| {
            let mut made = Operation::new(name, category, "Does it.");
            made.routing.is_indirect = true;
            made.parameters = vec![Parameter::required("table_name", Schema::string())];
            made
        };
        let walk = generic("walk", Category::Read);
        match self.is_generic {
            true => Offering {
                operations: vec![walk, generic("delete_record", Category::Delete)],
                indirect: self.tables(),
                ..Offering::default()
            },
            false => Offering { operations: self.tables().into_iter().chain([walk]).collect(), ..Offering::default() },
        }
    }

    fn resolve(&self, operation: &str, mut params: Map<String, Value>) -> Result<Resolution, Failure> {
        let table = params.remove("table_name").unwrap_or_default();
        let (singular, plural) = match table.as_str().unwrap_or_default() {
            "order" | "orders" | "Orders" => ("order", "orders"),
            "secret" | "secrets" => ("secret", "secrets"),
            _ => return Err(Failure::not_found("table", table)),
        };
        params.clear();
        let judged_params = Map::from_iter([("table_name".to_owned(), json!([singular, plural, table]))]);
        let resolved = Resolution { judged_params, ..Resolution::default() };
        Ok(match operation {
            "delete_record" => Resolution { operation: Some(format!("delete_{singular}").into()), params, ..resolved },
            _ => {
                params.insert("table_name".to_owned(), plural.into());
                Resolution { params, also_needs: vec![format!("list_{plural}").into()], ..resolved }
            }
        })
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.done.lock().push(call.name.to_string());
        std::future::ready(Outcome::Done(Answer::new(json!("done")))).boxed()
    }
}

/// An engine with such shops behind a gate, and the calls that reached them.
struct ShopGateway {
    engine: Engine,
    done: Arc<Mutex<Vec<String>>>,
    audit: Audit,
    folder: Folder,
}

impl ShopGateway {
    fn new(settings: Value, mounts: impl FnOnce(&Arc<Mutex<Vec<String>>>) -> Vec<Mount>) -> Self {
        let part = |keys: &[&str]| -> Value {
            let all = settings.as_object().unwrap().iter();
            all.filter(|(key, _)| keys.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        };
        let settings = GateSettings {
            policy: serde_json::from_value(part(&["rule"])).unwrap(),
            quota: serde_json::from_value(part(&["rate_limit"])).unwrap(),
            ..GateSettings::default()
        };
        let clock = system_clock();
        let store: Arc<dyn StateStore> = Arc::new(MemoryStore::new(clock.clone(), 10_000));
        let folder = Folder::new();
        let sinks = vec![Sink::File { directory: folder.0.clone(), size: 1 << 20, keep: 2 }];
        let audit = AuditSettings { sinks, ..AuditSettings::default() };
        let audit = Audit::open(audit, clock.clone(), store.clone()).unwrap();
        let gate = Arc::new(
            SafetyGate::new(&crate::harness::with_tokens(&settings), audit.clone(), store.clone(), clock).unwrap(),
        );
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let done = Arc::default();
        let engine = Engine::builder(surface).gate(gate).store(store);
        let engine = mounts(&done).into_iter().fold(engine, |engine, mount| engine.mount(mount)).build().unwrap();
        Self { engine, done, audit, folder }
    }

    async fn ask(&self, request: Value) -> Value {
        self.ask_as(request, anna()).await
    }

    async fn ask_as(&self, request: Value, context: Context) -> Value {
        match self.engine.handle(&Receiver::Unified, request.as_object().unwrap().clone(), context).await {
            Reply::Response(response) => response.render(&Limits::default()).value(),
            Reply::NeedsInput(question) => json!({ "question": question.key }),
        }
    }

    fn done(&self) -> Vec<String> {
        std::mem::take(&mut self.done.lock())
    }

    async fn audited(&self) -> Vec<Value> {
        self.audit.flush().await.unwrap();
        lines(&self.folder.0)
    }
}

fn shop(name: &'static str, is_generic: bool, done: &Arc<Mutex<Vec<String>>>) -> Mount {
    Mount::new(Arc::new(Shop { name, is_generic, quarantine: Mutex::default(), done: done.clone() }))
}

fn prefixed(mount: Mount, prefix: &str) -> Mount {
    Mount { prefix: Some(prefix.to_owned()), ..mount }
}

/// An upstream whose tool accepts any parameter and passes it on.
struct Bank {
    got: Arc<Mutex<Vec<Value>>>,
}

impl Source for Bank {
    fn name(&self) -> &str {
        "bank"
    }

    fn offering(&self) -> Offering {
        let limit = Parameter::optional("max_amount", Schema::default());
        let options = Shape { fields: vec![limit.clone()], rest: Rest::Free };
        let mut pay = Operation::new("pay", Category::Create, "Pays.");
        (pay.origin.native, pay.open) = (false, true);
        pay.parameters = vec![
            limit,
            Parameter::optional("options", Schema::new(Kind::Object(options))),
            Parameter {
                original_name: Some("Target-URL".into()),
                ..Parameter::optional("target_url", Schema::string())
            },
        ];
        Offering { operations: vec![pay], ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.got.lock().push(Value::Object(call.params));
        std::future::ready(Outcome::Done(Answer::new(json!("done")))).boxed()
    }
}

/// Every spelling, beside `params` and inside, once and twice: whatever reaches the source was checked.
#[tokio::test]
async fn r_saf_2_nothing_reaches_a_source_that_a_rule_did_not_see() {
    let got: Arc<Mutex<Vec<Value>>> = Arc::default();
    let rules = json!({ "rule": [
        { "effect": "deny", "when": [{ "param": "max_amount", "greater": 100 }] },
        { "effect": "deny", "when": [{ "param": "options.max_amount", "greater": 100 }] },
        { "effect": "deny", "when": [{ "param": "fee_limit", "greater": 100 }] },
        { "effect": "deny", "when": [{ "param": "targetURL", "matches": "*evil*" }] },
    ] });
    let gateway = ShopGateway::new(rules, |_| vec![Mount::new(Arc::new(Bank { got: got.clone() }))]);
    let spelled = |words: &[&str]| -> Vec<String> {
        let capital = |word: &&str| word[..1].to_uppercase() + &word[1..];
        let camel: String = words[0].to_owned() + &words[1..].iter().map(capital).collect::<String>();
        let pascal: String = words.iter().map(capital).collect();
        let joined = ["_", "-", ".", " ", "", "__"].map(|by| words.join(by));
        let shouted = joined.clone().map(|name| name.to_uppercase());
        joined.into_iter().chain(shouted).chain([camel, pascal, format!("_{}", words.join("_"))]).collect()
    };
    let mut sent = 0;
    for (words, bad, good) in [
        (["max", "amount"], json!(1000), json!(10)),
        (["fee", "limit"], json!("1_000"), json!(10)),
        (["target", "url"], json!("https://evil.example"), json!("https://good.example")),
    ] {
        let canonical = words.join("_");
        for name in spelled(&words) {
            let mut requests = vec![
                json!({ "operation": "pay", "params": { &name: bad } }),
                json!({ "operation": "pay", &name: bad }),
                json!({ "operation": "pay", "params": { &name: bad, &canonical: good } }),
                json!({ "operation": "pay", "params": { &canonical: good }, &name: bad }),
                json!({ "operation": "pay", "params": { &name: good }, &canonical: bad }),
            ];
            if canonical == "max_amount" {
                requests.extend([
                    json!({ "operation": "pay", "params": { "options": { &name: bad } } }),
                    json!({ "operation": "pay", "params": { "Options": { &name: bad } } }),
                    json!({ "operation": "pay", "params": { "options": { &name: bad, &canonical: good } } }),
                    json!({ "operation": "pay", "params": { "options": [{ &name: bad }] } }),
                    json!({ "operation": "pay", "params": { format!("options.{name}"): bad } }),
                ]);
            }
            for request in requests {
                gateway.ask(request.clone()).await;
                for params in std::mem::take(&mut *got.lock()) {
                    let text = params.to_string();
                    let is_bad = ["1000", "1_000", "evil"].iter().any(|bad| text.contains(bad));
                    assert!(!is_bad, "{request} reached the source as {text}");
                }
                sent += 1;
            }
        }
        // The rules do not affect harmless calls.
        assert_eq!(code(&gateway.ask(request("pay", json!({ &canonical: good }))).await), "done", "{canonical}");
        assert_eq!(std::mem::take(&mut *got.lock()).len(), 1);
    }
    assert!(sent > 250, "{sent}");
}

/// The mounts, the operation that deletes an order, and the rule that denies it under any name.
#[tokio::test]
async fn r_saf_2_no_renaming_gets_past_a_rule() {
    type Mounts = fn(&Arc<Mutex<Vec<String>>>) -> Vec<Mount>;
    #[rustfmt::skip]
    let cases: &[(&str, Mounts, Value)] = &[
        ("alone", |done| vec![shop("db1", false, done)], request("delete_order", json!({}))),
        ("beside another", |done| vec![shop("db1", false, done), shop("db2", false, done)], request("db1_delete_order", json!({}))),
        ("with a prefix", |done| vec![prefixed(shop("db1", false, done), "my_")], request("my_delete_order", json!({}))),
        ("generic", |done| vec![shop("db1", true, done)], request("delete_record", json!({ "table_name": "orders" }))),
        ("generic, by an alias", |done| vec![shop("db1", true, done)], request("delete_record", json!({ "table_name": "order" }))),
        ("generic, beside another", |done| vec![shop("db1", true, done), shop("db2", false, done)],
            request("db1_delete_record", json!({ "table_name": "Orders" }))),
        ("generic, by its name", |done| vec![shop("db1", true, done)], request("delete_order", json!({}))),
    ];
    for (case, mounts, call) in cases {
        for rule in [
            json!({ "effect": "deny", "operation": "delete_order" }),
            json!({ "effect": "deny", "operation": "db1_delete_order" }),
            json!({ "effect": "deny", "operation": "delete_order", "source": "DB1" }),
            json!({ "effect": "deny", "table": "orders", "category": "DELETE" }),
            json!({ "effect": "deny", "operation": "delete_*", "caller": "anna" }),
        ] {
            let gateway = ShopGateway::new(json!({ "rule": [rule] }), mounts);
            let answer = gateway.ask(call.clone()).await;
            assert_eq!(code(&answer), "PERMISSION_DENIED", "{case}: {rule} {answer}");
            assert_eq!(gateway.done(), [""; 0], "{case}: {rule}");
        }
        // Other operations are still allowed.
        let free = ShopGateway::new(json!({ "rule": [{ "effect": "deny", "operation": "delete_orders" }] }), mounts);
        assert_eq!(code(&free.ask(call.clone()).await), "CONFIRMATION_REQUIRED", "{case}");
    }
}

/// A rule or limit may be written for the generic operation, with any name of the table.
#[tokio::test]
async fn r_saf_2_rules_about_generic_operations_hold_for_the_operation_they_resolve_to() {
    let when = |test: Value| {
        let mut condition = json!({ "param": "table_name" });
        condition.as_object_mut().unwrap().extend(test.as_object().unwrap().clone());
        json!({ "effect": "deny", "operation": "delete_record", "when": [condition] })
    };
    let table = [
        (json!({ "effect": "deny", "operation": "delete_record" }), true),
        (json!({ "effect": "deny", "operation": "db1_delete_record" }), true),
        (json!({ "effect": "deny", "operation": ["*", "!delete_record"] }), false),
        (when(json!({ "equals": "order" })), true),
        (when(json!({ "equals": "orders" })), true),
        (when(json!({ "one_of": ["customers", "orders"] })), true),
        (when(json!({ "matches": "ord*" })), true),
        // Case does not matter in table names.
        (when(json!({ "equals": "ORDER" })), true),
        (when(json!({ "one_of": ["oRdErS"] })), true),
        (when(json!({ "matches": "ORD*" })), true),
        (when(json!({ "equals": "ORDERS", "not": true })), true),
        (when(json!({ "equals": "customers" })), false),
        (when(json!({ "equals": "customers", "not": true })), true),
    ];
    for (rule, denied) in &table {
        for alias in ["order", "orders", "Orders"] {
            let gateway = ShopGateway::new(json!({ "rule": [rule] }), |done| vec![shop("db1", true, done)]);
            let answer = gateway.ask(request("delete_record", json!({ "table_name": alias }))).await;
            let expected = if *denied { "PERMISSION_DENIED" } else { "CONFIRMATION_REQUIRED" };
            assert_eq!(code(&answer), expected, "{rule} {alias} {answer}");
        }
    }
    // A loosening rule names the source: another database has operations with the same names.
    for (rule, expected) in [
        (json!({ "effect": "allow", "loosen": true, "operation": "delete_record" }), "CONFIRMATION_REQUIRED"),
        (json!({ "effect": "allow", "loosen": true, "operation": "delete_record", "source": "db1" }), "done"),
    ] {
        let gateway = ShopGateway::new(json!({ "rule": [rule] }), |done| vec![shop("db1", true, done)]);
        let answer = gateway.ask(request("delete_record", json!({ "table_name": "order" }))).await;
        assert_eq!(code(&answer), expected, "{rule}");
    }
    let limit = json!({ "name": "l", "limit": 1, "window": "day", "operation": "delete_record" });
    let gateway = ShopGateway::new(json!({ "rate_limit": [limit] }), |done| vec![shop("db1", true, done)]);
    for expected in ["CONFIRMATION_REQUIRED", "RATE_LIMIT_EXCEEDED"] {
        let answer = gateway.ask(request("delete_record", json!({ "table_name": "order" }))).await;
        assert_eq!(code(&answer), expected);
    }
}

#[tokio::test]
async fn r_saf_2_a_rule_outlives_a_collision_and_a_remount() {
    let rule = json!({ "rule": [{ "effect": "deny", "operation": "delete_order" }] });
    let gateway = ShopGateway::new(rule, |done| {
        vec![prefixed(shop("db1", false, done), ""), prefixed(shop("db2", false, done), "")]
    });
    let names = |gateway: &ShopGateway| -> Vec<String> {
        let snapshot = gateway.engine.snapshot();
        let own = snapshot.unlisted().operations().iter().filter(|one| &*one.origin.own_name == "delete_order");
        own.map(|one| one.name.to_string()).collect()
    };
    let both = names(&gateway);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both.iter().any(|name| name.starts_with("delete_order_")), "one of them got a suffix: {both:?}");
    for name in &both {
        assert_eq!(code(&gateway.ask(request(name, json!({}))).await), "PERMISSION_DENIED", "{name}");
    }
    // A call has filled every cache; then the names change.
    gateway.engine.remount(vec![shop("db1", false, &gateway.done), shop("db2", false, &gateway.done)]).unwrap();
    for name in ["db1_delete_order", "db2_delete_order"] {
        assert_eq!(code(&gateway.ask(request(name, json!({}))).await), "PERMISSION_DENIED", "{name}");
    }
    assert_eq!(gateway.done(), [""; 0]);
}

#[tokio::test]
async fn r_saf_4_renaming_does_not_reset_a_limit() {
    for (per, other_source) in [(json!(["operation"]), "done"), (json!([]), "RATE_LIMIT_EXCEEDED")] {
        let limit = json!({ "name": "reads", "limit": 2, "window": "day", "operation": "list_orders", "per": per });
        let gateway = ShopGateway::new(json!({ "rate_limit": [limit] }), |done| vec![shop("db1", false, done)]);
        assert_eq!(code(&gateway.ask(request("list_orders", json!({}))).await), "done");
        gateway.engine.remount(vec![shop("db1", false, &gateway.done), shop("db2", false, &gateway.done)]).unwrap();
        assert_eq!(code(&gateway.ask(request("db1_list_orders", json!({}))).await), "done");
        assert_eq!(code(&gateway.ask(request("db1_list_orders", json!({}))).await), "RATE_LIMIT_EXCEEDED", "{per}");
        gateway
            .engine
            .remount(vec![shop("db1", true, &gateway.done), prefixed(shop("db2", false, &gateway.done), "p_")])
            .unwrap();
        assert_eq!(code(&gateway.ask(request("db1_list_orders", json!({}))).await), "RATE_LIMIT_EXCEEDED", "{per}");
        assert_eq!(code(&gateway.ask(request("p_list_orders", json!({}))).await), other_source, "{per}");
    }
}

/// A rule about what is read, and the result of reading it through another operation.
#[tokio::test]
async fn r_saf_2_reading_indirectly_is_as_restricted_as_reading_directly() {
    let walk = |table: &str| request("walk", json!({ "table_name": table }));
    let deny = |more: Value| {
        let mut rule = json!({ "effect": "deny", "operation": "list_secrets" });
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rule
    };
    let eu = json!([{ "param": "region", "equals": "EU", "not": true }]);
    #[rustfmt::skip]
    let table = [
        // Hidden, because nobody may call it: then even its name is not revealed.
        (deny(json!({})), "PERMISSION_DENIED", "Permission denied: This request reads something which is not allowed"),
        (deny(json!({ "operation": [], "table": "SECRETS" })), "PERMISSION_DENIED", "Permission denied: This request reads something which is not allowed"),
        (deny(json!({ "caller": "anna", "name": "anna" })), "PERMISSION_DENIED",
            "Permission denied: This request also needs 'list_secrets', which is not allowed: The operator's rule 'anna' does not allow this"),
        (deny(json!({ "caller": "berta" })), "done", ""),
        // Indirect reads have no parameters.
        (deny(json!({ "when": eu })), "PERMISSION_DENIED", "Permission denied: This request also needs 'list_secrets', which is not allowed: An operator's rule does not allow this"),
        (deny(json!({ "when": [{ "param": "region", "equals": "EU" }] })), "done", ""),
        (json!({ "effect": "confirm", "operation": "list_secrets" }), "CONFIRMATION_REQUIRED",
            "This operation requires confirmation. Ask your user, then send the same request again with 'confirmation_token'"),
        (json!({ "effect": "deny", "operation": "walk" }), "PERMISSION_DENIED", "Permission denied: An operator's rule does not allow this"),
    ];
    for is_generic in [false, true] {
        for (rule, expected, message) in &table {
            let mut rule = rule.clone();
            rule.as_object_mut().unwrap().retain(|_, value| *value != json!([]));
            let gateway = ShopGateway::new(json!({ "rule": [rule] }), |done| vec![shop("db1", is_generic, done)]);
            let answer = gateway.ask(walk("secrets")).await;
            assert_eq!(code(&answer), *expected, "{rule} {answer}");
            if *expected == "done" {
                assert_eq!(gateway.done(), ["walk"]);
            } else {
                assert_eq!(answer["error"]["message"], *message, "{rule}");
                assert_eq!(gateway.done(), [""; 0], "{rule}");
            }
            // Another table is not affected.
            let other = gateway.ask(walk("orders")).await;
            assert_eq!(code(&other), if rule["operation"] == "walk" { "PERMISSION_DENIED" } else { "done" }, "{rule}");
            gateway.done();
            if *expected == "CONFIRMATION_REQUIRED" {
                assert_eq!(
                    answer["error"]["details"]["reasons"][0],
                    "This request also needs 'list_secrets', which a person has to confirm: An operator's rule requires a person to confirm this"
                );
                let token = answer["error"]["details"]["confirmation_token"].as_str().unwrap();
                assert_eq!(code(&gateway.ask(with_token(walk("secrets"), token)).await), "done");
                assert_eq!(gateway.done(), ["walk"]);
            }
            if *expected == "PERMISSION_DENIED" {
                let audited = gateway.audited().await;
                let denial = audited.iter().find(|line| line["event"] == "OPERATION_DENIED").unwrap();
                let reason = denial["reason"].as_str().unwrap();
                assert!(
                    rule["operation"] == "walk" || reason.contains("'list_secrets'"),
                    "operators are told: {reason}"
                );
            }
        }
    }
}

#[tokio::test]
async fn r_dis_7a_quarantined_operations_are_listed_refused_and_audited() {
    let loose = json!({ "rule": [{ "effect": "allow", "loosen": true, "operation": "*" }] });
    let shared = Arc::new(Mutex::new(None));
    let gateway = ShopGateway::new(loose, |done| {
        let source =
            Arc::new(Shop { name: "db1", is_generic: false, quarantine: Mutex::default(), done: done.clone() });
        *shared.lock() = Some(source.clone());
        vec![Mount::new(source)]
    });
    let source = shared.lock().take().unwrap();
    let call = || request("list_orders", json!({}));
    assert_eq!(code(&gateway.ask(call()).await), "done");
    *source.quarantine.lock() = Some("its description changed".into());
    assert!(gateway.engine.refresh().unwrap());
    gateway.done();
    // Directly, and through an operation that reads the same.
    for call in [call(), request("walk", json!({ "table_name": "orders" }))] {
        let refused = gateway.ask(call).await;
        assert_eq!(code(&refused), "PERMISSION_DENIED", "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.ends_with("This operation is quarantined: its description changed"), "{message}");
    }
    assert_eq!(gateway.done(), [""; 0]);
    let listed = gateway.ask(request("introspect", json!({ "query": "operations" }))).await.to_string();
    assert!(listed.contains("list_orders"), "{listed}");
    let audited = gateway.audited().await;
    let denials: Vec<&Value> = audited.iter().filter(|line| line["event"] == "OPERATION_DENIED").collect();
    assert_eq!(denials.len(), 2, "{audited:?}");
    assert_eq!(denials[0]["reason"], "quarantined: its description changed", "{audited:?}");
    *source.quarantine.lock() = None;
    gateway.engine.refresh().unwrap();
    assert_eq!(code(&gateway.ask(call()).await), "done");
}

/// With every deletion denied, nothing that a caller can read mentions one.
#[tokio::test]
async fn r_saf_2_operations_that_are_always_denied_are_not_advertised() {
    let by_name = json!([{ "effect": "deny", "operation": ["delete_*", "list_secrets"] }]);
    let by_table = json!([{ "effect": "deny", "table": "orders", "category": "DELETE" }, { "effect": "deny", "table": "secrets" }]);
    for (is_generic, rules) in [(false, &by_name), (true, &by_name), (false, &by_table), (true, &by_table)] {
        let gateway = ShopGateway::new(json!({ "rule": rules }), |done| {
            vec![shop("db1", is_generic, done), shop("db2", is_generic, done)]
        });
        let mut shown = String::new();
        for params in [
            json!({ "query": "operations" }),
            json!({ "query": "operations", "search": "delete an order" }),
            json!({ "query": "operations", "name": "db1_delete_order" }),
            json!({ "query": "operations", "name": "db1_list_secrets" }),
            json!({ "query": "summary" }),
            json!({ "query": "types" }),
            json!({ "query": "policy" }),
        ] {
            shown.push_str(&gateway.ask(request("introspect", params)).await.to_string());
        }
        for tool in gateway.engine.snapshot().tools().iter() {
            shown.push_str(&format!("{} {}", tool.name, tool.description));
        }
        shown.push_str(&gateway.ask(request("db1_delete_orde", json!({}))).await.to_string());
        for hidden in ["delete_order", "delete_record", "list_secrets", "mcp_aql_delete"] {
            assert!(!shown.contains(hidden), "{hidden} in {shown}");
        }
        assert!(shown.contains("db1_walk"), "{shown}");
        // A caller that guesses the name is refused, and learns nothing else.
        let refused = gateway.ask(request("db1_delete_order", json!({}))).await;
        assert_eq!(code(&refused), "PERMISSION_DENIED", "{refused}");
        // Callers that may call it see it.
        let rule = json!({ "rule": [{ "effect": "deny", "operation": "delete_*", "caller": "anna" }] });
        let gateway = ShopGateway::new(rule, |done| vec![shop("db1", is_generic, done)]);
        let listed = gateway.ask(request("introspect", json!({ "query": "operations" }))).await.to_string();
        assert!(listed.contains(if is_generic { "delete_record" } else { "delete_order" }), "{listed}");
        let berta = caller(Some("berta"), None);
        assert_eq!(code(&gateway.ask_as(request("delete_order", json!({})), berta).await), "CONFIRMATION_REQUIRED");
    }
}
