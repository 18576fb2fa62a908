//! Table names are stable, whatever tables are added and across restarts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aquifer_engine::Source;
use aquifer_engine::clock::SystemClock;
use aquifer_engine::store::{MemoryStore, Record, SpendResult, StateStore, StoreError};
use aquifer_query::CursorKey;
use aquifer_sql::{Database, Settings, Style, TableSettings};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::support::{File, Fixture};

/// A persistent store that can be made to fail.
struct PersistentStore {
    inner: MemoryStore,
    fails: AtomicBool,
}

impl PersistentStore {
    fn new() -> Arc<Self> {
        Arc::new(Self { inner: MemoryStore::new(Arc::new(SystemClock), 100), fails: AtomicBool::new(false) })
    }

    fn failing<T: Send + 'static>(&self) -> Option<BoxFuture<'_, Result<T, StoreError>>> {
        let fails = self.fails.load(Ordering::Relaxed);
        fails.then(|| std::future::ready(Err(StoreError("it is away".to_owned()))).boxed())
    }

    async fn records(&self) -> Vec<(String, Value)> {
        let all = self.inner.list("", 100).await.unwrap();
        all.into_iter().map(|(key, record)| (key, serde_json::from_slice(&record.value).unwrap())).collect()
    }
}

impl StateStore for PersistentStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.failing().unwrap_or_else(|| self.inner.get(key))
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.failing().unwrap_or_else(|| self.inner.compare_and_set(key, expected, value, keep))
    }

    fn list<'a>(&'a self, prefix: &'a str, most: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        self.inner.list(prefix, most)
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        most: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        self.inner.spend(key, amount, most, window)
    }
}

async fn start(settings: Settings, store: &Arc<PersistentStore>) -> Arc<Database> {
    let store: Arc<dyn StateStore> = store.clone();
    let database = Database::with_store(settings, CursorKey::new([7; 32]), Arc::new(SystemClock), Some(store)).unwrap();
    database.reflect().await.unwrap();
    database
}

/// The table behind an operation.
fn table_of(database: &Database, operation: &str) -> Option<String> {
    let offering = database.offering();
    let mut all = offering.operations.iter().chain(&offering.indirect);
    all.find(|known| *known.name == *operation).and_then(|known| known.origin.backing.table().map(str::to_owned))
}

/// The operation that deletes rows of a table.
fn delete_operation(database: &Database, table: &str) -> String {
    let operations = database.offering().operations;
    let of_table = |name: &str| name.starts_with("delete_");
    let found = operations.iter().find(|known| of_table(&known.name) && known.origin.backing.table() == Some(table));
    found.unwrap_or_else(|| panic!("{table}")).name.to_string()
}

#[tokio::test]
async fn r_saf_2_a_new_table_takes_no_name_within_a_process() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE \"Order\" (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO \"Order\" VALUES (1, 'old');",
    )
    .await;
    assert_eq!(fixture.call_ok("get_order", json!({ "id": 1 })).await["a"], "old");
    // If they were alone, these would get the name.
    fixture
        .run_sql(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, a TEXT); CREATE TABLE \"order_\" (id INTEGER PRIMARY KEY);",
        )
        .await;
    fixture.run_sql("INSERT INTO orders VALUES (1, 'new')").await;
    assert!(fixture.engine.reload().await.is_empty());
    assert_eq!(fixture.call_ok("get_order", json!({ "id": 1 })).await["a"], "old");
    let names = fixture.operations();
    assert!(names.iter().any(|name| name.starts_with("get_order_x")), "{names:?}");
    // Not even after its table was dropped temporarily.
    fixture.run_sql("ALTER TABLE \"Order\" RENAME TO away").await;
    assert!(fixture.engine.reload().await.is_empty());
    fixture.call_err("get_order", json!({ "id": 1 }), "NOT_FOUND_OPERATION").await;
    fixture.run_sql("ALTER TABLE away RENAME TO \"Order\"").await;
    assert!(fixture.engine.reload().await.is_empty());
    assert_eq!(fixture.call_ok("get_order", json!({ "id": 1 })).await["a"], "old");
}

#[tokio::test]
async fn r_saf_2_names_survive_a_restart() {
    let file = File::create("CREATE TABLE \"Order\" (id INTEGER PRIMARY KEY);");
    let store = PersistentStore::new();
    let first = start(file.settings(), &store).await;
    assert_eq!(table_of(&first, "delete_order").as_deref(), Some("Order"));
    drop(first);
    file.run("CREATE TABLE orders (id INTEGER PRIMARY KEY)");
    let second = start(file.settings(), &store).await;
    assert_eq!(table_of(&second, "delete_order").as_deref(), Some("Order"), "the newcomer came while nobody looked");
    let newcomer = delete_operation(&second, "orders");
    // Another path to the same file gives the same names; another source name does not.
    let mut other = file.settings();
    other.target = aquifer_sql::Target::Sqlite(file.folder.0.join(".").join("here.db"));
    let third = start(other, &store).await;
    assert_eq!(
        (table_of(&third, "delete_order").as_deref(), delete_operation(&third, "orders")),
        (Some("Order"), newcomer)
    );
    let mut renamed = file.settings();
    renamed.name = "elsewhere".to_owned();
    let fourth = start(renamed, &store).await;
    assert_eq!(table_of(&fourth, "delete_order").as_deref(), Some("Order"));
    assert_eq!(table_of(&fourth, "delete_orders").as_deref(), Some("orders"), "each by its own name");
    let records = store.records().await;
    assert_eq!(records.len(), 2);
    let (key, record) = records.iter().find(|(key, _)| key.starts_with("names/database/here/")).unwrap();
    assert!(!key.contains("here.db"), "{key}");
    assert_eq!(record["order"], json!(["order", "orders"]));
    // The generic set stands for the same operations.
    let generic = start(Settings { style: Style::Generic, ..file.settings() }, &store).await;
    assert_eq!(table_of(&generic, "delete_order").as_deref(), Some("Order"));
}

