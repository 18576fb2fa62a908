//! Reads rows of one table: plans a request, and runs the plan.

use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_protocol::warning::Warning;
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

/// What a request reads.
enum Read {
    Page(Arc<CallWork<Query>>, Vec<Warning>),
    Row(Arc<CallWork<Get>>),
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
        let read = match self.plan_read(verb, &exposed, &offer, now, &request) {
            Ok(read) => read,
            Err(failure) => {
                // Rare, so it is boxed to keep the common future small.
                let newer = self.newer_offer(&offer, operation, &request.params, failure.clone()).boxed().await?;
                let Some(Action::Table(verb, index)) = newer.action(operation) else { return Err(failure) };
                let Some(table) = newer.table(index).cloned() else { return Err(failure) };
                let read = self.plan_read(verb, &table, &newer, now, &request)?;
                (offer, exposed) = (newer, table);
                read
            }
        };
        let trace = &request.context.trace;
        let outcome = match read {
            Read::Page(work, warnings) => {
                let measured = trace.measures_cost().then(|| work.clone());
                let output = self.backend.read(work).await;
                if let Some(measured) = measured.filter(|_| output.is_ok()) {
                    self.measure_page(&measured.work, &offer, trace).boxed().await;
                }
                output.map(|mut output| {
                    output.warnings.splice(0..0, warnings);
                    output
                })
            }
            Read::Row(work) => {
                let measured = trace.measures_cost().then(|| work.clone());
                let output = self.backend.read(work).await;
                if let Some(measured) = measured.filter(|_| output.is_ok()) {
                    self.measure_row(&measured.work, &offer, trace).boxed().await;
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
        exposed: &Arc<ExposedTable>,
        offer: &Offer,
        now: Timestamp,
        request: &TableRequest,
    ) -> Result<Read, Failure> {
        let TableRequest { params, max_tokens, context, .. } = request;
        let (exposed, context) = (exposed.clone(), context.clone());
        let (dialect, tables) = (self.backend.dialect(), offer.tables.clone());
        if verb == Verb::Get {
            let (select, embeds) = read_selection(offer, &exposed, params)?;
            let joins = Joins::for_fields(&select, &embeds, &exposed, &tables);
            let key = read_key(&exposed, params)?;
            let work = Get { exposed, dialect, now, key, select, embeds, tables, joins };
            return Ok(Read::Row(Arc::new(CallWork { work, context })));
        }
        let kind = if verb == Verb::List { QueryKind::List } else { QueryKind::Search };
        let ParsedQuery { plan, warnings } =
            parse_query(QueryRoot::new(&exposed.collection, offer), kind, params, &self.key)?;
        let plan = Plan { max_tokens: *max_tokens, ..plan };
        let joins = Joins::for_plan(&plan, &exposed, &tables);
        let work = Query { exposed, dialect, now, plan, key: self.key.clone(), tables, joins };
        Ok(Read::Page(Arc::new(CallWork { work, context }), warnings))
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
