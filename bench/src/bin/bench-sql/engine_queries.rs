//! The same queries through an engine, from arguments to the text of the answer.

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

use crate::by_hand::paths::{CITY, COUNTRY, HEAVY, PATH_PAGE, PathQuery};
use crate::by_hand::{BEFORE, PageStart, Query};

pub(crate) struct EngineQueries(Engine);

impl EngineQueries {
    pub(crate) async fn open(target: &str) -> anyhow::Result<Self> {
        let settings = Settings::new("shop", target)?;
        let database = Database::open(settings, CursorKey::new([7; 32]), Arc::new(SystemClock)).await;
        let database = database.map_err(|failure| anyhow!("cannot open the database: {}", failure.message()))?;
        let profile = Profile::known("crude").context("there is no profile crude")?;
        let surface = Surface::new(Mode::Single, profile, "")?;
        Ok(Self(Engine::builder(surface).dangerously_let_everything_pass().source(database).build()?))
    }

    /// Returns the text of the answer. A refusal is an error.
    pub(crate) async fn run(&self, arguments: Map<String, Value>) -> anyhow::Result<String> {
        let context = Context::new(Caller::anonymous(), "req");
        match self.0.handle(&Receiver::Unified, arguments, context).await {
            Reply::Response(response @ Response::Success(_)) => Ok(response.render(&Limits::default()).text),
            Reply::Response(refusal) => bail!("refused: {}", refusal.render(&Limits::default()).text),
            Reply::NeedsInput(_) => bail!("it asks for input"),
        }
    }
}

/// The arguments of a tool call for a query.
pub(crate) fn arguments(query: &Query) -> Map<String, Value> {
    let (operation, params) = params(query);
    Map::from_iter([("operation".to_owned(), operation.into()), ("params".to_owned(), params)])
}

/// The operation and parameters for a query.
fn params(query: &Query) -> (&'static str, Value) {
    let (operation, mut params) = match query {
        Query::List(_) => (
            "list_orders",
            json!({ "filter": { "status": "paid" }, "sort": { "field": "created_at", "order": "desc" }, "first": 25 }),
        ),
        Query::CountByStatus => {
            ("list_orders", json!({ "aggregate": { "by_status": { "group_by": "status", "count": true } } }))
        }
        Query::Get(id) | Query::GetBare(id) => ("get_order", json!({ "id": id })),
        Query::Path(query) => path_params(query),
        Query::Latest(column, _) => {
            let name = column.name;
            ("list_visits", json!({ "sort": { "field": name, "order": "desc" }, "fields": ["id", name], "first": 25 }))
        }
    };
    let more = match query {
        Query::List(Some(place)) => Some(("after", json!(place.cursor))),
        Query::Latest(column, true) => Some(("filter", json!({ column.name: { "lt": BEFORE } }))),
        _ => None,
    };
    if let (Some((name, value)), Value::Object(params)) = (more, &mut params) {
        params.insert(name.to_owned(), value);
    }
    (operation, params)
}

/// The operation and parameters for a query that follows references.
fn path_params(query: &PathQuery) -> (&'static str, Value) {
    let parcels = |filter: Value, sort: Value, after: &Option<PageStart>| {
        let fields = ["id", "weight", "sent_at", "customer.name", "customer.city.name"];
        let mut params = json!({ "filter": filter, "sort": sort, "fields": fields, "first": PATH_PAGE });
        if let (Some(place), Value::Object(params)) = (after, &mut params) {
            params.insert("after".to_owned(), json!(place.cursor));
        }
        ("list_parcels", params)
    };
    match query {
        PathQuery::LatestOfCity(after) => {
            parcels(json!({ "customer.city.name": CITY }), json!({ "field": "sent_at", "order": "desc" }), after)
        }
        PathQuery::ByCity(after) => {
            parcels(json!({ "customer.city.country": COUNTRY }), json!({ "field": "customer.city.name" }), after)
        }
        PathQuery::CountryGroups => {
            let groups = json!({ "group_by": "customer.city.country", "count": true, "sum": "weight" });
            ("list_parcels", json!({ "aggregate": { "groups": groups } }))
        }
        PathQuery::MonthGroups => {
            let months = json!({ "field": "sent_at", "by": "month" });
            let groups = json!({ "group_by": months, "count": true, "sum": "weight" });
            ("list_parcels", json!({ "aggregate": { "groups": groups } }))
        }
        PathQuery::Embedded => {
            let parcels = json!({ "parcels": { "fields": ["id", "weight"], "first": 5 } });
            ("list_customers", json!({ "fields": ["id", "name", parcels], "first": PATH_PAGE }))
        }
        PathQuery::Some => {
            let filter = json!({ "parcels": { "some": { "weight": { "gt": HEAVY } } } });
            ("list_customers", json!({ "filter": filter, "fields": ["id", "name"], "first": PATH_PAGE }))
        }
    }
}
