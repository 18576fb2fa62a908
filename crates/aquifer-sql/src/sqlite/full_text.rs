//! Full-text tables of SQLite: what each indexes, and which columns its words may come from.
//!
//! Such tables are filled manually or by triggers, so only the definition, the triggers and the column names indicate
//! the content. Every column that these do not rule out counts as a source.

use std::sync::Arc;

use rusqlite::{Connection, Result};

use crate::schema::model::{ColumnDerivation, ColumnId, Model, TextIndex};
use crate::schema::sql_definitions::{self, Argument, Mentions};
use crate::statement::Name;

/// Modules of virtual tables that expose internals of an index or the file. They are not served.
const INTERNAL_MODULES: &[&str] =
    &["fts5vocab", "fts4aux", "fts3tokenize", "dbstat", "sqlite_dbpage", "sqlite_stmt", "bytecode"];

pub(super) struct FullTextTable {
    pub(super) name: String,
    /// Whether it can be searched.
    is_searchable: bool,
    content: Content,
    /// All columns, and those that are not indexed.
    columns: Vec<String>,
    not_indexed: Vec<String>,
    /// The column of the content table that holds the row numbers of the index.
    rowid: String,
}

/// Where a full-text table stores its text.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Own,
    /// In another table or view.
    Table(String),
    /// Nowhere: only the index is stored.
    Nowhere,
}

impl FullTextTable {
    pub(super) fn parse(name: &str, sql: &str) -> Option<Self> {
        let (module, arguments) = sql_definitions::parse_virtual_table(sql)?;
        if !["fts3", "fts4", "fts5"].contains(&module.as_str()) {
            return None;
        }
        let mut table = Self {
            name: name.to_owned(),
            is_searchable: module == "fts5",
            content: Content::Own,
            columns: Vec::new(),
            not_indexed: Vec::new(),
            rowid: "rowid".to_owned(),
        };
        let mut not_indexed = Vec::new();
        for argument in arguments {
            match argument {
                Argument::Option(option, value) => match option.as_str() {
                    "content" if value.is_empty() => table.content = Content::Nowhere,
                    "content" => table.content = Content::Table(value),
                    "content_rowid" => table.rowid = value,
                    "notindexed" => not_indexed.push(value),
                    _ => {}
                },
                Argument::Column(column, words) => {
                    if words.iter().any(|word| word.eq_ignore_ascii_case("unindexed")) {
                        not_indexed.push(column.clone());
                    }
                    table.columns.push(column);
                }
            }
        }
        table.not_indexed = not_indexed;
        Some(table)
    }

    /// Like [`Self::parse`], with the actual columns of the table: modules interpret their arguments themselves.
    pub(super) fn read(connection: &Connection, name: &str, sql: &str) -> Result<Option<Self>> {
        let Some(mut table) = Self::parse(name, sql) else { return Ok(None) };
        let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0")?;
        let columns = statement.query_map([name], |row| row.get(0)).and_then(Iterator::collect::<Result<Vec<String>>>);
        match columns {
            Ok(columns) if !columns.is_empty() => table.columns = columns,
            // The table cannot be opened, so only its definition is used.
            Ok(_) => {}
            Err(rusqlite::Error::SqliteFailure(code, _)) if code.extended_code == rusqlite::ffi::SQLITE_ERROR => {}
            Err(error) => return Err(error),
        }
        Ok(Some(table))
    }

    /// The indexed columns.
    fn indexed(&self) -> impl Iterator<Item = &String> {
        let is_left_out = |column: &&String| self.not_indexed.iter().any(|other| other.eq_ignore_ascii_case(column));
        self.columns.iter().filter(move |column| !is_left_out(column))
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(String::as_str)
    }

    /// Whether it is only an index over another table.
    pub(super) fn is_index_only(&self) -> bool {
        matches!(self.content, Content::Table(_))
    }

    /// Whether it indexes the rows of a table.
    pub(super) fn serves(&self, table: &str, numbered: bool) -> bool {
        self.is_searchable
            && match &self.content {
                Content::Table(content) => content.eq_ignore_ascii_case(table) && (numbered || self.rowid != "rowid"),
                Content::Own | Content::Nowhere => self.name == table,
            }
    }

    /// The index for searches. Its sources are traced once all tables are known.
    pub(super) fn index(&self) -> TextIndex {
        TextIndex::Fts5 {
            quoted: Name::reflected(&self.name),
            columns: self.indexed().map(|column| Arc::from(column.as_str())).collect(),
            rowid: Name::reflected(&self.rowid),
            sources: Vec::new(),
        }
    }

