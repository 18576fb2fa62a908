//! Looking into a database: what is found there, less what callers are not to see, under names that stay.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use aquifer_protocol::error::{Code, Failure};

use crate::database::{Backend, Database};
use crate::error::SqlError;
use crate::exposure::{self, Baseline, Mismatch};
use crate::model::{Model, Table};
use crate::name_book::NameBook;
use crate::name_store::NameStore;
use crate::names::Words;
use crate::offer::{Concealed, Offer};
use crate::session::Fault;
use crate::settings::Settings;
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

/// What a look has found.
struct Found {
    model: Model,
    words: Vec<Words>,
    settings: Settings,
}

impl Found {
    /// What is offered of it where every call of some operations is denied.
    fn offer(&self, denied: &HashSet<Arc<str>>) -> Offer {
        let make = |concealed| Offer::of(self.model.clone(), self.words.clone(), &self.settings, concealed);
        let offer = make(Concealed::default());
        match Concealed::of(&offer, denied) {
            nothing if nothing == Concealed::default() => offer,
            concealed => make(concealed),
        }
    }
}

/// What is offered, and what is left out of it.
#[derive(Default)]
pub(crate) struct Shown {
    found: Option<Found>,
    denied: HashSet<Arc<str>>,
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
        let baseline = looking.baseline.clone();
        let (model, ()) = tokio::join!(self.reflect(&baseline), looking.load_names());
        let mut model = model.map_err(|error| error.into_failure(&self.settings.name, None))?;
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
        self.show(Found { model, words, settings });
        looking.has_looked = true;
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Offers what was found.
    fn show(&self, found: Found) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        self.offer.store(Arc::new(found.offer(&shown.denied)));
        shown.found = Some(found);
    }

    /// Leaves these operations, and what they are about, out of what tells of several tables. Says whether that changed
    /// what is offered.
    pub(crate) fn leave_out(&self, denied: &HashSet<Arc<str>>) -> bool {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.denied == *denied {
            return false;
        }
        shown.denied.clone_from(denied);
        let before = self.offer.load().concealed.clone();
        let Some(found) = &shown.found else { return false };
        let offer = found.offer(denied);
        let is_changed = offer.concealed != before;
        if is_changed {
            self.offer.store(Arc::new(offer));
        }
        is_changed
    }

    async fn reflect(&self, baseline: &Baseline) -> Result<Model, SqlError> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.reflect(&self.settings).await,
            Backend::Postgres(postgres) => postgres.reflect(&self.settings, baseline).await,
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
                let Err(Fault::SqlError(error)) = self.backend.read(probe).await else { continue };
                tracing::error!(source = settings.name, ?error, "computed field '{}' is left out", computed.name);
                for known in settings.tables.values_mut() {
                    known.computed.retain(|other| other.name != computed.name || other.sql != computed.sql);
                }
            }
        }
        settings
    }
}
