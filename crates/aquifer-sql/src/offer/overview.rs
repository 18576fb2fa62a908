//! Tables in one line each: `loans (48210): id*, copy_id→copies, due_on date, returned_at time?, state open|lost`
//! (R-EXT-2). Only what callers see of a table: hidden columns are not in the model any more, and references to
//! concealed tables are left out.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_engine::source::TableSummary;
use aquifer_protocol::introspect::signature::{plain_or_quoted, plain_values};
use aquifer_query::FieldType;
use aquifer_query::collection::{Cardinality, Reference};
use serde_json::Value;

use super::{Offer, Verb};
use crate::schema::column_defaults::ColumnDefault;
use crate::schema::exposed_table::{ExposedTable, Formula};
use crate::schema::model::{Column, Model, OnDelete};
use crate::schema::table_sample::{RowCount, TableSample};
use crate::schema::view_condition::view_condition;

/// Bytes of a line in an overview of many tables, and of a table that was asked for. Nothing is begun after them.
const MAX_LINE_BYTES: usize = 1_500;
const MAX_WHOLE_LINE_BYTES: usize = 16_000;

/// What overviews say once if they show defaults.
pub(crate) const DEFAULTS: &str = "=x: default x";

/// What overviews say once about names in paths, for a reference from `s` to `t`: other names are shown. Instead of naming
/// every computed field that tables have by themselves, they say that too.
const PATHS: &str = "s.x_id→t: s.x, t.s";
const PATHS_AND_COUNTS: &str = "s.x_id→t: s.x, t.s, _computed.s_count";

/// What overviews say once if they show names of references to a table.
const INCOMING: &str = "←y: path y to rows that refer here";

/// What overviews say once about deleting a row that others refer to.
const REFUSED: &str = "→ blocks delete";
const CASCADES: &str = "→! is deleted too";
const CLEARS: &str = "→~ is set to null";

/// Overviews of larger databases have no room for other names of paths, and say nothing about deleting where every
/// reference prevents it.
const MAX_TABLES_IN_FULL: usize = 12;

/// Keys that are shown of a JSON column.
const MAX_SHOWN_KEYS: usize = 8;

impl Offer {
    /// The tables that callers may read.
    pub(crate) fn table_summaries(&self) -> Vec<TableSummary> {
        let tables = self.tables.iter().enumerate().filter(|(index, _)| self.concealed.is_readable(*index));
        tables
            .map(|(index, exposed)| {
                let operations = Verb::ALL.into_iter().map(|verb| Arc::from(verb.operation_name(exposed)));
                let is_linked = |from: usize, to: usize| from == index || to == index;
                let fields: Vec<&str> = exposed.table.columns.iter().map(|column| &*column.name).collect();
                TableSummary {
                    name: exposed.words.plural.as_str().into(),
                    operations: operations.filter(|name: &Arc<str>| self.offers(name)).collect(),
                    reference_count: self.references.iter().filter(|known| is_linked(known.from, known.to)).count(),
                    description: format!(
                        "{} {}",
                        exposed.table.comment.as_deref().unwrap_or_default(),
                        fields.join(" ")
                    ),
                }
            })
            .collect()
    }

    /// The index of a table that callers may read, by its name in overviews.
    pub(crate) fn readable_table(&self, name: &str) -> Option<usize> {
        let mut tables = self.tables.iter().enumerate();
        let table = tables.find(|(_, exposed)| exposed.words.plural == name);
        table.map(|(index, _)| index).filter(|index| self.concealed.is_readable(*index))
    }

    /// The line of a table.
    pub(crate) fn overview_line(&self, index: usize, sample: &TableSample, is_whole: bool) -> String {
        let Some(exposed) = self.table(index) else { return String::new() };
        let max_bytes = if is_whole { MAX_WHOLE_LINE_BYTES } else { MAX_LINE_BYTES };
        let mut line = exposed.words.plural.clone();
        line.push_str(&self.sql_name(&exposed.words.plural, exposed.table.schema.as_deref(), &exposed.table.name));
        let condition = sample.definition.as_deref().and_then(|sql| view_condition(sql, |name| self.may_show(name)));
        let about = match (&sample.rows, &sample.definition, condition) {
            (_, Some(_), Some(condition)) => format!(" (view: {condition})"),
            (_, Some(_), None) => " (view)".to_owned(),
            (Some(RowCount::About(rows)), None, _) => format!(" ({rows})"),
            (Some(RowCount::MoreThan(rows)), None, _) => format!(" ({rows}+)"),
            (None, None, _) => String::new(),
        };
        line.push_str(&about);
        let columns = exposed.table.columns.iter().map(|column| self.column(index, exposed, column, sample));
        let composite =
            self.references.iter().filter(|reference| reference.from == index && reference.columns.len() > 1);
        let composite = composite.filter(|reference| !reference.conceals_to).filter_map(|reference| {
            let (columns, target) = (reference.columns.join(", "), &self.table(reference.to)?.words.plural);
            Some(format!("({columns})→{}{target}", delete_mark(reference.on_delete)))
        });
        let incoming = self.shown_incoming(exposed, is_whole).into_iter().map(|name| format!("←{name}"));
        let is_told = |name: &str| is_whole || !is_child_count(exposed, name);
        let computed = exposed.collection.computed.iter().filter(|value| is_told(&value.name)).map(|value| {
            let word = type_word(&value.field_type).map(|word| format!(" {word}")).unwrap_or_default();
            format!("_computed.{}{word}", value.name)
        });
        let (mut is_first, mut left_out) = (true, 0_usize);
        for part in columns.chain(composite).chain(incoming).chain(computed) {
            if line.len() >= max_bytes {
                left_out += 1;
                continue;
            }
            line.push_str(if is_first { ": " } else { ", " });
            line.push_str(&part);
            is_first = false;
        }
        if left_out > 0 {
            line.push_str(&format!(", … {left_out} more"));
        }
        line
    }

