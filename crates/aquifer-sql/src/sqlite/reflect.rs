//! Reads the schema of a SQLite file: tables, columns, keys and references.

use std::sync::Arc;

use aquifer_protocol::schema::Comparison;
use aquifer_query::FieldType;
use rusqlite::{Connection, Result};

use super::collation;
use super::column_kind::{ColumnKind, Sampler, declared_length, declares_number, detect_kind, is_textual};
use super::full_text::{self, FullTextTable};
use super::pool::InterruptHandle;
use crate::rows::time_digits::TimeDigits;
use crate::schema::column_defaults::ColumnDefault;
use crate::schema::column_rules::ColumnRules;
use crate::schema::exposure;
use crate::schema::model::{
    ChangeRule, CheckConstraint, Column, ColumnDerivation, ColumnId, DryRunSupport, ExcludedTable, ForeignKey, Key,
    KeyFallback, Model, OnDelete, OpaqueKey, SqliteStore, Store, Table, TablePermissions, UniqueConstraint,
    WithheldColumns,
};
use crate::schema::sql_definitions;
use crate::schema::style_finder::TimeConvention;
use crate::schema::time_style::TimeStyle;
use crate::settings::Settings;
use crate::settings::TableFilter;
use crate::statement::Name;

pub(super) fn reflect_model(
    connection: &Connection,
    interrupt: &InterruptHandle<'_>,
    settings: &Settings,
) -> Result<Model> {
    let mut listed: Vec<(String, String, bool)> = Vec::new();
    let mut statement = connection.prepare("SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
        if !name.starts_with("sqlite_") && kind != "shadow" {
            listed.push((name, kind, row.get(2)?));
        }
    }
    listed.sort();
    let of_virtual = listed.iter().filter(|(_, kind, _)| kind == "virtual");
    let of_virtual: Vec<(&String, String)> =
        of_virtual.map(|(name, _, _)| Ok((name, definition(connection, name)?))).collect::<Result<_>>()?;
    let mut indexes: Vec<FullTextTable> = Vec::new();
    for (name, sql) in &of_virtual {
        indexes.extend(FullTextTable::read(connection, name, sql)?);
    }
    let convention = TimeConvention::of_tables(listed.iter().map(|(name, _, _)| name.as_str()));
    let mut model = Model::default();
    let filter = TableFilter::new(settings, |_| {});
    for (name, kind, without_rowid) in &listed {
        // An index over another table is not a table of its own.
        let is_index = indexes.iter().any(|index| index.name == *name && index.is_index_only());
        let is_internal = of_virtual.iter().any(|(own, sql)| *own == name && full_text::is_internal(sql));
        if is_index || is_internal {
            continue;
        }
        if !filter.admits(None, name) {
            if let Some((table, derivations)) = reflect_excluded(connection, name)? {
                model.excluded.push(table);
                model.derivations.extend(derivations);
            }
            continue;
        }
        let listed = ListedTable { name, kind, without_rowid: *without_rowid };
        match reflect_table(connection, interrupt, settings, &listed, convention, &indexes) {
            Ok((table, derivations)) => {
                model.tables.push(table);
                model.derivations.extend(derivations);
            }
            // A view of a dropped table, or a virtual table of an unknown module: the other tables are served.
            Err(rusqlite::Error::SqliteFailure(code, message)) if code.extended_code == rusqlite::ffi::SQLITE_ERROR => {
                tracing::warn!(table = name, cause = message, "a table cannot be reflected and is skipped");
            }
            Err(error) => return Err(error),
        }
    }
    full_text::trace_sources(connection, &mut model, &indexes)?;
    Ok(model)
}

fn definition(connection: &Connection, name: &str) -> Result<String> {
    let sql = connection.query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [name], |row| row.get(0));
    sql.map(Option::unwrap_or_default)
}

/// A table as SQLite lists it.
struct ListedTable<'a> {
    name: &'a str,
    kind: &'a str,
    without_rowid: bool,
}

