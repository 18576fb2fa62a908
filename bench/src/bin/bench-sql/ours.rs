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

use crate::by_hand::paths::{CITY, COUNTRY, HEAVY, PATH_PAGE, PathQuestion};
use crate::by_hand::{BEFORE, Place, Question};

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
    let (operation, params) = params(question);
    Map::from_iter([("operation".to_owned(), operation.into()), ("params".to_owned(), params)])
}

/// The operation and the parameters of a question.
fn params(question: &Question) -> (&'static str, Value) {
    let (operation, mut params) = match question {
        Question::List(_) => (
            "list_orders",
            json!({ "filter": { "status": "paid" }, "sort": { "field": "created_at", "order": "desc" }, "first": 25 }),
        ),
        Question::CountByStatus => {
            ("list_orders", json!({ "aggregate": { "by_status": { "group_by": "status", "count": true } } }))
        }
        Question::Get(id) | Question::GetBare(id) => ("get_order", json!({ "id": id })),
        Question::Path(question) => path_params(question),
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
    (operation, params)
}

/// The operation and the parameters of a question that leads through references.
fn path_params(question: &PathQuestion) -> (&'static str, Value) {
    let parcels = |filter: Value, sort: Value, after: &Option<Place>| {
        let fields = ["id", "weight", "sent_at", "customer.name", "customer.city.name"];
        let mut params = json!({ "filter": filter, "sort": sort, "fields": fields, "first": PATH_PAGE });
        if let (Some(place), Value::Object(params)) = (after, &mut params) {
            params.insert("after".to_owned(), json!(place.cursor));
        }
        ("list_parcels", params)
    };
    match question {
        PathQuestion::LatestOfCity(after) => {
            parcels(json!({ "customer.city.name": CITY }), json!({ "field": "sent_at", "order": "desc" }), after)
        }
        PathQuestion::ByCity(after) => {
            parcels(json!({ "customer.city.country": COUNTRY }), json!({ "field": "customer.city.name" }), after)
        }
        PathQuestion::CountryGroups => {
            let groups = json!({ "group_by": "customer.city.country", "count": true, "sum": "weight" });
            ("list_parcels", json!({ "aggregate": { "groups": groups } }))
        }
        PathQuestion::MonthGroups => {
            let months = json!({ "field": "sent_at", "by": "month" });
            let groups = json!({ "group_by": months, "count": true, "sum": "weight" });
            ("list_parcels", json!({ "aggregate": { "groups": groups } }))
        }
        PathQuestion::Embedded => {
            let parcels = json!({ "parcels": { "fields": ["id", "weight"], "first": 5 } });
            ("list_customers", json!({ "fields": ["id", "name", parcels], "first": PATH_PAGE }))
        }
        PathQuestion::Some => {
            let filter = json!({ "parcels": { "some": { "weight": { "gt": HEAVY } } } });
            ("list_customers", json!({ "filter": filter, "fields": ["id", "name"], "first": PATH_PAGE }))
        }
    }
}