    fn column(&self, table: usize, exposed: &ExposedTable, column: &Column, sample: &TableSample) -> String {
        let mut text = plain_or_quoted(&column.name);
        text.push_str(&self.sql_name(&column.name, None, &column.sql_name));
        let is_key = exposed.table.key_columns().any(|key| key.name == column.name);
        if is_key {
            text.push('*');
        }
        let reference = self.references.iter().find(|reference| {
            reference.from == table
                && !reference.conceals_to
                && matches!(reference.columns.as_slice(), [only] if *only == column.name)
        });
        if let Some((reference, target)) = reference.and_then(|reference| Some((reference, self.table(reference.to)?)))
        {
            text.push('→');
            text.push_str(delete_mark(reference.on_delete));
            text.push_str(&target.words.plural);
        } else {
            let word = match &column.field_type {
                // Keys are numbers unless something else is said.
                FieldType::Integer if is_key => None,
                FieldType::Text if is_key => Some("text".to_owned()),
                field_type => type_word(field_type),
            };
            if let Some(word) = word {
                text.push(' ');
                text.push_str(&word);
            }
        }
        let keys = sample.keys.iter().find(|(name, _)| *name == column.name).map(|(_, keys)| keys.as_slice());
        if let Some(keys) = keys.filter(|keys| !keys.is_empty()) {
            let shown: Vec<String> = keys.iter().take(MAX_SHOWN_KEYS).map(|key| plain_or_quoted(key)).collect();
            let more = if keys.len() > MAX_SHOWN_KEYS { ", …" } else { "" };
            text.push_str(&format!(" {{{}{more}}}", shown.join(", ")));
        }
        if let Some(default) = shown_default(column) {
            text.push('=');
            text.push_str(&default);
        }
        // Databases do not know which columns of a view may be NULL.
        if column.nullable && !is_key && sample.definition.is_none() {
            text.push('?');
        }
        text
    }

    /// The name in statements that callers write, if they may write any and it is another name.
    fn sql_name(&self, shown: &str, schema: Option<&str>, name: &str) -> String {
        match (&self.sql_access, schema) {
            (Some(_), _) if shown == name => String::new(),
            (Some(_), Some(schema)) => format!(" ={}.{}", sql_identifier(schema), sql_identifier(name)),
            (Some(_), None) => format!(" ={}", sql_identifier(name)),
            (None, _) => String::new(),
        }
    }

