//! The tables of all sources as data, for people. Only what callers may see of them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::Engine;
use crate::snapshot::{Mount, Snapshot};
use crate::source::table_model::TableModel;

/// How many tables of a source are looked at to learn how many rows they have.
const MAX_SAMPLED: usize = 60;

/// How long that may take. A table that was not looked at in time has no number of rows.
const SAMPLE_TIMEOUT: Duration = Duration::from_secs(2);

impl Engine {
    /// The tables of every source that has any, by its name. Operations have the names that callers use, without those
    /// that policy always denies. A table whose rows may never be read is left out.
    pub async fn table_models(&self) -> Vec<(Arc<str>, Vec<TableModel>)> {
        let snapshot = self.snapshot();
        join_all(snapshot.mounts().iter().map(sample)).await;
        let sources = snapshot.mounts().iter().map(|mount| (Arc::from(mount.source.name()), visible(&snapshot, mount)));
        sources.filter(|(_, tables)| !tables.is_empty()).collect()
    }
}

/// Lets a source look at its tables, so that it knows how many rows they have. It remembers that for a while.
async fn sample(mount: &Mount) {
    let tables: Vec<Arc<str>> = mount.source.tables().into_iter().take(MAX_SAMPLED).map(|table| table.name).collect();
    if tables.is_empty() {
        return;
    }
    if tokio::time::timeout(SAMPLE_TIMEOUT, mount.source.describe_tables(tables, false)).await.is_err() {
        tracing::debug!(source = mount.source.name(), "looking at the tables takes long");
    }
}

fn visible(snapshot: &Snapshot, mount: &Mount) -> Vec<TableModel> {
    let source: Arc<str> = mount.source.name().into();
    let served_name = |own_name: &Arc<str>| {
        let (operation, _) = snapshot.operation_of(&source, own_name)?;
        (!snapshot.is_denied(&operation.name)).then(|| operation.name.clone())
    };
    let mut tables = mount.source.table_models();
    tables.retain(|table| table.operations.first().and_then(served_name).is_some());
    let names: HashSet<Arc<str>> = tables.iter().map(|table| table.name.clone()).collect();
    for table in &mut tables {
        table.operations = table.operations.iter().filter_map(served_name).collect();
        table.references.retain(|reference| names.contains(&reference.table));
    }
    tables
}
