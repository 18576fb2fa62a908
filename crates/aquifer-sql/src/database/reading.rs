//! Reads rows of one table: plans a request, and runs the plan.

use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_query::collection::QueryRoot;
use aquifer_query::plan::{Embed, FieldSelection, Path, Plan};
use aquifer_query::{ParsedQuery, QueryKind, parse_fields, parse_query};
use futures::FutureExt;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::source::{Database, TableRequest, read_key};
use crate::offer::{Action, Offer, Verb};
use crate::schema::exposed_table::ExposedTable;
use crate::sql::joins::Joins;
use crate::work::OperationOutput;
use crate::work::read::{Get, Query};
use crate::work::traced::CallWork;

/// What a request wants to read.
#[allow(clippy::large_enum_variant, reason = "lives for one call, and boxing it would allocate on every read")]
enum ReadPlan {
    Page(ParsedQuery),
    Row { key: Vec<Value>, select: Arc<[Path]>, embeds: Vec<Embed> },
}

impl Database {
    /// Reads rows, with a newer schema if the request does not fit the known one.
    pub(super) async fn read(
        &self,
        verb: Verb,
        operation: &str,
        mut exposed: Arc<ExposedTable>,
        mut offer: Arc<Offer>,
        now: Timestamp,
        request: TableRequest,
    ) -> Result<OperationOutput, Failure> {
        let TableRequest { params, max_tokens, context, .. } = request;
        let trace = &context.trace;
        let plan = match self.plan_read(verb, &exposed, &offer, &params) {
            Ok(plan) => plan,
            Err(failure) => {
                // Rare, so it is boxed to keep the common future small.
                let newer = self.newer_offer(&offer, operation, &params, failure.clone()).boxed().await?;
                let Some(Action::Table(verb, index)) = newer.action(operation) else { return Err(failure) };
                let Some(table) = newer.table(index).cloned() else { return Err(failure) };
                let plan = self.plan_read(verb, &table, &newer, &params)?;
                (offer, exposed) = (newer, table);
                plan
            }
        };
        let dialect = self.backend.dialect();
        let tables = offer.tables.clone();
        let outcome = match plan {
            ReadPlan::Page(query) => {
                let joins = Joins::for_plan(&query.plan, &exposed, &offer.tables);
                let plan = Plan { max_tokens, ..query.plan };
                let work = Query { exposed: exposed.clone(), dialect, now, plan, key: self.key.clone(), tables, joins };
                let measured = trace.measures_cost().then(|| work.clone());
                let output = self.backend.read(CallWork { work, context: context.clone() }).await;
                if let Some(work) = measured.filter(|_| output.is_ok()) {
                    self.measure_page(&work, &offer, trace).boxed().await;
                }
                output.map(|mut output| {
                    output.warnings.splice(0..0, query.warnings);
                    output
                })
            }
            ReadPlan::Row { key, select, embeds } => {
                let joins = Joins::for_fields(&select, &embeds, &exposed, &offer.tables);
                let work = Get { exposed: exposed.clone(), dialect, now, key, select, embeds, tables, joins };
                let measured = trace.measures_cost().then(|| work.clone());
                let output = self.backend.read(CallWork { work, context: context.clone() }).await;
                if let Some(work) = measured.filter(|_| output.is_ok()) {
                    self.measure_row(&work, &offer, trace).boxed().await;
                }
                output
            }
        };
        match outcome {
            Ok(output) => Ok(output),
            Err(error) => {
                let error = self.explain_schema_error(error, &offer).boxed().await;
                Err(self.failure_of_verb(error, verb, &exposed))
            }
        }
    }

    fn plan_read(
        &self,
        verb: Verb,
        exposed: &ExposedTable,
        offer: &Offer,
        params: &Map<String, Value>,
    ) -> Result<ReadPlan, Failure> {
        if verb == Verb::Get {
            let (select, embeds) = read_selection(offer, exposed, params)?;
            return Ok(ReadPlan::Row { key: read_key(exposed, params)?, select, embeds });
        }
        let kind = if verb == Verb::List { QueryKind::List } else { QueryKind::Search };
        parse_query(QueryRoot::new(&exposed.collection, offer), kind, params, &self.key).map(ReadPlan::Page)
    }
}

/// The selected fields of a single row. The version is included unless the caller listed fields.
pub(super) fn read_selection(
    offer: &Offer,
    exposed: &ExposedTable,
    params: &Map<String, Value>,
) -> Result<(Arc<[Path]>, Vec<Embed>), Failure> {
    let chosen = params.contains_key("fields") || params.contains_key("preset");
    if let Some(whole) = exposed.whole.get().filter(|_| !chosen) {
        return Ok((whole.clone(), Vec::new()));
    }
    let root = QueryRoot::new(&exposed.collection, offer);
    let FieldSelection { paths: mut select, embeds } = parse_fields(root, QueryKind::Get, params)?;
    let version = Path::field("_etag");
    if !params.get("fields").is_some_and(Value::is_array) && !select.contains(&version) {
        select.push(version);
    }
    let select: Arc<[Path]> = select.into();
    Ok((if chosen { select } else { exposed.whole.get_or_init(|| select).clone() }, embeds))
}
