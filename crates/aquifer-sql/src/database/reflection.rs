//! Reflection: reads the schema of a database, removes what callers must not see, and assigns stable names to tables.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use aquifer_engine::source::SourceStatus;
use aquifer_protocol::error::{Code, Failure};

use super::backend::Backend;
use super::source::Database;
use crate::error::SqlError;
use crate::offer::{ConcealedTables, Offer};
use crate::query_sql::QuerySqlProblems;
use crate::schema::exposure::{self, Baseline, Mismatch, suggestion};
use crate::schema::model::{Model, Table};
use crate::schema::name_book::NameBook;
use crate::schema::name_store::NameStore;
use crate::schema::names::Words;
use crate::settings::{Settings, TableFilter};
use crate::statement::Dialect;
use crate::work::probe::Probe;
use crate::work::session::WorkError;

/// State that is carried from one reflection to the next.
pub(crate) struct ReflectionState {
    names: NameBook,
    /// The columns at the time when every `hide` matched.
    baseline: Baseline,
    store: Option<NameStore>,
    /// Whether a reflection has succeeded, so that tables have names.
    has_succeeded: bool,
}

/// The result of a reflection.
struct ReflectedSchema {
    model: Model,
    words: Vec<Words>,
    settings: Settings,
    /// Settings that do not match the tables.
    problems: Vec<String>,
}

impl ReflectedSchema {
    /// The offer, given the operations that are always denied.
    fn offer(&self, denied: &HashSet<Arc<str>>) -> Offer {
        let make = |concealed| Offer::new(self.model.clone(), self.words.clone(), &self.settings, concealed);
        let offer = make(ConcealedTables::default());
        match ConcealedTables::from_denied(&offer, denied) {
            nothing if nothing == ConcealedTables::default() => offer,
            concealed => make(concealed),
        }
    }

    /// Says which tables of sessions and tokens are not served, and how to serve them.
    fn credential_note(&self) -> Option<String> {
        let tables: Vec<String> = self.model.credential_tables.iter().map(|table| format!("'{table}'")).collect();
        (!tables.is_empty()).then(|| {
            format!(
                "not served because they hold sessions, tokens or keys: {}. To serve one, name it in 'include' or give it an entry in \
                 'tables'",
                tables.join(", ")
            )
        })
    }
}

/// The published schema, and the operations that are denied.
#[derive(Default)]
pub(crate) struct PublishedSchema {
    reflected: Option<ReflectedSchema>,
    denied: HashSet<Arc<str>>,
}

impl ReflectionState {
    pub(crate) fn new(store: Option<NameStore>) -> Self {
        Self { names: NameBook::default(), baseline: Baseline::default(), store, has_succeeded: false }
    }

    /// Reads the stored table names, unless the tables are already named.
    async fn load_names(&mut self) {
        if let (Some(store), false) = (&self.store, self.has_succeeded) {
            self.names = store.load().await;
        }
    }
}