    /// The paths to rows that refer to a table. Unless all are asked for, those that have the name of their table are left
    /// out: a note tells of them.
    fn shown_incoming<'a>(&self, exposed: &'a ExposedTable, is_whole: bool) -> Vec<&'a str> {
        let incoming = exposed.collection.references.iter().filter(|known| known.cardinality == Cardinality::Many);
        let has_name_of_table =
            |known: &Reference| self.table(known.to).is_some_and(|from| from.words.plural == *known.name);
        let is_told = |known: &Reference| is_whole || (!self.is_large() && !has_name_of_table(known));
        let shown = incoming.filter(|known| is_told(known));
        let mut names: Vec<&str> = shown.map(|known| &*known.name).collect();
        // Databases report references in different orders.
        names.sort_unstable();
        names
    }

    /// What the line of a table leaves to be said once about references.
    pub(crate) fn reference_notes(&self, index: usize, is_whole: bool) -> Vec<&'static str> {
        let outgoing = || self.references.iter().filter(|known| known.from == index && !known.conceals_to);
        let has = |on_delete: OnDelete| outgoing().any(|known| known.on_delete == on_delete);
        let has_incoming = self.table(index).is_some_and(|exposed| !self.shown_incoming(exposed, is_whole).is_empty());
        let has_marks = || self.references.iter().any(|known| known.on_delete.changes_rows() && !known.conceals_to);
        let counts = |index: usize| !is_whole && self.has_child_counts(index);
        let has_counts = (0..self.tables.len()).any(counts);
        let has_paths = outgoing().next().is_some() || counts(index);
        let notes = [
            (PATHS_AND_COUNTS, has_paths && has_counts),
            (PATHS, has_paths && !has_counts),
            (INCOMING, has_incoming),
            (REFUSED, has(OnDelete::Refuse) && (is_whole || !self.is_large() || has_marks())),
            (CASCADES, has(OnDelete::Cascade)),
            (CLEARS, has(OnDelete::Clear)),
        ];
        notes.into_iter().filter(|(_, applies)| *applies).map(|(note, _)| note).collect()
    }

    fn is_large(&self) -> bool {
        self.tables.len() > MAX_TABLES_IN_FULL
    }

    /// Whether the line of a table shows defaults.
    pub(crate) fn shows_defaults(&self, index: usize) -> bool {
        let columns = self.table(index).map(|exposed| exposed.table.columns.as_slice()).unwrap_or_default();
        columns.iter().any(|column| shown_default(column).is_some())
    }

    /// Whether a table has computed fields that nobody configured.
    fn has_child_counts(&self, index: usize) -> bool {
        let computed = self.table(index).map(|exposed| exposed.computed.as_slice()).unwrap_or_default();
        computed.iter().any(|source| matches!(source.formula, Formula::ChildCount(_)))
    }

    /// Whether a condition may name this column: it is a column that callers see, and of no table is it hidden.
    fn may_show(&self, column: &str) -> bool {
        let name = column.to_lowercase();
        let has =
            |exposed: &ExposedTable| exposed.table.columns.iter().any(|column| column.sql_name.to_lowercase() == name);
        let (readable, concealed): (Vec<_>, Vec<_>) =
            self.tables.iter().enumerate().partition(|(index, _)| self.concealed.is_readable(*index));
        !self.private_columns.contains(&name)
            && readable.iter().any(|(_, exposed)| has(exposed))
            && !concealed.iter().any(|(_, exposed)| has(exposed))
    }
}

/// Marks what happens to a referring row when the row it refers to is deleted; nothing if that prevents it.
fn delete_mark(on_delete: OnDelete) -> &'static str {
    match on_delete {
        OnDelete::Refuse | OnDelete::Nothing => "",
        OnDelete::Cascade => "!",
        OnDelete::Clear => "~",
    }
}

fn is_child_count(exposed: &ExposedTable, name: &str) -> bool {
    let source = exposed.computed.iter().find(|source| *source.name == *name);
    source.is_some_and(|source| matches!(source.formula, Formula::ChildCount(_)))
}

/// The names of columns that callers must not learn of: of excluded tables, and hidden ones.
pub(super) fn private_columns(model: &Model) -> HashSet<String> {
    let excluded = model.excluded.iter().flat_map(|table| &table.columns);
    let hidden = model.tables.iter().flat_map(|table| table.withheld.columns.iter().chain(&table.unlisted));
    excluded.chain(hidden).map(|name| name.to_lowercase()).collect()
}

/// The default of a column, if it is a value that is short enough to be shown.
fn shown_default(column: &Column) -> Option<String> {
    /// Longer defaults are text that says nothing about other values.
    const MAX_CHARS: usize = 20;
    let Some(ColumnDefault::Value(default)) = &column.default else { return None };
    let text = match default {
        Value::String(text) => plain_or_quoted(text),
        Value::Bool(_) | Value::Number(_) => default.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (text.chars().count() <= MAX_CHARS).then_some(text)
}

/// A name as it is written in SQL. PostgreSQL reads a name without quotes in lower case.
fn sql_identifier(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match name.chars().all(is_plain) {
        true => plain_or_quoted(name),
        false => serde_json::Value::from(name).to_string(),
    }
}

/// The type of a column; nothing for text.
fn type_word(field_type: &FieldType) -> Option<String> {
    let word = match field_type {
        FieldType::Text => return None,
        FieldType::Enum(values) => return Some(plain_values(values.iter().map(|value| &**value))),
        FieldType::Integer => "int",
        FieldType::Number => "number",
        FieldType::Boolean => "bool",
        FieldType::Time => "time",
        FieldType::Date => "date",
        FieldType::Uuid => "uuid",
        FieldType::Bytes => "bytes",
        FieldType::Json => "json",
        FieldType::List(items) => {
            let items = items
                .as_deref()
                .map_or_else(|| "any".to_owned(), |items| type_word(items).unwrap_or_else(|| "text".to_owned()));
            return Some(if items.contains('|') { format!("({items})[]") } else { format!("{items}[]") });
        }
    };
    Some(word.to_owned())
}
