//! From what a person writes to the source it means.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use aquifer_engine::Source;
use aquifer_engine::clock::SystemClock;
use aquifer_query::{CursorKey, FieldType};
use aquifer_sql::{ComputedSettings, Database, Settings, Style, TableSettings, Target};

use crate::config::{self, SourceConfig};
use crate::sample;
use crate::task_board::Board;

/// What happens when a source cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    /// The command fails.
    Fails,
    /// It is served all the same, says so, and comes when it can.
    IsServed,
}

/// A source, and what must go on for it as long as it is served.
pub(crate) struct Opened {
    pub(crate) source: Arc<dyn Source>,
    /// A database that could not be looked into yet.
    pub(crate) absent: Option<Arc<Database>>,
}

impl Opened {
    fn present(source: Arc<dyn Source>) -> Self {
        Self { source, absent: None }
    }
}

/// Opens a source.
pub(crate) async fn open(config: &SourceConfig, key: &CursorKey, absence: Absence) -> anyhow::Result<Opened> {
    let target = config::expand(&config.target)?;
    match target.as_str() {
        "demo:" | "demo" => demo(config, key).await,
        "tasks:" | "tasks" => {
            let name = config.name.as_deref().unwrap_or("tasks");
            Ok(Opened::present(Board::default().into_adapter(name).build().context("the task board cannot be built")?))
        }
        target => match Target::parse(target) {
            Some(found) => {
                let name = config.name.clone().unwrap_or_else(|| found.name());
                database(settings(config, &name, found)?, key, absence).await
            }
            None => bail!(
                "unknown source '{}'. This version serves: demo: (a sample shop), tasks: (the example adapter), \
                 sqlite:PATH or a path that ends in .db or .sqlite, and postgres://USER@HOST/DATABASE. \
                 Adapters written in Rust are served with the aquifer-server crate: see docs/adapters.md",
                Target::without_secrets(target)
            ),
        },
    }
}

/// A sample shop and its support desk, in memory: what is changed in it is gone with the process.
async fn demo(config: &SourceConfig, key: &CursorKey) -> anyhow::Result<Opened> {
    let name = config.name.as_deref().unwrap_or("shop");
    let memory = format!("aquifer-demo-{name}");
    let mut connection = rusqlite::Connection::open(aquifer_sql::memory_name(&memory)).context("no sample database")?;
    sample::fill(&mut connection).context("the sample database cannot be filled")?;
    // The memory is there as long as one connection is: for as long as the process runs.
    Box::leak(Box::new(connection));
    database(settings(config, name, Target::Memory(memory))?, key, Absence::Fails).await
}

async fn database(settings: Settings, key: &CursorKey, absence: Absence) -> anyhow::Result<Opened> {
    let name = settings.name.clone();
    let database = Database::new(settings, key.clone(), Arc::new(SystemClock)).map_err(told)?;
    match database.look().await {
        Ok(()) => Ok(Opened::present(database)),
        Err(failure) if absence == Absence::Fails => Err(told(failure)),
        Err(failure) => {
            eprintln!("aquifer: {}; trying again until '{name}' is there", failure.message());
            Ok(Opened { source: database.clone(), absent: Some(database) })
        }
    }
}

/// What a person is told who started the command: with the cause, which a caller would not see.
fn told(failure: aquifer_protocol::error::Failure) -> anyhow::Error {
    match failure.cause() {
        Some(cause) => anyhow::anyhow!("{} ({cause})", failure.message()),
        None => anyhow::anyhow!("{}", failure.message()),
    }
}

fn settings(config: &SourceConfig, name: &str, target: Target) -> anyhow::Result<Settings> {
    let mut settings = Settings::of(name, target);
    settings.schemas.clone_from(&config.schemas);
    settings.include.clone_from(&config.include);
    settings.exclude.clone_from(&config.exclude);
    settings.read_only = config.read_only;
    settings.style = match config.style {
        None | Some(config::TableStyle::Auto) => Style::Auto,
        Some(config::TableStyle::Tables) => Style::Tables,
        Some(config::TableStyle::Generic) => Style::Generic,
    };
    if let Some(seconds) = config.timeout_seconds {
        if seconds == 0 {
            bail!("source '{name}': timeout_seconds must be 1 or more");
        }
        settings.timeout = Duration::from_secs(seconds);
    }
    if let Some(connections) = config.connections {
        settings.connections = connections.clamp(1, 1_000);
    }
    settings.pages.largest = config.largest_page.unwrap_or(settings.pages.largest).clamp(1, 1_000);
    settings.pages.default = config.page_size.unwrap_or(settings.pages.default).clamp(1, settings.pages.largest);
    settings.tables = tables(&config.tables)?;
    Ok(settings)
}

fn tables(tables: &BTreeMap<String, config::TableConfig>) -> anyhow::Result<BTreeMap<String, TableSettings>> {
    let mut all = BTreeMap::new();
    for (name, said) in tables {
        let mut computed = Vec::new();
        for (field, own) in &said.computed {
            computed.push(ComputedSettings {
                name: field.clone(),
                sql: own.sql.clone(),
                of: match own.of.as_str() {
                    "text" | "string" => FieldType::Text,
                    "integer" => FieldType::Integer,
                    "number" => FieldType::Number,
                    "boolean" => FieldType::Boolean,
                    "time" => FieldType::Time,
                    "date" => FieldType::Date,
                    other => bail!(
                        "table '{name}', computed field '{field}': unknown type '{other}'. \
                         Known: text, integer, number, boolean, time, date"
                    ),
                },
                description: own.description.clone(),
                filterable: own.filterable.unwrap_or(true),
                sortable: own.sortable.unwrap_or(true),
            });
        }
        all.insert(
            name.clone(),
            TableSettings {
                singular: said.singular.clone(),
                plural: said.plural.clone(),
                description: said.description.clone(),
                presets: said.presets.clone(),
                key: said.key.clone(),
                hide: said.hide.clone(),
                computed,
            },
        );
    }
    Ok(all)
}