fn reflect_table(
    connection: &Connection,
    interrupt: &InterruptHandle<'_>,
    settings: &Settings,
    listed: &ListedTable<'_>,
    convention: TimeConvention,
    indexes: &[FullTextTable],
) -> Result<(Table, Vec<ColumnDerivation>)> {
    let ListedTable { name, kind, without_rowid } = *listed;
    let sql = definition(connection, name)?;
    let quoted = Name::reflected(name);
    let checks = sql_definitions::parse_checks(&sql);
    // For views this is known once their sources are traced.
    let is_stored = kind != "view";
    let indexed = indexed_columns(connection, name)?;
    let mut sampler = Sampler::new(connection, interrupt, &quoted, convention);
    let mut columns = Vec::new();
    let mut key: Vec<(i64, usize)> = Vec::new();
    let mut statement =
        connection.prepare("SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1)")?;
    let mut rows = statement.query([name])?;
    while let Some(row) = rows.next()? {
        let column: String = row.get(0)?;
        let declared: String = row.get(1)?;
        let (not_null, pk, hidden): (bool, i64, i64) = (row.get(2)?, row.get(4)?, row.get(5)?);
        // Hidden columns of virtual tables are parameters, not data.
        if hidden == 1 {
            continue;
        }
        if pk > 0 {
            key.push((pk, columns.len()));
        }
        let default: Option<String> = row.get(3)?;
        let rules = ColumnRules::from_checks(checks.iter().map(|check| &*check.expression), |named| {
            named.eq_ignore_ascii_case(&column)
        });
        let is_about_column = |check: &&sql_definitions::CheckDefinition| {
            check.column.as_deref().is_some_and(|named| named.eq_ignore_ascii_case(&column)) && !check.words.is_empty()
        };
        let words = checks.iter().find(is_about_column).map(|check| &check.words);
        let words = words.or(Some(&rules.words));
        let ColumnKind { field_type, store, digits } = match rules.is_json && is_textual(&declared) {
            true => ColumnKind::new(FieldType::Json, SqliteStore::Json),
            false => detect_kind(&mut sampler, &column, &declared, words)?,
        };
        // SQLite does not enforce lengths, so stored values may be longer. New ones may not.
        let rules = rules.merge(ColumnRules { max_length: declared_length(&declared), ..ColumnRules::default() });
        let collation = if is_stored { collation::declared_collation(connection, name, &column)? } else { None };
        let comparison = collation::comparison(&field_type, &declared, collation.as_deref());
        let is_guessed = matches!(field_type, FieldType::Integer | FieldType::Number) && !declares_number(&declared);
        let column_default = default.as_deref().and_then(|expression| ColumnDefault::parse(expression, &field_type));
        columns.push(Column {
            name: column.as_str().into(),
            sql_name: column.as_str().into(),
            quoted: Name::reflected(&column),
            field_type,
            is_guessed,
            store: Store::Sqlite(store),
            nullable: !not_null,
            has_default: default.is_some(),
            generated: hidden >= 2,
            comment: (store == SqliteStore::Time(TimeStyle::Mixed)).then(|| MIXED_FORMATS.into()),
            length: None,
            range: None,
            rules,
            default: column_default,
            may_insert: true,
            may_update: true,
            comparison,
            may_have_index: !is_stored || indexed.iter().any(|name| name.eq_ignore_ascii_case(&column)),
            digits: TimeDigits::new(digits),
        });
    }
    let all: Vec<(&str, bool)> = columns.iter().map(|column| (&*column.name, column.generated)).collect();
    let derivations = generated(name, &sql, &all);
    key.sort_unstable();
    let is_table = kind == "table";
    let mut key: Vec<usize> = key.into_iter().map(|(_, position)| position).collect();
    // `INTEGER PRIMARY KEY` is the row number; any other key has an index.
    let rowid_alias = is_table && !without_rowid && key.len() == 1 && !has_key_index(connection, name)?;
    if rowid_alias && let Some(column) = key.first().and_then(|position| columns.get_mut(*position)) {
        column.has_default = true;
        column.nullable = false;
    }
    let primary_key: Vec<Arc<str>> =
        key.iter().filter_map(|position| columns.get(*position)).map(|column| column.sql_name.clone()).collect();
    let table_settings =
        settings.table(None, name).map(|table_settings| table_settings.key.as_slice()).unwrap_or_default();
    if key.is_empty() && !table_settings.is_empty() {
        key =
            table_settings.iter().filter_map(|name| columns.iter().position(|column| *column.name == **name)).collect();
    }
    // A row number that looks like a secret cannot be replaced, because it is the row number.
    let is_secret = |column: &Column| !rowid_alias && exposure::is_secret_key(settings, None, name, column);
    if key.iter().filter_map(|position| columns.get(*position)).any(is_secret) {
        key.clear();
    }
    // Primary key columns in SQLite may contain NULL unless declared otherwise, and then do not identify rows.
    let mut identifies_rows = !key.is_empty();
    for position in key.iter().filter(|_| is_table && !without_rowid) {
        let Some(column) = columns.get_mut(*position).filter(|column| column.nullable) else { continue };
        identifies_rows = identifies_rows && !holds_null(connection, &quoted, &column.quoted)?;
        column.nullable = !identifies_rows;
    }
    let unique = unique_keys(connection, name, &mut columns)?;
    let free_name = ROWIDS.into_iter().find(|rowid| !columns.iter().any(|c| c.name.eq_ignore_ascii_case(rowid)));
    let free_name = free_name.filter(|_| kind != "view" && !without_rowid);
    let mut key_fallback = None;
    let mut has_rowid_key = rowid_alias;
    if !identifies_rows && is_table {
        let may_name_rows = |column: &Column| exposure::may_name_rows(settings, None, name, column);
        let unique_columns = unique_key(&unique, &columns, may_name_rows);
        identifies_rows = unique_columns.is_some();
        key = unique_columns.unwrap_or_default();
        let by_number = |name: &str| KeyFallback::Column(Box::new(rowid(name)));
        key_fallback = identifies_rows.then(|| free_name.map_or(KeyFallback::Nothing, by_number));
    }
    let key = if identifies_rows {
        Key::Columns(key)
    } else if let Some(rowid_name) = free_name {
        columns.insert(0, rowid(rowid_name));
        has_rowid_key = true;
        Key::Columns(vec![0])
    } else {
        Key::None
    };
    let numbered = kind != "view" && !without_rowid;
    let index = indexes.iter().find(|index| index.serves(name, numbered)).map(FullTextTable::index);
    let may = if is_table && !settings.read_only {
        TablePermissions { insert: true, update: true, delete: true }
    } else {
        TablePermissions::NONE
    };
    let checks = checks.into_iter().map(|check| {
        let mentioned =
            columns.iter().filter(|column| check.names.iter().any(|name| name.eq_ignore_ascii_case(&column.name)));
        let columns = mentioned.map(|column| column.name.clone()).collect();
        CheckConstraint { name: check.text.into(), columns, expression: None }
    });
    let opaque_keys = opaque_keys(connection, name, &columns)?;
    let table = Table {
        schema: None,
        opaque_keys,
        change_rules: triggers(connection, name)?,
        name: name.into(),
        quoted,
        comment: None,
        checks: checks.collect(),
        columns,
        key,
        has_rowid_key,
        primary_key,
        key_fallback,
        unique,
        foreign: foreign_keys(connection, name)?,
        inherits: Vec::new(),
        index,
        may,
        is_view: kind == "view",
        hashes: false,
        resolves_conflicts: sql_definitions::Mentions::parse(&sql).contains("conflict"),
        unlisted: Vec::new(),
        withheld: WithheldColumns::default(),
        dry_run: DryRunSupport::COMPLETE,
    };
    Ok((table, derivations))
}

