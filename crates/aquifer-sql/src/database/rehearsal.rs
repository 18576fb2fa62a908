//! Rehearses changes before anybody is asked to confirm them.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_engine::rehearsal::{Preview, RehearsalResult};
use aquifer_engine::source::Call;
use aquifer_engine::{Context, Validity, is_configuration_changed};
use futures::FutureExt;
use serde_json::{Map, Value};

use super::source::{Database, read_key, take_column_values};
use crate::error::SqlError;
use crate::offer::{Action, Offer, Verb};
use crate::schema::exposed_table::ExposedTable;
use crate::work::change::{Create, Delete, Update};
use crate::work::rehearsal::Rehearsal;
use crate::work::session::WorkError;
use crate::work::traced::CallWork;

impl Database {
    /// Rehearses a change, if trying it is proven to leave no trace.
    pub(super) async fn rehearse_change(&self, call: Call) -> RehearsalResult {
        // The proof must be current.
        let Ok(offer) = self.renew_proof(self.offer.load_full(), &call.name).boxed().await else {
            return RehearsalResult::Unknown;
        };
        let Some(Action::Table(verb, index)) = offer.action(&call.name) else { return RehearsalResult::Unknown };
        let Some(exposed) = offer.table(index) else { return RehearsalResult::Unknown };
        let Call { params, validity, context, .. } = call;
        match self.try_change(verb, (exposed, index), &offer, params, &validity, context).await {
            Ok(Some(preview)) => RehearsalResult::WouldDo(Box::new(preview)),
            Ok(None) => RehearsalResult::Unknown,
            Err(error) if is_decisive(&error) => RehearsalResult::WouldFail(self.failure_of_verb(error, verb, exposed)),
            Err(_) => RehearsalResult::Unknown,
        }
    }

    /// Tries a change in a transaction that is rolled back. `None` for a read.
    pub(super) async fn try_change(
        &self,
        verb: Verb,
        (exposed, index): (&Arc<ExposedTable>, usize),
        offer: &Offer,
        params: Map<String, Value>,
        validity: &Validity,
        call: Arc<Context>,
    ) -> Result<Option<Preview>, WorkError> {
        let context = || self.change_context(exposed, index, offer, self.clock.now(), true);
        let if_match = params.get("if_match").and_then(Value::as_str).map(str::to_owned);
        let rehearsed = match verb {
            Verb::List | Verb::Search | Verb::Get => return Ok(None),
            Verb::Create => {
                let values = take_column_values(exposed, params)?;
                let work = Rehearsal(Create { context: context(), values });
                self.backend.write(CallWork { work, context: call }, validity).boxed().await
            }
            Verb::Update => {
                let key = read_key(exposed, &params)?;
                let input = match params.get("input") {
                    Some(Value::Object(input)) => take_column_values(exposed, input.clone())?,
                    _ => Map::new(),
                };
                let update = Update { context: context(), key, input, if_match };
                self.backend.write(CallWork { work: Rehearsal(update), context: call }, validity).boxed().await
            }
            Verb::Delete => {
                let delete = Delete { context: context(), key: read_key(exposed, &params)?, if_match };
                self.backend.write(CallWork { work: Rehearsal(delete), context: call }, validity).boxed().await
            }
        };
        rehearsed.map(Some)
    }

    /// The tables whose rows must not be mentioned in answers about other tables, because policy may deny listing them
    /// or require confirmation.
    pub(super) fn unreadable_tables(&self, offer: &Offer) -> HashSet<usize> {
        let restricted = self.restricted.load();
        let all = 0..offer.tables.len();
        let Some(restricted) = restricted.as_deref() else { return all.collect() };
        if !restricted.iter().any(|name| name.starts_with("list_")) {
            return HashSet::new();
        }
        let is_restricted = |index: &usize| {
            let mut reads = offer.with_descendants(Verb::List, *index);
            reads.any(|name| restricted.contains(&name))
        };
        all.filter(is_restricted).collect()
    }
}

/// Whether the change itself would fail in the same way. Transient errors do not count.
pub(super) fn is_decisive(error: &WorkError) -> bool {
    match error {
        WorkError::Failure(failure) => !is_configuration_changed(failure),
        WorkError::Sql(error) => match error {
            SqlError::Unavailable { .. }
            | SqlError::PermissionDenied { .. }
            | SqlError::Violation(_)
            | SqlError::InvalidValue { .. }
            | SqlError::Rejected { .. } => true,
            SqlError::Timeout { .. }
            | SqlError::Unresponsive { .. }
            | SqlError::Busy { .. }
            | SqlError::SerializationFailure { .. }
            | SqlError::ConnectionLost { .. }
            | SqlError::StaleStatement { .. }
            | SqlError::UnknownOutcome { .. }
            | SqlError::SchemaChanged { .. }
            | SqlError::BrokenSchema { .. }
            | SqlError::Internal { .. } => false,
        },
    }
}
