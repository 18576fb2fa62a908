//! The same questions through an engine, from arguments to the text of the answer.

use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use aquifer_engine::clock::SystemClock;
use aquifer_engine::{Caller, Context, Engine, Reply};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::response::Response;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_query::CursorKey;
use aquifer_sql::{Database, Settings};
use serde_json::{Map, Value, json};

use crate::by_hand::{BEFORE, TimeColumn};

pub(crate) struct Ours(Engine);

impl Ours {
    pub(crate) async fn open(target: &str) -> anyhow::Result<Self> {
        let settings = Settings::new("shop", target)?;
        let database = Database::open(settings, CursorKey::new([7; 32]), Arc::new(SystemClock)).await;
        let database = database.map_err(|failure| anyhow!("cannot open the database: {}", failure.message()))?;
        let profile = Profile::known("crude").context("there is no profile crude")?;
        let surface = Surface::new(Mode::Single, profile, "")?;
        Ok(Self(Engine::builder(surface).dangerously_let_everything_pass().source(database).build()?))
    }

    /// The text of the answer. A refusal must not pass for one.
    pub(crate) async fn ask(&self, arguments: Map<String, Value>) -> anyhow::Result<String> {
        let context = Context::new(Caller::anonymous(), "req");
        match self.0.handle(&Receiver::Unified, arguments, context).await {
            Reply::Response(response @ Response::Success(_)) => Ok(response.render(&Limits::default()).text),
            Reply::Response(refusal) => bail!("refused: {}", refusal.render(&Limits::default()).text),
            Reply::NeedsInput(_) => bail!("it asks back"),
        }
    }

    /// The answer as a value.
    pub(crate) async fn answer(&self, arguments: &Map<String, Value>) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.ask(arguments.clone()).await?)?)
    }
}

/// Paid orders, the latest first.
pub(crate) fn list(after: Option<&str>) -> Map<String, Value> {
    let mut params = json!({
        "filter": { "status": "paid" },
        "sort": { "field": "created_at", "order": "desc" },
        "first": 25,
    });
    if let (Some(cursor), Value::Object(params)) = (after, &mut params) {
        params.insert("after".to_owned(), cursor.into());
    }
    request("list_orders", params)
}

/// The latest visits by a column of times, perhaps only those before a time.
pub(crate) fn latest(column: TimeColumn, is_bounded: bool) -> Map<String, Value> {
    let name = column.name;
    let mut params = json!({ "sort": { "field": name, "order": "desc" }, "fields": ["id", name], "first": 25 });
    if let (true, Value::Object(params)) = (is_bounded, &mut params) {
        params.insert("filter".to_owned(), json!({ name: { "lt": BEFORE } }));
    }
    request("list_visits", params)
}

/// How many orders there are of each status.
pub(crate) fn count_by_status() -> Map<String, Value> {
    request("list_orders", json!({ "aggregate": { "by_status": { "group_by": "status", "count": true } } }))
}

/// One order.
pub(crate) fn get(id: i64) -> Map<String, Value> {
    request("get_order", json!({ "id": id }))
}

fn request(operation: &str, params: Value) -> Map<String, Value> {
    Map::from_iter([("operation".to_owned(), operation.into()), ("params".to_owned(), params)])
}