/// An excluded table with the sources of its generated columns: a view may show them. `None` if it cannot be read.
fn reflect_excluded(connection: &Connection, name: &str) -> Result<Option<(ExcludedTable, Vec<ColumnDerivation>)>> {
    let mut statement = connection.prepare("SELECT name, hidden >= 2 FROM pragma_table_xinfo(?1) WHERE hidden <> 1")?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?));
    let columns: Vec<(String, bool)> = match statement.query_map([name], read)?.collect::<Result<_>>() {
        Ok(columns) => columns,
        Err(rusqlite::Error::SqliteFailure(code, _)) if code.extended_code == rusqlite::ffi::SQLITE_ERROR => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let all: Vec<(&str, bool)> = columns.iter().map(|(name, is_generated)| (name.as_str(), *is_generated)).collect();
    let derivations = generated(name, &definition(connection, name)?, &all);
    let columns = all.into_iter().map(|(name, _)| name.into()).collect();
    Ok(Some((ExcludedTable { schema: None, name: name.into(), columns }, derivations)))
}

/// The sources of generated columns. If a definition is not found, all other columns may be.
fn generated(table: &str, sql: &str, columns: &[(&str, bool)]) -> Vec<ColumnDerivation> {
    let mut derivations = Vec::new();
    for (column, _) in columns.iter().filter(|(_, is_generated)| *is_generated) {
        let definition = sql_definitions::column_definition(column, sql);
        let is_source = |other: &&str| {
            let mentioned = |words: &Vec<String>| words.iter().any(|word| word.eq_ignore_ascii_case(other));
            other != column && definition.as_ref().is_none_or(mentioned)
        };
        derivations.extend(columns.iter().map(|(name, _)| *name).filter(is_source).map(|other| ColumnDerivation {
            from: ColumnId::for_sqlite(table, other),
            to: ColumnId::for_sqlite(table, column),
        }));
    }
    derivations
}

