//! Errors of a database, and the failures that callers see. A driver's message goes to the log, unless the database's
//! authors wrote it for its users.

use aquifer_engine::rehearsal::RowCount;
use aquifer_protocol::error::{Code, Failure, FailureReason};
use serde_json::json;

use crate::schema::exposed_table::ExposedTable;

/// Replaces the name of a table that callers must not see.
pub(crate) const ANOTHER_TABLE: &str = "another table";

/// An error of a database.
#[derive(Debug, Clone)]
pub(crate) enum SqlError {
    /// The database cannot be reached or opened. The reason is for callers, the cause for the log.
    Unavailable { reason: String, cause: String },
    /// The statement exceeded its timeout and was cancelled.
    Timeout { cause: String },
    /// The statement exceeded its timeout and has not ended yet, although it was asked to.
    Unresponsive { cause: String },
    /// Too many requests are waiting, or a lock is held by others.
    Busy { reason: &'static str },
    /// Two transactions conflicted, and this one was rolled back.
    SerializationFailure { cause: String },
    /// The connection was lost, and with it everything that was not committed.
    ConnectionLost { cause: String },
    /// A prepared statement no longer matches its tables.
    StaleStatement { cause: String },
    /// The connection was lost during the commit.
    UnknownOutcome { cause: String },
    /// The database does not permit the operation.
    PermissionDenied { reason: &'static str, cause: String },
    /// A constraint forbids the change.
    Violation(Violation),
    /// The database does not accept a value.
    InvalidValue { problem: &'static str, column: Option<String>, cause: String },
    /// Tables or columns have changed since they were reflected. The message is that of the database, if a statement
    /// failed: then a trigger or view may refer to something that no longer exists, and the tables are unchanged.
    SchemaChanged { message: Option<String>, cause: String },
    /// A trigger or view refers to something that does not exist. Only the owner of the database can correct that.
    BrokenSchema { message: String, cause: String },
    /// The database rejected the statement, perhaps with a message for its users.
    Rejected { message: Option<String>, cause: String },
    /// An error of our own. Everything that was not committed is rolled back.
    Internal { cause: String },
}

/// A violated constraint.
#[derive(Debug, Clone)]
pub(crate) struct Violation {
    pub(crate) kind: Constraint,
    pub(crate) constraint: Option<String>,
    pub(crate) columns: Vec<String>,
    /// The referenced table, if a row of it is missing.
    pub(crate) other: Option<String>,
    /// The rows that refer to the row, if known.
    pub(crate) blocking: Option<Box<BlockingRows>>,
    pub(crate) cause: String,
}

/// The rows that prevent a change, because they refer to the changed row.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockingRows {
    /// Whether the row would have been deleted. Otherwise its key would have been changed.
    pub(crate) is_deletion: bool,
    pub(crate) groups: Vec<ReferringRows>,
    /// The number of further groups.
    pub(crate) more_tables: usize,
    /// Whether there are rows that callers must not learn about.
    pub(crate) has_unreadable: bool,
    /// Whether some tables were not examined.
    pub(crate) is_cut: bool,
}

/// Rows of one table that refer to a row by the same fields.
#[derive(Debug, Clone)]
pub(crate) struct ReferringRows {
    pub(crate) table: String,
    pub(crate) fields: Vec<String>,
    pub(crate) count: RowCount,
}

impl BlockingRows {
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty() && !self.has_unreadable
    }

    /// Describes the referring rows, as the end of a sentence.
    fn describe(&self) -> String {
        let mut parts: Vec<String> = self.groups.iter().map(ReferringRows::describe).collect();
        if self.more_tables > 0 {
            let tables = if self.more_tables == 1 { "table" } else { "tables" };
            parts.push(format!("rows of {} more {tables}", self.more_tables));
        }
        if self.has_unreadable {
            parts.push("other rows, hidden from you,".to_owned());
        }
        if parts.is_empty() {
            parts.push("other rows".to_owned());
        }
        let is_one = parts.len() == 1 && self.groups.iter().any(|group| group.count == RowCount::Exactly(1));
        let verb = if is_one { "refers" } else { "refer" };
        let last = parts.pop().unwrap_or_default();
        let all = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
        format!("{all} {verb} to it")
    }
}

impl ReferringRows {
    fn describe(&self) -> String {
        let rows = if self.count == RowCount::Exactly(1) { "row" } else { "rows" };
        format!("{} {rows} of '{}' ({})", self.count, self.table, self.fields.join(", "))
    }

