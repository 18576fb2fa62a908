//! The overview of a database: one line for each table (R-EXT-2).

use std::sync::Arc;

use aquifer_engine::source::TableLines;

use super::source::Database;
use crate::offer::{DEFAULTS, QUERY_SQL, QUERY_SQL_NOTE};
use crate::schema::exposed_table::ExposedTable;
use crate::schema::table_sample::TableSample;
use crate::work::sample::Sample;
use crate::work::session::WorkError;

impl Database {
    /// The lines of these tables. Tables that no longer exist have none.
    pub(super) async fn describe(&self, tables: Vec<Arc<str>>, is_whole: bool) -> TableLines {
        let offer = self.offer.load_full();
        let mut described = TableLines::default();
        for index in tables.iter().filter_map(|name| offer.readable_table(name)) {
            let Some(exposed) = offer.table(index) else { continue };
            let sample = self.sample(exposed).await;
            if offer.sql_access.is_some() && described.operations.is_empty() {
                described.operations.push((QUERY_SQL.into(), QUERY_SQL_NOTE.to_owned()));
            }
            described.lines.push(offer.overview_line(index, &sample, is_whole));
            let defaults = offer.shows_defaults(index).then_some(DEFAULTS);
            for note in offer.reference_notes(index, is_whole).into_iter().chain(defaults) {
                if !described.notes.iter().any(|known| known == note) {
                    described.notes.push(note.to_owned());
                }
            }
        }
        described
    }

    /// A sample of a table. If it cannot be read now, its line has only its columns.
    async fn sample(&self, exposed: &Arc<ExposedTable>) -> Arc<TableSample> {
        if let Some(sample) = exposed.sample.get() {
            return sample;
        }
        let work = Sample { dialect: self.backend.dialect(), exposed: exposed.clone() };
        match self.backend.read(Arc::new(work)).await {
            Ok(sample) => {
                let sample = Arc::new(sample);
                exposed.sample.set(sample.clone());
                sample
            }
            Err(error) => {
                if let WorkError::Sql(error) = error {
                    tracing::debug!(source = self.settings.name, ?error, "a table could not be sampled");
                }
                Arc::default()
            }
        }
    }
}