/// The note on a time column that cannot use an index.
const MIXED_FORMATS: &str = "Times in several formats: sorting or filtering by this field reads every row";

/// The names of the row number, unless a column has the same name.
const ROWIDS: [&str; 3] = ["rowid", "_rowid_", "oid"];

/// Whether the primary key has an index.
fn has_key_index(connection: &Connection, table: &str) -> Result<bool> {
    let sql = "SELECT count(*) FROM pragma_index_list(?1) WHERE origin = 'pk'";
    connection.query_row(sql, [table], |row| row.get(0)).map(|count: i64| count > 0)
}

/// The indexed columns of a table.
fn indexed_columns(connection: &Connection, table: &str) -> Result<Vec<String>> {
    let sql = "SELECT DISTINCT x.name FROM pragma_index_list(?1) AS l, pragma_index_xinfo(l.name) AS x \
               WHERE x.key = 1 AND x.name IS NOT NULL";
    connection.prepare(sql)?.query_map([table], |row| row.get(0))?.collect()
}

/// Whether a column contains NULL.
fn holds_null(connection: &Connection, table: &Name, column: &Name) -> Result<bool> {
    use crate::statement::{Dialect, Statement};
    let mut statement = Statement::new(Dialect::Sqlite);
    statement.push("SELECT EXISTS (SELECT 1 FROM ").name(table).push(" WHERE ").name(column).push(" IS NULL)");
    connection.query_row(statement.text(), [], |row| row.get(0))
}

/// The row number as a column, for tables without a key.
fn rowid(name: &str) -> Column {
    Column {
        name: name.into(),
        sql_name: name.into(),
        quoted: Name::reflected(name),
        field_type: FieldType::Integer,
        is_guessed: false,
        store: Store::Sqlite(SqliteStore::Plain),
        nullable: false,
        has_default: true,
        generated: true,
        comment: Some("SQLite's number of the row".into()),
        length: None,
        range: None,
        rules: ColumnRules::default(),
        default: None,
        may_insert: false,
        may_update: false,
        comparison: Comparison::Exact,
        may_have_index: true,
        digits: TimeDigits::default(),
    }
}

