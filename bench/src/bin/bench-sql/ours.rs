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

use crate::by_hand::{BEFORE, Question};

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
}

/// A question as the arguments of a tool call.
pub(crate) fn arguments(question: &Question) -> Map<String, Value> {
    let (operation, mut params) = match question {
        Question::List(_) => (
            "list_orders",
            json!({ "filter": { "status": "paid" }, "sort": { "field": "created_at", "order": "desc" }, "first": 25 }),
        ),
        Question::CountByStatus => {
            ("list_orders", json!({ "aggregate": { "by_status": { "group_by": "status", "count": true } } }))
        }
        Question::Get(id) | Question::GetBare(id) => ("get_order", json!({ "id": id })),
        Question::Latest(column, _) => {
            let name = column.name;
            ("list_visits", json!({ "sort": { "field": name, "order": "desc" }, "fields": ["id", name], "first": 25 }))
        }
    };
    let more = match question {
        Question::List(Some(place)) => Some(("after", json!(place.cursor))),
        Question::Latest(column, true) => Some(("filter", json!({ column.name: { "lt": BEFORE } }))),
        _ => None,
    };
    if let (Some((name, value)), Value::Object(params)) = (more, &mut params) {
        params.insert(name.to_owned(), value);
    }
    Map::from_iter([("operation".to_owned(), operation.into()), ("params".to_owned(), params)])
}