    /// The columns whose words it may contain, each with the corresponding column of this table, if known.
    fn sources(&self, model: &Model, all: &[FullTextTable], triggers: &[Trigger]) -> Vec<(ColumnId, Option<String>)> {
        let tables = tables(model, all);
        let mut sources: Vec<(ColumnId, Option<String>)> = Vec::new();
        let same_name = |table: &str, column: &String| (ColumnId::for_sqlite(table, column), Some(column.clone()));
        if let Content::Table(table) = &self.content {
            let all = tables.iter().find(|(known, _)| known.eq_ignore_ascii_case(table));
            // Without columns of its own it has those of the content table.
            let all = all.filter(|_| self.columns.is_empty()).into_iter().flat_map(|(_, columns)| columns);
            // Including those that are not indexed: a view may show them.
            sources.extend(self.columns.iter().map(|column| same_name(table, column)));
            sources.extend(all.map(|column| same_name(table, &(*column).to_owned())));
        }
        for trigger in triggers.iter().filter(|trigger| trigger.mentions.contains(&self.name)) {
            let reads = |table: &str| table.eq_ignore_ascii_case(&trigger.table) || trigger.mentions.contains(table);
            for (table, columns) in tables.iter().filter(|(table, _)| reads(table) && self.name != *table) {
                let read = columns.iter().filter(|name| trigger.mentions.has_star || trigger.mentions.contains(name));
                sources.extend(read.map(|name| (ColumnId::for_sqlite(table, name), None)));
            }
        }
        // A table without a content table whose columns all belong to another table most likely indexes that table.
        for (table, columns) in tables.iter().filter(|(table, _)| !self.is_index_only() && self.name != *table) {
            let has = |column: &String| columns.iter().any(|own| own.eq_ignore_ascii_case(column));
            if !self.columns.is_empty() && self.columns.iter().all(has) {
                sources.extend(self.columns.iter().map(|column| same_name(table, column)));
            }
        }
        sources
    }
}

/// All tables with their columns, including excluded ones.
fn tables<'a>(model: &'a Model, full_text: &'a [FullTextTable]) -> Vec<(&'a str, Vec<&'a str>)> {
    let exposed = model.tables.iter().map(|table| {
        let columns = table.columns.iter().map(|column| &*column.name);
        (&*table.name, columns.collect())
    });
    let excluded = model.excluded.iter().map(|table| {
        let columns = table.columns.iter().map(|column| &**column);
        (&*table.name, columns.collect())
    });
    // Index-only tables are not served, but a trigger can read them.
    let indexes = full_text.iter().filter(|table| table.is_index_only());
    let indexes = indexes.map(|table| (table.name.as_str(), table.columns().collect()));
    exposed.chain(excluded).chain(indexes).collect()
}

/// Whether a virtual table exposes internals.
pub(super) fn is_internal(sql: &str) -> bool {
    sql_definitions::parse_virtual_table(sql).is_some_and(|(module, _)| INTERNAL_MODULES.contains(&module.as_str()))
}

/// A trigger: its table, and the names it mentions.
struct Trigger {
    table: String,
    mentions: Mentions,
}

/// Traces the sources of full-text tables, once all tables are known.
pub(super) fn trace_sources(connection: &Connection, model: &mut Model, all: &[FullTextTable]) -> Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare("SELECT tbl_name, sql FROM sqlite_schema WHERE type = 'trigger'")?;
    let read = |row: &rusqlite::Row<'_>| {
        let sql: Option<String> = row.get(1)?;
        Ok(Trigger { table: row.get(0)?, mentions: Mentions::parse(&sql.unwrap_or_default()) })
    };
    let triggers: Vec<Trigger> = statement.query_map([], read)?.collect::<Result<_>>()?;
    for full_text in all {
        let text_sources = full_text.sources(model, all, &triggers);
        for (from, column) in &text_sources {
            let targets = match column {
                Some(column) => std::slice::from_ref(column),
                None => full_text.columns.as_slice(),
            };
            model.derivations.extend(targets.iter().map(|column| ColumnDerivation {
                from: from.clone(),
                to: ColumnId::for_sqlite(&full_text.name, column),
            }));
        }
        for table in &mut model.tables {
            let Some(TextIndex::Fts5 { quoted, sources, columns, .. }) = &mut table.index else { continue };
            if *quoted == Name::reflected(&full_text.name) {
                let own = columns.iter().map(|column| ColumnId::for_sqlite(&full_text.name, column));
                let is_indexed = |column: &Option<String>| {
                    column.as_ref().is_none_or(|column| full_text.indexed().any(|indexed| indexed == column))
                };
                let words = text_sources.iter().filter(|(_, column)| is_indexed(column)).map(|(from, _)| from.clone());
                sources.extend(words.chain(own));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_text_tables_are_understood() {
        for (sql, content, columns, indexed) in [
            ("USING fts5(a, b, tokenize='porter')", Content::Own, "a b", "a b"),
            ("USING fts5(a, b UNINDEXED, content='')", Content::Nowhere, "a b", "a"),
            (
                "USING fts5(\"a b\", content = 'notes', content_rowid = 'id')",
                Content::Table("notes".into()),
                "a b",
                "a b",
            ),
            ("using FTS4(content=\"u\", a, b, notindexed=b)", Content::Table("u".into()), "a b", "a"),
        ] {
            let found = FullTextTable::parse("t", &format!("CREATE VIRTUAL TABLE t {sql}"))
                .map(|found| {
                    let indexed: Vec<&str> = found.indexed().map(String::as_str).collect();
                    (indexed.join(" "), found.columns.join(" "), found.content)
                })
                .map(|(indexed, columns, content)| (content, columns, indexed));
            assert_eq!(found, Some((content, columns.to_owned(), indexed.to_owned())), "{sql}");
        }
        assert!(FullTextTable::parse("t", "CREATE VIRTUAL TABLE t USING rtree(id, a, b)").is_none());
        assert!(is_internal("CREATE VIRTUAL TABLE v USING fts5vocab(t, row)"));
    }
}