/// The unique keys of a table. If a key uses another collation than its columns, the looser comparison applies.
fn unique_keys(connection: &Connection, table: &str, columns: &mut [Column]) -> Result<Vec<UniqueConstraint>> {
    let mut statement =
        connection.prepare("SELECT name FROM pragma_index_list(?1) WHERE \"unique\" = 1 AND partial = 0")?;
    let names: Vec<String> = statement.query_map([table], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut unique = Vec::new();
    for name in names {
        let sql = "SELECT name, coll FROM pragma_index_xinfo(?1) WHERE key = 1 ORDER BY seqno";
        let mut statement = connection.prepare(sql)?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let parts: Vec<(Option<String>, Option<String>)> =
            statement.query_map([&name], read)?.collect::<Result<_>>()?;
        let mut compares_alike = true;
        for (column, collation) in &parts {
            if let (Some(column), Some(collation)) = (column, collation) {
                let own = collation::declared_collation(connection, table, column)?;
                compares_alike &= own.as_deref().unwrap_or("BINARY").eq_ignore_ascii_case(collation);
            }
            let indexed = columns.iter_mut().find(|indexed| Some(&*indexed.name) == column.as_deref());
            let Some(indexed) =
                indexed.filter(|indexed| matches!(indexed.field_type, FieldType::Text | FieldType::Enum(_)))
            else {
                continue;
            };
            indexed.comparison =
                collation::looser(indexed.comparison, collation::collation_comparison(collation.as_deref()));
        }
        // A column of an index over an expression has no name.
        let names = parts.into_iter().map(|(column, _)| column.map(Arc::from));
        if let Some(columns) = names.collect::<Option<Vec<Arc<str>>>>() {
            unique.push(UniqueConstraint { name: name.as_str().into(), columns, compares_alike });
        }
    }
    Ok(unique)
}

fn triggers(connection: &Connection, table: &str) -> Result<Vec<ChangeRule>> {
    let sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE";
    let mut statement = connection.prepare(sql)?;
    let triggers = statement.query_map([table], |row| {
        let name: String = row.get(0)?;
        Ok(ChangeRule { name: name.into(), text: row.get(1)? })
    })?;
    triggers.collect()
}

/// Unique indexes over expressions or over some rows only, with the columns that their definitions mention.
fn opaque_keys(connection: &Connection, table: &str, columns: &[Column]) -> Result<Vec<OpaqueKey>> {
    // A cross join keeps this order. SQLite would read the whole schema and list the indexes again for each of its rows.
    let sql = "SELECT l.name, coalesce(m.sql, '') FROM pragma_index_list(?1) l
        CROSS JOIN sqlite_schema m ON m.name = l.name
        WHERE l.\"unique\" = 1 AND (l.partial = 1
            OR EXISTS (SELECT 1 FROM pragma_index_xinfo(l.name) x WHERE x.key = 1 AND x.cid = -2))
        ORDER BY m.rowid";
    let mut statement = connection.prepare(sql)?;
    let keys = statement.query_map([table], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    keys.map(|key| {
        let (name, sql) = key?;
        let mentions = sql_definitions::Mentions::parse(&sql);
        let mentioned = columns.iter().filter(|column| mentions.contains(&column.name));
        Ok(OpaqueKey { name: name.into(), columns: mentioned.map(|column| column.name.clone()).collect() })
    })
    .collect()
}

/// A unique key that identifies rows: none of its columns may be NULL, and it compares them as lookups do. Of several,
/// the one with the fewest columns, then the one whose columns come first.
fn unique_key(
    unique: &[UniqueConstraint],
    columns: &[Column],
    may_name_rows: impl Fn(&Column) -> bool,
) -> Option<Vec<usize>> {
    let mut keys: Vec<Vec<usize>> = Vec::new();
    for constraint in unique.iter().filter(|constraint| !constraint.columns.is_empty() && constraint.compares_alike) {
        // A generated column may show its sources.
        let is_part = |column: &Column| !column.nullable && !column.generated && may_name_rows(column);
        let position = |name: &Arc<str>| columns.iter().position(|column| column.name == *name && is_part(column));
        let Some(positions) = constraint.columns.iter().map(position).collect::<Option<Vec<usize>>>() else { continue };
        keys.push(positions);
    }
    keys.sort_by_key(|positions| (positions.len(), positions.clone()));
    keys.into_iter().next()
}

fn foreign_keys(connection: &Connection, table: &str) -> Result<Vec<ForeignKey>> {
    let mut statement = connection.prepare(
        "SELECT id, \"table\", \"from\", \"to\", on_delete FROM pragma_foreign_key_list(?1) ORDER BY id, seq",
    )?;
    let mut rows = statement.query([table])?;
    let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, to_table, from): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (to, on_delete): (Option<String>, String) = (row.get(3)?, row.get(4)?);
        if keys.last().is_none_or(|(known, _)| *known != id) {
            let on_delete = match on_delete.as_str() {
                "CASCADE" => OnDelete::Cascade,
                "SET NULL" | "SET DEFAULT" => OnDelete::Clear,
                _ => OnDelete::Refuse,
            };
            keys.push((
                id,
                ForeignKey {
                    name: None,
                    columns: Vec::new(),
                    to_schema: None,
                    to_table: to_table.as_str().into(),
                    to_columns: Vec::new(),
                    on_delete,
                },
            ));
        }
        if let Some((_, key)) = keys.last_mut() {
            key.columns.push(from.into());
            // A reference without columns means the primary key, which is filled in once all tables are known.
            key.to_columns.extend(to.map(Arc::from));
        }
    }
    Ok(keys.into_iter().map(|(_, key)| key).collect())
}
