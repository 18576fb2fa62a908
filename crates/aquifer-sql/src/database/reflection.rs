//! Looking into a database: what is found there, less what callers are not to see, under names that stay.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use aquifer_protocol::error::{Code, Failure};

use super::backend::Backend;
use super::source::Database;
use crate::error::SqlError;
use crate::exposure::{self, Baseline, Mismatch};
use crate::offer::{ConcealedTables, Offer};
use crate::schema::model::{Model, Table};
use crate::schema::name_book::NameBook;
use crate::schema::name_store::NameStore;
use crate::schema::names::Words;
use crate::settings::Settings;
use crate::work::probe::Probe;
use crate::work::session::WorkError;

/// What one look leaves to the next.
pub(crate) struct ReflectionState {
    names: NameBook,
    /// What there was when every `hide` applied.
    baseline: Baseline,
    store: Option<NameStore>,
    /// Whether a look has succeeded, and tables have names.
    has_succeeded: bool,
}

/// What a look has found.
struct ReflectedSchema {
    model: Model,
    words: Vec<Words>,
    settings: Settings,
}

impl ReflectedSchema {
    /// What is offered of it where every call of some operations is denied.
    fn offer(&self, denied: &HashSet<Arc<str>>) -> Offer {
        let make = |concealed| Offer::new(self.model.clone(), self.words.clone(), &self.settings, concealed);
        let offer = make(ConcealedTables::default());
        match ConcealedTables::from_denied(&offer, denied) {
            nothing if nothing == ConcealedTables::default() => offer,
            concealed => make(concealed),
        }
    }
}

/// What is offered, and what is left out of it.
#[derive(Default)]
pub(crate) struct PublishedSchema {
    reflected: Option<ReflectedSchema>,
    denied: HashSet<Arc<str>>,
}

impl ReflectionState {
    pub(crate) fn new(store: Option<NameStore>) -> Self {
        Self { names: NameBook::default(), baseline: Baseline::default(), store, has_succeeded: false }
    }

    /// Reads the names that tables had before, unless tables have names by now.
    async fn load_names(&mut self) {
        if let (Some(store), false) = (&self.store, self.has_succeeded) {
            self.names = store.load().await;
        }
    }
}

impl Database {
    /// Looks what there is now, and offers it. What is under way goes on with what was offered before.
    ///
    /// Settings that do not fit the tables fail the first look. Later on, only the tables are withdrawn whose settings no
    /// longer fit: somebody has changed the tables, and the others are still right.
    pub async fn reflect(&self) -> Result<(), Failure> {
        let mut reflection = self.reflection.lock().await;
        // The store is asked meanwhile: nobody is to wait for names.
        let baseline = reflection.baseline.clone();
        let (model, ()) = tokio::join!(self.read_model(&baseline), reflection.load_names());
        let mut model = model.map_err(|error| error.into_failure(&self.settings.name, None))?;
        self.report_typos(&model);
        let mismatches = exposure::restrict(&mut model, &self.settings, &mut reflection.baseline);
        self.misconfigured.store(!mismatches.is_empty(), Ordering::Relaxed);
        if !mismatches.is_empty() && !reflection.has_succeeded {
            return Err(self.misconfiguration(&mismatches));
        }
        for mismatch in mismatches {
            tracing::error!(
                source = self.settings.name,
                "{mismatch}; what it is about is not served until it is mended"
            );
        }
        let settings = self.without_broken_expressions(&model).await;
        let words = self.name_tables(&mut reflection, &model).await;
        self.publish(ReflectedSchema { model, words, settings });
        reflection.has_succeeded = true;
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Offers what was found.
    fn publish(&self, reflected: ReflectedSchema) {
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        self.offer.store(Arc::new(reflected.offer(&published.denied)));
        published.reflected = Some(reflected);
    }

    /// Leaves these operations, and what they are about, out of what tells of several tables. Says whether that changed
    /// what is offered.
    pub(crate) fn conceal_denied(&self, denied: &HashSet<Arc<str>>) -> bool {
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        if published.denied == *denied {
            return false;
        }
        published.denied.clone_from(denied);
        let before = self.offer.load().concealed.clone();
        let Some(reflected) = &published.reflected else { return false };
        let offer = reflected.offer(denied);
        let is_changed = offer.concealed != before;
        if is_changed {
            self.offer.store(Arc::new(offer));
        }
        is_changed
    }

    async fn read_model(&self, baseline: &Baseline) -> Result<Model, SqlError> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.reflect(&self.settings).await,
            Backend::Postgres(postgres) => postgres.reflect(&self.settings, baseline).await,
        }
    }

    /// Names the tables, as they were called before where that is known.
    async fn name_tables(&self, reflection: &mut ReflectionState, model: &Model) -> Vec<Words> {
        let before = reflection.names.clone();
        let words = reflection.names.assign(&model.tables, &self.settings, self.clock.now());
        if let Some(store) = reflection.store.as_ref().filter(|_| reflection.names != before) {
            store.save(&reflection.names).await;
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
        for (name, table_settings) in &self.settings.tables {
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
            let columns = table_settings.presets.values().flatten().chain(&table_settings.key);
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
            let table_settings = self
                .settings
                .table(schema, &table.name)
                .map(|table_settings| table_settings.computed.as_slice())
                .unwrap_or_default();
            for computed in table_settings {
                let (table, dialect) = (table.quoted.clone(), self.backend.dialect());
                let probe = Probe { dialect, table, computed: computed.clone() };
                let Err(WorkError::Sql(error)) = self.backend.read(probe).await else { continue };
                tracing::error!(source = settings.name, ?error, "computed field '{}' is left out", computed.name);
                for known in settings.tables.values_mut() {
                    known.computed.retain(|other| other.name != computed.name || other.sql != computed.sql);
                }
            }
        }
        settings
    }
}
