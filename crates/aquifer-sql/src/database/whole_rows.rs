//! What a request would cost with a tool that returns whole rows, for a person who compares.

use std::sync::Arc;

use aquifer_engine::trace::Trace;
use aquifer_query::budget::estimate_text;
use aquifer_query::plan::{Path, Plan};
use serde_json::Map;

use super::reading::read_selection;
use super::source::Database;
use crate::offer::Offer;
use crate::schema::exposed_table::ExposedTable;
use crate::sql::joins::Joins;
use crate::work::OperationOutput;
use crate::work::read::{Get, Query};
use crate::work::session::Work;

impl Database {
    /// Reads the page of a query once more, with all fields and no aggregates, and notes its cost.
    pub(super) async fn measure_page(&self, query: &Query, offer: &Offer, trace: &Trace) {
        let Some(select) = whole_row(offer, &query.exposed) else { return };
        let plan = Plan {
            select: select.to_vec(),
            embeds: Vec::new(),
            aggregates: Vec::new(),
            items: true,
            table: false,
            edges: false,
            total: false,
            max_tokens: None,
            ..query.plan.clone()
        };
        let joins = Joins::for_plan(&plan, &query.exposed, &query.tables);
        self.measure(Query { plan, joins, ..query.clone() }, trace).await;
    }

    /// Reads a row once more, with all fields, and notes its cost.
    pub(super) async fn measure_row(&self, get: &Get, offer: &Offer, trace: &Trace) {
        let Some(select) = whole_row(offer, &get.exposed) else { return };
        let joins = Joins::for_fields(&select, &[], &get.exposed, &get.tables);
        self.measure(Get { select, embeds: Vec::new(), joins, ..get.clone() }, trace).await;
    }

    async fn measure<W: Work<Output = OperationOutput>>(&self, work: W, trace: &Trace) {
        // A cost that cannot be measured is not shown.
        if let Ok(output) = self.backend.read(Arc::new(work)).await {
            trace.set_direct_tokens(estimate_text(output.data_text().as_bytes()));
        }
    }
}

/// All fields of a row, without the version that only we add.
fn whole_row(offer: &Offer, exposed: &ExposedTable) -> Option<Arc<[Path]>> {
    let (whole, _) = read_selection(offer, exposed, &Map::new()).ok()?;
    let version = Path::field("_etag");
    Some(whole.iter().filter(|path| **path != version).cloned().collect())
}