    fn to_json(&self) -> serde_json::Value {
        match self.count {
            RowCount::Exactly(count) => json!({ "table": self.table, "fields": self.fields, "rows": count }),
            RowCount::MoreThan(count) => json!({ "table": self.table, "fields": self.fields, "more_than": count }),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constraint {
    Unique,
    /// A row refers to a row that does not exist.
    MissingParent,
    /// Other rows still refer to this one.
    HasChildren,
    Check,
    NotNull,
    Exclusion,
}

impl Constraint {
    pub(crate) fn is_reference(self) -> bool {
        matches!(self, Constraint::MissingParent | Constraint::HasChildren)
    }
}

impl SqlError {
    /// Whether nothing was changed and an immediate retry may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(
            self,
            SqlError::SerializationFailure { .. } | SqlError::ConnectionLost { .. } | SqlError::StaleStatement { .. }
        )
    }

    /// The failure that callers see.
    pub(crate) fn into_failure(self, source: &str, exposed: Option<&ExposedTable>) -> Failure {
        match self {
            SqlError::Unavailable { reason, cause } => {
                Failure::explained(Code::UpstreamUnavailable, format_args!("Source '{source}' is unavailable"), reason)
                    .detail("source", source)
                    .because(cause)
            }
            SqlError::ConnectionLost { cause } => {
                let reason = "the connection to its server was lost".to_owned();
                SqlError::Unavailable { reason, cause }.into_failure(source, exposed)
            }
            SqlError::Timeout { cause } => Failure::new(
                Code::UpstreamTimeout,
                format!("Source '{source}' did not answer in time, and the statement was cancelled. Request less, or narrow the filter"),
            )
            .detail("source", source)
            .because(cause),
            SqlError::Unresponsive { cause } => Failure::new(
                Code::UpstreamTimeout,
                format!("Source '{source}' did not answer in time. The statement was asked to stop, but has not ended yet: it may use its connection for some more seconds. Request less, or narrow the filter"),
            )
            .detail("source", source)
            .because(cause),
            SqlError::Busy { reason } => {
                let why = format_args!("{reason}. Try again later");
                Failure::explained(Code::UpstreamUnavailable, format_args!("Source '{source}' is busy"), why)
                    .detail("source", source)
                    .because(reason)
            }
            SqlError::SerializationFailure { cause } => Failure::explained(
                Code::UpstreamUnavailable,
                format_args!("Source '{source}' is busy"),
                "another session is changing the same rows. Nothing was changed; try again",
            )
            .detail("source", source)
            .because(cause),
            SqlError::UnknownOutcome { cause } => Failure::new(
                Code::UpstreamUnavailable,
                format!(
                    "Source '{source}' was lost during the commit: the change may or may not have been made. Read the row before you try again"
                ),
            )
            .with_unknown_outcome()
            .detail("source", source)
            .because(cause),
            SqlError::PermissionDenied { reason, cause } => {
                Failure::explained(Code::PermissionDenied, "Permission denied", reason)
                    .detail("reason", reason)
                    .because(cause)
            }
            SqlError::Violation(violation) => violation.into_failure(exposed),
            SqlError::InvalidValue { problem, column, cause } => {
                // Names of hidden columns are not shown to callers.
                let is_visible = |column: &&str| exposed.is_none_or(|exposed| !exposed.table.is_withheld(column));
                let column = column.as_deref().filter(is_visible);
                let name = column.map(|column| exposed.and_then(|known| known.field_name(column)).unwrap_or(column));
                let name = name.unwrap_or("params");
                Failure::invalid_value(name, problem).because(cause)
            }
            SqlError::SchemaChanged { cause, .. } | SqlError::StaleStatement { cause } => Failure::explained(
                Code::UpstreamError,
                format_args!("Source '{source}' refused the call"),
                "its tables have changed. Use introspect, then try again",
            )
            .detail("source", source)
            .with_reason(FailureReason::SchemaChanged)
            .because(cause),
            SqlError::BrokenSchema { message, cause } => {
                let message = first_line(&message);
                let is_visible = exposed.is_none_or(|exposed| !exposed.table.mentions_withheld(&message));
                let reason = if is_visible { &*message } else { "its schema refers to something that does not exist" };
                let why = format_args!("{reason}. A trigger or view of the database has to be corrected");
                let what = format_args!("Source '{source}' refused the call");
                let failure = Failure::explained(Code::UpstreamError, what, why).detail("source", source);
                let failure = if is_visible { failure.detail("upstream_error", &*message) } else { failure };
                failure.because(cause)
            }
            SqlError::Internal { cause } => Failure::internal(cause),
            SqlError::Rejected { message, cause } => {
                let failure = Failure::new(Code::UpstreamError, format!("Source '{source}' refused the call"))
                    .detail("source", source)
                    .because(cause);
                let is_visible = |message: &String| exposed.is_none_or(|exposed| !exposed.table.mentions_withheld(message));
                match message.filter(is_visible) {
                    Some(message) => failure.with_reason(FailureReason::SourceError(first_line(&message).into())),
                    None => failure,
                }
            }
        }
    }
}

/// The first line of a message from the database's authors, bounded in length.
fn first_line(words: &str) -> String {
    const MAX_MESSAGE_LEN: usize = 500;
    let line = words.lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(MAX_MESSAGE_LEN).collect()
}

/// The failure for a change that referring rows prevent.
fn has_children(resource: &str, blocking: &BlockingRows) -> Failure {
    let what = match blocking.is_deletion {
        true => format!("Resource '{resource}' cannot be deleted:"),
        false => format!("The change is forbidden: the key of '{resource}' cannot change while"),
    };
    let advice = if blocking.groups.is_empty() { "" } else { ". Delete or change those first" };
    let failure = Failure::new(Code::ConflictConstraint, format!("{what} {}{advice}", blocking.describe()));
    match blocking.groups.as_slice() {
        [] => failure,
        groups => failure.detail("referring", groups.iter().map(ReferringRows::to_json).collect::<Vec<_>>()),
    }
}

impl Violation {
    fn into_failure(self, exposed: Option<&ExposedTable>) -> Failure {
        let Violation { kind, constraint, columns, other, blocking, cause } = self;
        let resource = exposed.map_or("row", |exposed| exposed.words.singular.as_str());
        let of_constraint = || {
            Some(
                exposed?
                    .table
                    .constraint_columns(constraint.as_deref()?)?
                    .iter()
                    .map(|column| column.to_string())
                    .collect(),
            )
        };
        let columns: Vec<String> = of_constraint().unwrap_or(columns);
        let fields: Vec<&str> = columns.iter().filter_map(|column| exposed?.field_name(column)).collect();
        // What a constraint on hidden columns compares stays unknown: not which columns, nor whether with another row.
        let compares =
            matches!(kind, Constraint::Unique | Constraint::Check | Constraint::Exclusion | Constraint::MissingParent);
        let is_hidden = exposed.is_some_and(|exposed| {
            let mut on_hidden = exposed.table.constraints_on_hidden();
            columns.iter().any(|column| exposed.table.is_withheld(column))
                || on_hidden.any(|name| fields.is_empty() || constraint.as_deref() == Some(name))
        });
        if compares && is_hidden {
            let words = "The change is forbidden: a constraint of the table does not accept it";
            return Failure::new(Code::ConflictConstraint, words).detail("resource_type", resource).because(cause);
        }
        // A constraint on hidden columns is not named.
        let is_visible = |name: &String| {
            fields.len() == columns.len()
                && exposed.is_some_and(|exposed| exposed.table.constraint_columns(name).is_some())
        };
        let constraint = constraint.as_ref().filter(|name| is_visible(name)).cloned();
        let quoted = fields.iter().map(|field| format!("'{field}'")).collect::<Vec<_>>().join(", ");
        let named = if quoted.is_empty() { "its values".to_owned() } else { quoted };
        let other = match other {
            Some(name) if name != ANOTHER_TABLE => format!("'{name}'"),
            _ => ANOTHER_TABLE.to_owned(),
        };
        let failure = match kind {
            Constraint::Unique => Failure::new(
                Code::ConflictAlreadyExists,
                format!("Resource '{resource}' already exists: another one has the same {named}"),
            ),
            Constraint::MissingParent => Failure::new(
                Code::ConflictConstraint,
                format!("The change is forbidden: {named} refers to a row of {other} which does not exist"),
            ),
            Constraint::HasChildren => has_children(resource, &blocking.unwrap_or_default()),
            Constraint::Exclusion => Failure::new(
                Code::ConflictConstraint,
                format!("The change is forbidden: {named} collides with another row"),
            ),
            Constraint::Check => {
                let name = fields.first().copied().unwrap_or("params");
                Failure::invalid_value(name, "violates a constraint of the table")
            }
            Constraint::NotNull => match fields.first() {
                Some(name) => {
                    Failure::new(Code::ValidationMissingParam, format!("Missing required parameter '{name}'"))
                        .detail("param_name", *name)
                }
                None => Failure::new(Code::ConflictConstraint, "The change is forbidden: a column has no value"),
            },
        };
        let failure = failure.detail("resource_type", resource).detail("fields", fields);
        match constraint {
            Some(constraint) => failure.detail("constraint", constraint),
            None => failure,
        }
        .because(cause)
    }
}
