//! Where an operation comes from.

use std::sync::Arc;

use crate::trust::Trust;

/// Where an operation comes from, and how far that is trusted.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The source that executes it.
    pub source: Arc<str>,
    /// Its name within the source, without the prefix that distinguishes several sources.
    pub own_name: Arc<str>,
    /// The tool or table behind it, as the source spells it.
    pub backing: Backing,
    /// The database or server that executes it, without secrets. Shown to operators, not to callers.
    pub place: Arc<str>,
    /// The trust level of its source.
    pub trust: Trust,
    /// Whether its parameters follow our conventions instead of an upstream's.
    pub native: bool,
    /// Whether it existed before the newest definitions arrived. New operations never take its name.
    pub is_established: bool,
    /// When it was first seen, in milliseconds since the epoch, if that is recorded. If two operations have the same
    /// name, the older one keeps it, in whatever order sources start.
    pub established_at: Option<u64>,
}

impl Origin {
    /// The origin of an operation with this name of its own, which no source has claimed yet.
    pub fn new(own_name: &str) -> Self {
        Self {
            source: "".into(),
            own_name: own_name.into(),
            backing: Backing::None,
            place: "".into(),
            trust: Trust::Accepted,
            native: true,
            is_established: true,
            established_at: None,
        }
    }
}

/// The tool or table behind an operation. Together with the name of the source, it identifies the operation even after
/// it is renamed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Backing {
    /// Neither a tool nor a table.
    #[default]
    None,
    /// A tool of an upstream server, by the server's own name.
    Tool(Arc<str>),
    /// A table or view, by the database's own name.
    Table(Arc<str>),
    /// A table or view of a database that has schemas.
    TableInSchema {
        /// The schema's name.
        schema: Arc<str>,
        /// The table's name.
        table: Arc<str>,
    },
}

impl Backing {
    /// The tool's name.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Backing::Tool(name) => Some(name),
            Backing::None | Backing::Table(_) | Backing::TableInSchema { .. } => None,
        }
    }

    /// The table's name.
    pub fn table(&self) -> Option<&str> {
        match self {
            Backing::Table(name) | Backing::TableInSchema { table: name, .. } => Some(name),
            Backing::None | Backing::Tool(_) => None,
        }
    }

    /// The table's name with its schema, `sales.orders`, where there is one.
    pub fn table_with_schema(&self) -> Option<String> {
        match self {
            Backing::TableInSchema { schema, table } => Some(format!("{schema}.{table}")),
            Backing::None | Backing::Tool(_) | Backing::Table(_) => None,
        }
    }
}