/// A rule about `update_order` must still apply if the table is spelled with a capital.
#[tokio::test]
async fn r_saf_2_another_case_is_the_same_table() {
    let file = File::create("CREATE TABLE orders (id INTEGER PRIMARY KEY, a TEXT);");
    let store = PersistentStore::new();
    let first = start(file.settings(), &store).await;
    for name in ["Orders", "ORDERS", "oRDERS"] {
        file.run(&format!("ALTER TABLE orders RENAME TO x; ALTER TABLE x RENAME TO {name};"));
        first.reflect().await.unwrap();
        assert_eq!(table_of(&first, "update_order").as_deref(), Some(name));
        let second = start(file.settings(), &store).await;
        assert_eq!(table_of(&second, "update_order").as_deref(), Some(name), "after a restart");
    }
    assert_eq!(store.records().await[0].1, json!({ "orders": ["order", "orders"] }));
}

#[tokio::test]
async fn r_saf_2_configured_words_override_remembered_ones() {
    let file =
        File::create("CREATE TABLE orders (id INTEGER PRIMARY KEY); CREATE TABLE sales (id INTEGER PRIMARY KEY);");
    let store = PersistentStore::new();
    start(file.settings(), &store).await;
    let mut settings = file.settings();
    let words =
        TableSettings { singular: Some("order".into()), plural: Some("orders".into()), ..TableSettings::default() };
    settings.tables.insert("sales".to_owned(), words);
    let database = start(settings, &store).await;
    assert_eq!(table_of(&database, "delete_order").as_deref(), Some("sales"));
    assert!(delete_operation(&database, "orders").starts_with("delete_order_x"));
    let database = start(file.settings(), &store).await;
    assert_eq!(table_of(&database, "delete_order").as_deref(), Some("orders"), "it is as it was when they are gone");
}

/// Names cause no failures: an unavailable store is ignored, and invalid content is overwritten.
#[tokio::test]
async fn a_failing_store_only_loses_remembered_names() {
    let file = File::create("CREATE TABLE orders (id INTEGER PRIMARY KEY);");
    let store = PersistentStore::new();
    store.fails.store(true, Ordering::Relaxed);
    let database = start(file.settings(), &store).await;
    assert_eq!(table_of(&database, "delete_order").as_deref(), Some("orders"));
    assert_eq!(store.records().await.len(), 0);
    // When the store is back, names assigned in the meantime stay, and are stored with the next new one.
    store.fails.store(false, Ordering::Relaxed);
    file.run("CREATE TABLE \"Order\" (id INTEGER PRIMARY KEY)");
    database.reflect().await.unwrap();
    assert_eq!(store.records().await[0].1["orders"], json!(["order", "orders"]));
    let (key, version) = {
        let all = store.inner.list("", 1).await.unwrap();
        (all[0].0.clone(), all[0].1.version)
    };
    for nonsense in [&b"not json"[..], b"[1, 2]", br#"{"orders": ["drop table", "x y"], "Order": 5}"#] {
        let now = store.inner.get(&key).await.unwrap().map(|record| record.version);
        store.inner.compare_and_set(&key, now, nonsense.to_vec(), Duration::from_secs(60)).await.unwrap();
        let database = start(file.settings(), &store).await;
        assert_eq!(
            table_of(&database, "delete_orders").as_deref(),
            Some("orders"),
            "{}",
            String::from_utf8_lossy(nonsense)
        );
        assert_eq!(store.records().await[0].1["orders"], json!(["orders", "orders"]));
    }
    let _ = version;
}

/// Two processes that open the same database agree on its names.
#[tokio::test]
async fn r_saf_6_two_processes_agree_on_names() {
    let file = File::create("CREATE TABLE \"Order\" (id INTEGER PRIMARY KEY);");
    let store = PersistentStore::new();
    let one = start(file.settings(), &store).await;
    file.run("CREATE TABLE orders (id INTEGER PRIMARY KEY); CREATE TABLE \"ORDERS_\" (id INTEGER PRIMARY KEY);");
    let two = start(file.settings(), &store).await;
    one.reflect().await.unwrap();
    for table in ["Order", "orders", "ORDERS_"] {
        assert_eq!(delete_operation(&one, table), delete_operation(&two, table), "{table}");
    }
}

#[tokio::test]
async fn r_saf_2_names_of_a_server_survive_another_password() {
    let server = crate::server::Server::new("CREATE TABLE \"Order\" (id int PRIMARY KEY);").await;
    let role = server.role().await;
    server.run(&format!("GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")).await;
    let store = PersistentStore::new();
    start(server.settings(), &store).await;
    server.run(&format!("CREATE TABLE orders (id int PRIMARY KEY); GRANT ALL ON orders TO {role}")).await;
    let database = start(server.settings_of(&role), &store).await;
    assert_eq!(table_of(&database, "delete_order").as_deref(), Some("Order"));
    let (key, value) = store.records().await.remove(0);
    assert!(!format!("{key}{value}").contains("open-sesame"), "{key}");
    // Other schemas have their own names.
    let mut settings = server.settings();
    settings.schemas = vec!["other".to_owned(), "public".to_owned()];
    let database = start(settings, &store).await;
    assert_eq!(table_of(&database, "delete_public_order").as_deref(), Some("Order"));
}
