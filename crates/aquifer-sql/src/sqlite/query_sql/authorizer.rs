//! Decides what a statement may do, by an allowlist: reading what the views of its tables read, and calling harmless
//! functions.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::functions;

/// A column that is read: schema, table and column in lower case. The column is empty if rows are only counted.
type Read = (String, String, String);

/// What statements read and call.
#[derive(Debug, Default, Clone)]
pub(super) struct Reads {
    columns: HashSet<Read>,
    tables: HashSet<(String, String)>,
    functions: HashSet<String>,
}

impl Reads {
    pub(super) fn extend(&mut self, other: &Self) {
        self.columns.extend(other.columns.iter().cloned());
        self.tables.extend(other.tables.iter().cloned());
        self.functions.extend(other.functions.iter().cloned());
    }

    fn allow(&self, schema: &str, table: &str, column: &str) -> bool {
        let table = (schema.to_ascii_lowercase(), table.to_ascii_lowercase());
        match column {
            "" => self.tables.contains(&table),
            column => self.columns.contains(&(table.0, table.1, column.to_ascii_lowercase())),
        }
    }

    /// Whether it is a table-valued function that only computes, and not a table of that name.
    fn is_table_function(&self, name: &str) -> bool {
        let is_known = |(_, table): &(String, String)| table.eq_ignore_ascii_case(name);
        functions::is_harmless_table(name) && !self.tables.iter().any(is_known)
    }

    fn add(&mut self, context: &AuthContext<'_>) {
        match context.action {
            AuthAction::Read { table_name, column_name } => {
                let schema = context.database_name.unwrap_or_default().to_ascii_lowercase();
                let table = table_name.to_ascii_lowercase();
                self.tables.insert((schema.clone(), table.clone()));
                self.columns.insert((schema, table, column_name.to_ascii_lowercase()));
            }
            AuthAction::Function { function_name } => {
                self.functions.insert(function_name.to_ascii_lowercase());
            }
            _ => {}
        }
    }
}

/// How many calls of functions a statement may contain. A timeout is noticed between two rows at the earliest, so they
/// limit how long it can be exceeded.
const MAX_CALLS: usize = 500;
/// How many of them may be LIKE or GLOB, which take time proportional to the product of two lengths.
const MAX_PATTERNS: usize = 20;

/// The reason why a statement was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    Function(String),
    /// More calls than allowed.
    TooManyCalls(String),
    /// Any other read or action, for the log.
    Other(String),
}

/// Decides what a statement may do.
#[derive(Clone)]
pub(super) struct Authorizer {
    allowed: Arc<Reads>,
    /// Names in the file that the statement does not contain, in lower case.
    unserved: Arc<HashSet<String>>,
    /// How many calls of functions, and of LIKE and GLOB, the statement contains.
    call_count: Arc<AtomicUsize>,
    pattern_count: Arc<AtomicUsize>,
    refusal: Arc<Mutex<Option<Refusal>>>,
}

impl Authorizer {
    pub(super) fn new(allowed: Reads) -> Self {
        Self {
            allowed: Arc::new(allowed),
            unserved: Arc::default(),
            call_count: Arc::default(),
            pattern_count: Arc::default(),
            refusal: Arc::default(),
        }
    }

    /// With the names in the file that are not served.
    pub(super) fn with_unserved(self, names: HashSet<String>) -> Self {
        Self { unserved: Arc::new(names), ..self }
    }

    /// The first refusal.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        self.refusal.lock().clone()
    }

    pub(super) fn install(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let own = self.clone();
        connection.authorizer(Some(move |context: AuthContext<'_>| own.decide(&context)))
    }

    fn is_unserved(&self, table: &str) -> bool {
        self.unserved.contains(&table.to_ascii_lowercase())
    }

    /// Counts a call. Returns the refusal if there are too many.
    fn count_call(&self, function: &str) -> Option<Refusal> {
        let is_pattern = ["like", "glob"].iter().any(|name| name.eq_ignore_ascii_case(function));
        let exceeds = |count: &AtomicUsize, max| count.fetch_add(1, Ordering::Relaxed) >= max;
        if exceeds(&self.call_count, MAX_CALLS) {
            return Some(Refusal::TooManyCalls(format!("it calls functions in more than {MAX_CALLS} places")));
        }
        let is_too_much = is_pattern && exceeds(&self.pattern_count, MAX_PATTERNS);
        is_too_much.then(|| Refusal::TooManyCalls(format!("it has more than {MAX_PATTERNS} LIKE or GLOB")))
    }

    fn decide(&self, context: &AuthContext<'_>) -> Authorization {
        let schema = context.database_name.unwrap_or_default();
        let refusal = match context.action {
            AuthAction::Select | AuthAction::Recursive => return Authorization::Allow,
            AuthAction::Read { table_name, column_name } if self.allowed.allow(schema, table_name, column_name) => {
                return Authorization::Allow;
            }
            AuthAction::Read { table_name, .. }
                if self.allowed.is_table_function(table_name) && !self.is_unserved(table_name) =>
            {
                return Authorization::Allow;
            }
            // Rows of a common table expression are counted.
            AuthAction::Read { table_name, column_name: "" } if schema.is_empty() && !self.is_unserved(table_name) => {
                return Authorization::Allow;
            }
            AuthAction::Function { function_name } => {
                let is_in_view = self.allowed.functions.contains(&function_name.to_ascii_lowercase());
                match self.count_call(function_name) {
                    Some(refusal) => refusal,
                    None if is_in_view || functions::is_harmless(function_name) => return Authorization::Allow,
                    None => Refusal::Function(function_name.to_owned()),
                }
            }
            action => Refusal::Other(format!("{schema}: {action:?}")),
        };
        self.refusal.lock().get_or_insert(refusal);
        Authorization::Deny
    }
}

/// Records what the statement that `prepare` prepares reads.
pub(super) fn record(
    connection: &mut Connection,
    prepare: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<Reads> {
    let reads = Arc::new(Mutex::new(Reads::default()));
    let noted = reads.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        noted.lock().add(&context);
        Authorization::Allow
    }))?;
    let prepared = prepare(connection);
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    prepared?;
    Ok(std::mem::take(&mut *reads.lock()))
}
