//! Looking into a database: what is found there, less what callers are not to see, under names that stay.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use aquifer_protocol::error::{Code, Failure};

use crate::database::{Backend, Database};
use crate::exposure::{self, Baseline, Mismatch};
use crate::model::{Model, Table};
use crate::name_book::NameBook;
use crate::name_store::NameStore;
use crate::names::Words;
use crate::offer::Offer;
use crate::session::Fault;
use crate::settings::Settings;
use crate::trouble::Trouble;
use crate::work::probe::Probe;

/// What one look leaves to the next.
pub(crate) struct Looking {
    names: NameBook,
    /// What there was when every `hide` applied.
    baseline: Baseline,
    store: Option<NameStore>,
    /// Whether a look has succeeded, and tables have names.
    has_looked: bool,
}

impl Looking {
    pub(crate) fn new(store: Option<NameStore>) -> Self {
        Self { names: NameBook::default(), baseline: Baseline::default(), store, has_looked: false }
    }

    /// Reads the names that tables had before, unless tables have names by now.
    async fn load_names(&mut self) {
        if let (Some(store), false) = (&self.store, self.has_looked) {
            self.names = store.load().await;
        }
    }
}

impl Database {
    /// Looks what there is now, and offers it. What is under way goes on with what was offered before.
    ///
    /// Settings that do not fit the tables fail the first look. Later on, only the tables are withdrawn whose settings no
    /// longer fit: somebody has changed the tables, and the others are still right.
    pub async fn look(&self) -> Result<(), Failure> {
        let mut looking = self.looking.lock().await;
        // The store is asked meanwhile: nobody is to wait for names.
        let (model, ()) = tokio::join!(self.reflect(), looking.load_names());
        let mut model = model.map_err(|trouble| trouble.into_failure(&self.settings.name, None))?;
        self.report_typos(&model);
        let mismatches = exposure::restrict(&mut model, &self.settings, &mut looking.baseline);
        self.misconfigured.store(!mismatches.is_empty(), Ordering::Relaxed);
        if !mismatches.is_empty() && !looking.has_looked {
            return Err(self.misconfiguration(&mismatches));
        }
        for mismatch in mismatches {
            tracing::error!(
                source = self.settings.name,
                "{mismatch}; what it is about is not served until it is mended"
            );
        }
        let settings = self.without_broken_expressions(&model).await;
        let words = self.name_tables(&mut looking, &model).await;
        self.offer.store(Arc::new(Offer::of(model, words, &settings)));
        looking.has_looked = true;
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    async fn reflect(&self) -> Result<Model, Trouble> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.reflect(&self.settings).await,
            Backend::Postgres(postgres) => postgres.reflect(&self.settings).await,
        }
    }

    /// Names the tables, as they were called before where that is known.
    async fn name_tables(&self, looking: &mut Looking, model: &Model) -> Vec<Words> {
        let before = looking.names.clone();
        let words = looking.names.assign(&model.tables, &self.settings, self.clock.now());
        if let Some(store) = looking.store.as_ref().filter(|_| looking.names != before) {
            store.save(&looking.names).await;
        }
        words
    }

    /// Callers learn that something is wrong, the operator what.
    fn misconfiguration(&self, mismatches: &[Mismatch]) -> Failure {
        let source = &self.settings.name;
        let words: Vec<String> = mismatches.iter().map(Mismatch::to_string).collect();
        let message = format!("Source '{source}' is unavailable: its configuration does not fit its tables");
        Failure::new(Code::UpstreamUnavailable, message).detail("source", source.as_str()).because(words.join("; "))
    }

    /// Reports tables and columns that the operator speaks of and that are not there.
    fn report_typos(&self, model: &Model) {
        for (name, said) in &self.settings.tables {
            let named = |table: &&Table| {
                self.settings.fold(&table.name) == self.settings.fold(name) || table.full_name() == *name
            };
            let Some(table) = model.tables.iter().find(named) else {
                tracing::warn!(
                    source = self.settings.name,
                    "the configuration speaks of table '{name}', which is not there"
                );
                continue;
            };
            let columns = said.presets.values().flatten().chain(&said.key);
            for column in columns.filter(|column| table.column(column).is_none()) {
                tracing::warn!(source = self.settings.name, "table '{name}' has no column '{column}'");
            }
        }
    }

    /// What the operator said, without computed fields that the database does not understand. Those are reported.
    async fn without_broken_expressions(&self, model: &Model) -> Settings {
        let mut settings = self.settings.clone();
        for table in &model.tables {
            let schema = table.schema.as_deref();
            let said =
                self.settings.table(schema, &table.name).map(|said| said.computed.as_slice()).unwrap_or_default();
            for computed in said {
                let (table, dialect) = (table.quoted.clone(), self.backend.dialect());
                let probe = Probe { dialect, table, computed: computed.clone() };
                let Err(Fault::Trouble(trouble)) = self.backend.read(probe).await else { continue };
                tracing::error!(source = settings.name, ?trouble, "computed field '{}' is left out", computed.name);
                for known in settings.tables.values_mut() {
                    known.computed.retain(|other| other.name != computed.name || other.sql != computed.sql);
                }
            }
        }
        settings
    }
}