impl Database {
    /// Reads the current schema and publishes it. Calls in progress finish with the previous one.
    ///
    /// Settings that do not match the tables fail the first reflection. Later, only the tables whose settings no longer
    /// match are withdrawn: the schema was changed, and the settings of the other tables are still valid.
    pub async fn reflect(&self) -> Result<(), Failure> {
        let mut reflection = self.reflection.lock().await;
        // Reads the store concurrently, so that names do not delay the reflection.
        let baseline = reflection.baseline.clone();
        let (model, ()) = tokio::join!(self.read_model(&baseline), reflection.load_names());
        let mut model = model.map_err(|error| error.into_failure(&self.settings.name, None))?;
        let mut problems = self.find_typos(&model);
        let mismatches = exposure::restrict(&mut model, &self.settings, &mut reflection.baseline);
        self.misconfigured.store(!mismatches.is_empty(), Ordering::Relaxed);
        if !mismatches.is_empty() && !reflection.has_succeeded {
            return Err(self.misconfiguration(&mismatches));
        }
        for mismatch in mismatches {
            problems.push(format!("{mismatch}; the affected tables are not served until this is fixed"));
        }
        let QuerySqlProblems { readable, unjudged } = self.check_query_sql(&model).await?;
        let sql_problems: Vec<Mismatch> = readable.into_iter().map(Mismatch).collect();
        if !sql_problems.is_empty() {
            self.misconfigured.store(true, Ordering::Relaxed);
            if !reflection.has_succeeded {
                return Err(self.misconfiguration(&sql_problems));
            }
            for problem in &sql_problems {
                problems.push(format!("{problem}; query_sql is withdrawn until this is fixed"));
            }
        }
        let mut settings = self.without_broken_expressions(&model, &mut problems).await;
        settings.query_sql &= sql_problems.is_empty() && unjudged.is_empty();
        problems.extend(unjudged);
        let words = self.name_tables(&mut reflection, &model).await;
        for problem in &problems {
            tracing::error!(source = self.settings.name, "{problem}");
        }
        self.publish(ReflectedSchema { model, words, settings, problems });
        reflection.has_succeeded = true;
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Publishes the result of a reflection.
    fn publish(&self, reflected: ReflectedSchema) {
        let mut published = self.published.lock();
        let before = published.reflected.as_ref().and_then(|before| before.model.unwritable_reason.as_ref());
        if let Some(reason) = reflected.model.unwritable_reason.as_ref().filter(|reason| before != Some(*reason)) {
            tracing::warn!(source = self.settings.name, "only reading is offered, because {reason}");
        }
        let before = published.reflected.as_ref().and_then(ReflectedSchema::credential_note);
        if let Some(note) = reflected.credential_note().filter(|note| before.as_ref() != Some(note)) {
            tracing::warn!(source = self.settings.name, "{note}");
        }
        self.offer.store(Arc::new(reflected.offer(&published.denied)));
        published.reflected = Some(reflected);
    }

    /// What the operator should know about the tables and their settings.
    pub(super) fn source_status(&self) -> SourceStatus {
        let published = self.published.lock();
        let Some(reflected) = &published.reflected else { return SourceStatus::default() };
        let reason = reflected.model.unwritable_reason.as_ref();
        let unwritable = reason.map(|reason| format!("only reading is offered, because {reason}"));
        let writable = reflected.model.tables.iter().filter(|table| table.may.insert || table.may.update);
        let hidden = writable.filter_map(hidden_constraint_note);
        SourceStatus {
            notes: unwritable.into_iter().chain(reflected.credential_note()).chain(hidden).collect(),
            setting_problems: reflected.problems.clone(),
            ..SourceStatus::default()
        }
    }

    /// Removes denied operations and their tables from everything that covers several tables. Returns whether that
    /// changed the offer.
    pub(crate) fn conceal_denied(&self, denied: &HashSet<Arc<str>>) -> bool {
        let mut published = self.published.lock();
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

    /// Names the tables, reusing known names.
    async fn name_tables(&self, reflection: &mut ReflectionState, model: &Model) -> Vec<Words> {
        let before = reflection.names.clone();
        let words = reflection.names.assign(&model.tables, &self.settings, self.clock.now());
        if let Some(store) = reflection.store.as_ref().filter(|_| reflection.names != before) {
            store.save(&reflection.names).await;
        }
        words
    }

    /// The failure for callers says only that the configuration is wrong. The details go to the operator's log.
    fn misconfiguration(&self, mismatches: &[Mismatch]) -> Failure {
        let source = &self.settings.name;
        let words: Vec<String> = mismatches.iter().map(Mismatch::to_string).collect();
        let what = format_args!("Source '{source}' is unavailable");
        Failure::explained(Code::UpstreamUnavailable, what, "its configuration does not match its tables")
            .detail("source", source.as_str())
            .because(words.join("; "))
    }

    /// Tables and columns in the settings that do not exist. Whether a table exists that is left out is not known.
    fn find_typos(&self, model: &Model) -> Vec<String> {
        let mut problems = Vec::new();
        let filter = TableFilter::new(&self.settings, |_| {});
        let schemas = self.settings.offered_schemas();
        let is_left_out = |entry: &str| match entry.split_once('.') {
            Some((schema, table)) if self.backend.dialect() == Dialect::Postgres => {
                !schemas.iter().any(|offered| offered == schema) || !filter.admits(Some(schema), table)
            }
            _ => !filter.admits(None, entry),
        };
        for (name, table_settings) in &self.settings.tables {
            let named = |table: &&Table| {
                self.settings.fold(&table.name) == self.settings.fold(name) || table.full_name() == *name
            };
            let Some(table) = model.tables.iter().find(named) else {
                // A mistake in 'hide' or 'show' is more than a typing error and reported as such.
                if !is_left_out(name) && table_settings.hide.is_empty() && table_settings.show.is_empty() {
                    let hint = suggestion(name, model.tables.iter().map(|table| &*table.name));
                    problems.push(format!("the configuration names table '{name}', which does not exist.{hint}"));
                }
                continue;
            };
            let in_presets = table_settings
                .presets
                .iter()
                .flat_map(|(preset, columns)| columns.iter().map(move |column| (format!("preset '{preset}'"), column)));
            let in_key = table_settings.key.iter().map(|column| ("'key'".to_owned(), column));
            for (setting, column) in in_presets.chain(in_key).filter(|(_, column)| table.column(column).is_none()) {
                let hint = suggestion(column, table.columns.iter().map(|column| &*column.sql_name));
                let words = format!("table '{name}': {setting} names '{column}', which is not a column of it.{hint}");
                problems.push(words);
            }
        }
        problems
    }

    /// The settings without computed fields whose expressions the database rejects.
    async fn without_broken_expressions(&self, model: &Model, problems: &mut Vec<String>) -> Settings {
        let mut settings = self.settings.clone();
        for table in &model.tables {
            let schema = table.schema.as_deref();
            let table_settings = self
                .settings
                .table(schema, &table.name)
                .map(|table_settings| table_settings.computed.as_slice())
                .unwrap_or_default();
            for computed in table_settings {
                let (quoted, dialect) = (table.quoted.clone(), self.backend.dialect());
                let probe = Probe { dialect, table: quoted, computed: computed.clone() };
                let Err(WorkError::Sql(error)) = self.backend.read(Arc::new(probe)).await else { continue };
                let cause = error.into_failure(&settings.name, None).cause().unwrap_or_default().to_owned();
                // SQLite repeats the statement.
                let reason = cause.split(" in SELECT (").next().unwrap_or_default();
                problems.push(format!(
                    "table '{}': computed field '{}' is left out, because the database rejects its expression: {reason}",
                    table.full_name(),
                    computed.name
                ));
                for table in settings.tables.values_mut() {
                    table.computed.retain(|other| other.name != computed.name || other.sql != computed.sql);
                }
            }
        }
        settings
    }
}

/// Warns that changes of a table reveal something about its hidden columns.
fn hidden_constraint_note(table: &Table) -> Option<String> {
    let names: Vec<String> = table.constraints_on_hidden().map(|name| format!("'{name}'")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "table '{}': whether a change succeeds says something about hidden columns, because of {}. Tries are recorded \
             and limited; deny changes of the table if that is too much",
            table.full_name(),
            names.join(", ")
        )
    })
}
