//! Restricts what callers see of a database: the operator's `hide` and `show`, columns whose names look like secrets,
//! and everything that shows the values of either.
//!
//! Hidden columns must stay hidden. Settings that do not match the tables are therefore errors. A table whose `hide` no
//! longer matches is not served, and neither is any table that has changed since it did. A column that shows the values
//! of a hidden column (a generated column, a view column, a reference) is hidden as well, and a full-text index that
//! contains its words is not used.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use aquifer_protocol::suggest;
use aquifer_query::FieldType;

use crate::schema::exposure::credential_tables;
use crate::schema::exposure::secret_names::looks_secret;
use crate::schema::model::{
    ChangeRule, Column, ColumnDerivation, ColumnId, ExcludedTable, ForeignKey, Key, Model, Table, WithheldColumns,
};
use crate::settings::{Settings, TableSettings, Target};

/// Above this number of hidden columns, columns that no longer exist are forgotten, because partitions may be created
/// and dropped indefinitely.
const MAX_REMEMBERED_COLUMNS: usize = 100_000;

/// A setting that does not match the tables. For the operator, not for callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch(pub(crate) String);

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The state of the last reflection in which every `hide` matched. What was hidden then stays hidden. If a `hide` no
/// longer matches, its table or column may have been renamed and may be any column outside the baseline.
#[derive(Debug, Clone, Default)]
pub(crate) struct Baseline {
    columns: Arc<HashSet<ColumnId>>,
    /// Columns named by a `hide`.
    named: Arc<BTreeSet<ColumnId>>,
    /// Every column that was hidden, for whatever reason.
    hidden: Arc<BTreeSet<ColumnId>>,
}

impl Baseline {
    fn new(model: &Model, settings: &Settings, derivations: &[ColumnDerivation], hidden: BTreeSet<ColumnId>) -> Self {
        let columns: HashSet<ColumnId> =
            existing_columns(model).chain(derivations.iter().map(|derivation| derivation.from.clone())).collect();
        let in_tables = model.tables.iter().flat_map(|table| {
            let entries = settings.tables.iter().filter(|(name, _)| names_table(table, settings, name));
            entries.flat_map(|(_, entry)| &entry.hide).map(|column| table.column_id(column))
        });
        let excluded = model.excluded.iter().flat_map(|table| {
            let entry = settings.table(table.schema.as_deref(), &table.name);
            entry.into_iter().flat_map(|entry| &entry.hide).map(|column| table.column_id(column))
        });
        let named = in_tables.chain(excluded).filter(|column| columns.contains(column)).collect();
        Self { columns: Arc::new(columns), named: Arc::new(named), hidden: Arc::new(hidden) }
    }

    fn contains(&self, column: &ColumnId) -> bool {
        self.columns.contains(column)
    }

    /// Columns named by a `hide` that no longer exist.
    fn lost_columns(&self, model: &Model) -> Vec<&ColumnId> {
        let existing: HashSet<ColumnId> =
            if self.named.is_empty() { HashSet::new() } else { existing_columns(model).collect() };
        self.named.iter().filter(|column| !existing.contains(*column)).collect()
    }
}

/// Every column of every known table, offered or not.
fn existing_columns(model: &Model) -> impl Iterator<Item = ColumnId> + '_ {
    let excluded = model.excluded.iter().flat_map(|table| table.columns.iter().map(|name| table.column_id(name)));
    model.tables.iter().flat_map(every_column).chain(excluded)
}

/// Removes from the model what callers must not see, and returns the settings that do not match. Tables with a
/// mismatched `hide` or `show` are removed entirely; if a `hide` does not match, so is every table outside the
/// baseline. If every `hide` matches, this reflection becomes the baseline.
pub(crate) fn restrict(model: &mut Model, settings: &Settings, baseline: &mut Baseline) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    let mut withdrawn = vec![false; model.tables.len()];
    check_tables(model, settings, &mut mismatches);
    for (table, withdrawn) in model.tables.iter().zip(&mut withdrawn) {
        let column_mismatches = check_columns(table, settings);
        *withdrawn = !column_mismatches.is_empty();
        mismatches.extend(column_mismatches);
    }
    check_namesakes(model, settings, baseline, &mut mismatches);
    // Judged before columns are removed. What other tables and views show of their secrets is hidden all the same.
    let holds_credentials: Vec<bool> = model
        .tables
        .iter()
        .map(|table| credential_tables::holds_credentials(table) && !credential_tables::is_named(table, settings))
        .collect();
    let credential_tables = model.tables.iter().zip(&holds_credentials).filter(|(_, holds)| **holds);
    model.credential_tables = credential_tables.map(|(table, _)| table.full_name()).collect();
    let derivations = all_derivations(model);
    let exempt: HashSet<ColumnId> = model.tables.iter().flat_map(|table| exempt_columns(table, settings)).collect();
    let mut hidden: HashSet<ColumnId> = HashSet::new();
    if has_unmatched_hide(model, settings, baseline) {
        for (table, withdrawn) in model.tables.iter().zip(&mut withdrawn).filter(|(_, withdrawn)| !**withdrawn) {
            *withdrawn = !every_column(table).all(|column| baseline.contains(&column));
            // At the first reflection every table is new, and the mismatch is reported anyway.
            if *withdrawn && !baseline.columns.is_empty() {
                let table = table.full_name();
                let words = "is new or has new columns, which an outdated 'hide' may have meant";
                mismatches.push(Mismatch(format!("table '{table}' {words}")));
            }
        }
        let is_new = |column: &&ColumnId| !column.is_whole_table() && !baseline.contains(column);
        hidden.extend(derivations.iter().map(|derivation| &derivation.from).filter(is_new).cloned());
    } else {
        let now_hidden = currently_hidden(model, settings, &derivations, &exempt);
        report_still_hidden(model, settings, baseline, &now_hidden);
        let mut all: BTreeSet<ColumnId> = now_hidden.into_iter().collect();
        if baseline.hidden.len() <= MAX_REMEMBERED_COLUMNS {
            all.extend(baseline.hidden.iter().cloned());
        } else {
            all.extend(existing_columns(model).filter(|column| baseline.hidden.contains(column)));
        }
        *baseline = Baseline::new(model, settings, &derivations, all);
    }
    hidden.extend(baseline.hidden.iter().filter(|column| !exempt.contains(*column)).cloned());
    for (table, withdrawn) in model.tables.iter().zip(&withdrawn) {
        hidden.extend(if *withdrawn { every_column(table).collect() } else { hidden_by_name(table, settings) });
    }
    hidden.extend(hidden_elsewhere(model, settings));
    hidden.extend(secrets_elsewhere(model, &derivations));
    let spared = propagate(&mut hidden, &derivations, &exempt);
    for table in &model.tables {
        let source = &*settings.name;
        for key in table.key_columns().filter(|key| !is_shown(table, settings, key)) {
            let (column, id) = (&*key.name, table.column_id(&key.name));
            if spared.contains(&id) {
                let table = table.full_name();
                tracing::warn!(source, table, column, "a key shows values of a hidden column and cannot be hidden");
            } else if is_secret(table, key) {
                let (table, words) = (table.full_name(), "a key looks like a secret and cannot be hidden");
                tracing::warn!(source, table, column, "{words}: exclude the table, or list the column in 'show'");
            }
        }
    }
    for (table, withdrawn) in model.tables.iter_mut().zip(&mut withdrawn) {
        mismatches.extend(check_presets(table, settings, &hidden));
        if table.key_columns().any(|key| hidden.contains(&table.column_id(&key.name))) {
            table.replace_chosen_key();
        }
        withhold(table, settings, &hidden);
        if table.columns.is_empty() && !*withdrawn {
            tracing::warn!(
                source = settings.name,
                table = table.full_name(),
                "a table is not served because all of its columns show values of hidden columns"
            );
            *withdrawn = true;
        }
    }
    find_rules_on_hidden(&mut model.tables);
    let mut is_served = withdrawn.into_iter().zip(holds_credentials).map(|(withdrawn, holds)| !withdrawn && !holds);
    model.tables.retain(|_| is_served.next().unwrap_or(true));
    mismatches
}

/// Columns that are or may be hidden, as far as reflection has determined. Reflection traces which columns show them.
pub(crate) fn possibly_hidden_columns(
    model: &Model,
    settings: &Settings,
    baseline: &Baseline,
    more: &[ColumnDerivation],
) -> BTreeSet<ColumnId> {
    let mut derivations = all_derivations(model);
    derivations.extend_from_slice(more);
    let mut hidden: HashSet<ColumnId> = baseline.hidden.iter().cloned().collect();
    if has_unmatched_hide(model, settings, baseline) {
        // Any column may be the one that `hide` refers to.
        hidden.extend(model.tables.iter().flat_map(every_column));
        hidden.extend(derivations.iter().map(|derivation| derivation.from.clone()));
    }
    for table in &model.tables {
        // A table that does not match is hidden entirely.
        let fits = check_columns(table, settings).is_empty();
        hidden.extend(if fits { hidden_by_name(table, settings) } else { every_column(table).collect() });
    }
    hidden.extend(hidden_elsewhere(model, settings));
    hidden.extend(secrets_elsewhere(model, &derivations));
    propagate(&mut hidden, &derivations, &HashSet::new());
    hidden.into_iter().collect()
}

/// The columns that are hidden by the current schema, regardless of the baseline.
fn currently_hidden(
    model: &Model,
    settings: &Settings,
    derivations: &[ColumnDerivation],
    exempt: &HashSet<ColumnId>,
) -> HashSet<ColumnId> {
    let mut hidden: HashSet<ColumnId> = model.tables.iter().flat_map(|table| hidden_by_name(table, settings)).collect();
    hidden.extend(hidden_elsewhere(model, settings));
    hidden.extend(secrets_elsewhere(model, derivations));
    propagate(&mut hidden, derivations, exempt);
    hidden
}

/// Reports columns that used to show hidden values. They may still contain them, so they stay hidden.
fn report_still_hidden(model: &Model, settings: &Settings, baseline: &Baseline, now: &HashSet<ColumnId>) {
    for table in &model.tables {
        for column in every_column(table).filter(|column| baseline.hidden.contains(column) && !now.contains(column)) {
            tracing::error!(
                source = settings.name,
                table = table.full_name(),
                column = column.column(),
                "a column no longer shows values of a hidden column but may still contain them: it stays hidden until the next \
                 start. Add it to 'hide' to keep it hidden"
            );
        }
    }
}

/// A table named by a `hide` must still exist, even if another table matches the same entry.
fn check_namesakes(model: &Model, settings: &Settings, baseline: &Baseline, mismatches: &mut Vec<Mismatch>) {
    for column in baseline.lost_columns(model) {
        let is_gone = !existing_columns(model).any(|other| other.is_same_table(column));
        let fits_another =
            settings.tables.iter().filter(|(_, entry)| entry.hide.iter().any(|name| name == column.column()));
        let fits_another = fits_another.into_iter().any(|(name, _)| {
            model.tables.iter().any(|table| names_table(table, settings, name))
                || model.excluded.iter().any(|table| applies_to_excluded(table, settings, name))
        });
        if is_gone && fits_another {
            let (table, column) = (column.full_table(), column.column());
            mismatches.push(Mismatch(format!(
                "table '{table}', of which 'hide' names '{column}', no longer exists, and may have been renamed"
            )));
        }
    }
}

/// Checks that `hide` and `show` entries name existing tables.
fn check_tables(model: &Model, settings: &Settings, mismatches: &mut Vec<Mismatch>) {
    for (name, entry) in settings.tables.iter().filter(|(_, entry)| !(entry.hide.is_empty() && entry.show.is_empty())) {
        let what = if entry.hide.is_empty() { "show" } else { "hide" };
        if model.tables.iter().any(|table| names_table(table, settings, name)) {
            continue;
        }
        if let Some(table) = model.excluded.iter().find(|table| applies_to_excluded(table, settings, name)) {
            // A view may show the columns of an excluded table.
            for column in entry.hide.iter().filter(|column| !table.columns.iter().any(|known| **known == ***column)) {
                let hint = suggestion(column, table.columns.iter().map(|known| &**known));
                let words = format!("table '{name}': 'hide' names '{column}', which is not a column of it.{hint}");
                mismatches.push(Mismatch(words));
            }
            continue;
        }
        let valid: Vec<String> =
            model.tables.iter().flat_map(|table| [table.name.to_string(), table.full_name()]).collect();
        let hint = suggestion(name, valid.iter().map(String::as_str));
        let words = format!("'{what}' is set for table '{name}', but there is no such table to serve.{hint}");
        mismatches.push(Mismatch(words));
    }
}

/// Whether an entry of the settings names the table, even if another entry is in effect.
fn names_table(table: &Table, settings: &Settings, entry: &str) -> bool {
    settings.fold(&table.name) == settings.fold(entry) || table.full_name() == *entry
}

/// Whether an entry of the settings is in effect for an excluded table.
fn applies_to_excluded(table: &ExcludedTable, settings: &Settings, entry: &str) -> bool {
    settings.entry(table.schema.as_deref(), &table.name).is_some_and(|(name, _)| name == entry)
}

/// Whether a `hide` names a table or column that does not exist (any more) and may have been renamed.
fn has_unmatched_hide(model: &Model, settings: &Settings, baseline: &Baseline) -> bool {
    !baseline.lost_columns(model).is_empty()
        || settings.tables.iter().filter(|(_, entry)| !entry.hide.is_empty()).any(|(name, entry)| {
            let in_tables = model.tables.iter().filter(|table| names_table(table, settings, name)).map(|table| {
                let columns: HashSet<ColumnId> = every_column(table).collect();
                entry.hide.iter().all(|column| columns.contains(&table.column_id(column)))
            });
            let excluded = model.excluded.iter().filter(|table| applies_to_excluded(table, settings, name));
            let mut complete = in_tables.chain(excluded.map(|table| table.has_columns(&entry.hide))).peekable();
            complete.peek().is_none() || complete.any(|is_complete| !is_complete)
        })
}

/// Checks that `hide` and `show` name existing columns.
fn check_columns(table: &Table, settings: &Settings) -> Vec<Mismatch> {
    let Some((effective, entry)) = settings.entry(table.schema.as_deref(), &table.name) else { return Vec::new() };
    let mut mismatches = Vec::new();
    // Only one entry is in effect, so it must hide at least what the others hide.
    for (name, other) in
        settings.tables.iter().filter(|(name, _)| *name != effective && names_table(table, settings, name))
    {
        if let Some(column) = other.hide.iter().find(|column| !entry.hide.contains(column)) {
            let table = table.full_name();
            let words = format!("and only the entry for '{name}' hides '{column}', while '{effective}' is in effect");
            mismatches.push(Mismatch(format!("table '{table}' is configured twice, {words}: merge the entries")));
        }
    }
    let mut report = |words: String| mismatches.push(Mismatch(format!("table '{}': {words}", table.full_name())));
    let listed = || table.columns.iter().map(|column| &*column.name);
    let unlisted = || table.unlisted.iter().map(|column| &**column);
    for column in &entry.hide {
        if !listed().chain(unlisted()).any(|known| known == column) {
            let hint = suggestion(column, listed());
            report(format!("'hide' names '{column}', which is not a column of it.{hint}"));
        } else if table.key_columns().any(|key| *key.name == **column) {
            report(format!("'hide' names '{column}', which is part of its key: rows are identified by it"));
        }
    }
    for column in &entry.show {
        if entry.hide.contains(column) {
            report(format!("'{column}' is both in 'hide' and in 'show'"));
        } else if unlisted().any(|known| known == column) {
            report(format!("'show' names '{column}', which this user of the database may not read"));
        } else if !listed().any(|known| known == column) {
            let hint = suggestion(column, listed());
            report(format!("'show' names '{column}', which is not a column of it.{hint}"));
        }
    }
    mismatches
}

/// Callers choose presets by name, so a preset must not contain hidden columns.
fn check_presets(table: &Table, settings: &Settings, hidden: &HashSet<ColumnId>) -> Vec<Mismatch> {
    let Some(entry) = table_settings(table, settings) else { return Vec::new() };
    let all = entry.presets.iter().flat_map(|(preset, columns)| columns.iter().map(move |column| (preset, column)));
    let is_hidden = |column: &str| hidden.contains(&table.column_id(column)) && table.column(column).is_some();
    all.filter(|(_, column)| is_hidden(column))
        .map(|(preset, column)| {
            let name = table.full_name();
            Mismatch(format!(
                "table '{name}': preset '{preset}' names '{column}', which is left out. Remove it from the preset, or list it in 'show'"
            ))
        })
        .collect()
}

fn table_settings<'a>(table: &Table, settings: &'a Settings) -> Option<&'a TableSettings> {
    settings.table(table.schema.as_deref(), &table.name)
}

fn is_shown(table: &Table, settings: &Settings, column: &Column) -> bool {
    table_settings(table, settings).is_some_and(|entry| entry.show.iter().any(|shown| **shown == *column.name))
}

/// A hint at the name that was meant, with a leading blank.
pub(crate) fn suggestion<'a>(wrong: &str, valid: impl Iterator<Item = &'a str> + Clone) -> String {
    // The same name in another case is the best suggestion.
    let same = valid.clone().find(|name| name.eq_ignore_ascii_case(wrong));
    match same.or_else(|| suggest::nearest(wrong, valid)) {
        Some(name) => format!(" Did you mean '{name}'?"),
        None => String::new(),
    }
}

fn every_column(table: &Table) -> impl Iterator<Item = ColumnId> {
    let listed = table.columns.iter().map(|column| &*column.name);
    listed.chain(table.unlisted.iter().map(|name| &**name)).map(|name| table.column_id(name))
}

/// Columns hidden by name: those in `hide`, and those that look like secrets.
fn hidden_by_name(table: &Table, settings: &Settings) -> HashSet<ColumnId> {
    let entry = table_settings(table, settings);
    let hide = entry.map(|entry| entry.hide.as_slice()).unwrap_or_default();
    let hide = hide.iter().map(|column| table.column_id(column));
    hide.chain(secret_columns(table, settings).map(|column| table.column_id(column))).collect()
}

/// Columns that look like secrets and are not listed in `show`.
fn secret_columns<'a>(table: &'a Table, settings: &'a Settings) -> impl Iterator<Item = &'a Arc<str>> {
    let show = table_settings(table, settings).map(|entry| entry.show.as_slice()).unwrap_or_default();
    table
        .columns
        .iter()
        .filter(|column| is_secret(table, column))
        .map(|column| &column.name)
        .filter(move |name| !show.iter().any(|shown| **shown == ***name))
        .filter(|name| !table.key_columns().any(|key| key.name == **name))
}

/// Whether a column may become part of a substitute key. Hidden columns must not, because keys are shown to callers.
pub(crate) fn may_name_rows(settings: &Settings, schema: Option<&str>, table: &str, column: &Column) -> bool {
    let entry = settings.table(schema, table);
    let listed = |names: fn(&TableSettings) -> &[String]| {
        entry.is_some_and(|entry| names(entry).iter().any(|name| **name == *column.name))
    };
    !listed(|entry| &entry.hide) && !is_secret_key(settings, schema, table, column)
}

fn is_secret(table: &Table, column: &Column) -> bool {
    column_looks_secret(&table.name, column)
}

fn column_looks_secret(table: &str, column: &Column) -> bool {
    // A guessed type says nothing about future values.
    let field_type = if column.is_guessed { &FieldType::Text } else { &column.field_type };
    looks_secret(table, &column.name, field_type)
}

/// Whether a declared primary key must not identify rows to callers, because it looks like a secret that is not in
/// `show`, such as the key of a login session. Keys are shown, so rows are then identified in another way.
pub(crate) fn is_secret_key(settings: &Settings, schema: Option<&str>, table: &str, column: &Column) -> bool {
    let is_shown = |entry: &TableSettings| entry.show.iter().any(|name| **name == *column.name);
    column_looks_secret(table, column) && !settings.table(schema, table).is_some_and(is_shown)
}

/// Columns that are never hidden by propagation: those in `show`, and keys, without which rows could not be addressed.
/// A primary key that looks like a secret itself is not a key ([`is_secret_key`]).
fn exempt_columns(table: &Table, settings: &Settings) -> Vec<ColumnId> {
    let show = table_settings(table, settings).map(|entry| entry.show.as_slice()).unwrap_or_default();
    // A substitute key can be replaced.
    let keys = table.key_columns().filter(|_| table.key_fallback.is_none()).map(|column| &*column.name);
    show.iter().map(String::as_str).chain(keys).map(|name| table.column_id(name)).collect()
}

/// All derivations between columns. A referring column shows the value it refers to.
fn all_derivations(model: &Model) -> Vec<ColumnDerivation> {
    let mut derivations = model.derivations.clone();
    for table in &model.tables {
        for foreign in &table.foreign {
            for (own, to) in foreign.columns.iter().zip(&foreign.to_columns) {
                let from = ColumnId::new(foreign.to_schema.as_deref(), &foreign.to_table, to);
                derivations.push(ColumnDerivation { from, to: table.column_id(own) });
            }
        }
    }
    derivations
}

/// Hides every column that shows hidden values, transitively. Returns the exempt columns that would have been hidden.
fn propagate(
    hidden: &mut HashSet<ColumnId>,
    derivations: &[ColumnDerivation],
    exempt: &HashSet<ColumnId>,
) -> Vec<ColumnId> {
    let mut leading: HashMap<&ColumnId, Vec<&ColumnId>> = HashMap::new();
    for derivation in derivations {
        leading.entry(&derivation.from).or_default().push(&derivation.to);
    }
    let mut waiting: Vec<ColumnId> = hidden.iter().cloned().collect();
    let mut spared = Vec::new();
    while let Some(from) = waiting.pop() {
        for to in leading.get(&from).into_iter().flatten() {
            if exempt.contains(*to) {
                spared.push((*to).clone());
            } else if hidden.insert((*to).clone()) {
                waiting.push((*to).clone());
            }
        }
    }
    spared
}

/// Hidden columns of tables that are not offered: a view may show them.
fn hidden_elsewhere(model: &Model, settings: &Settings) -> Vec<ColumnId> {
    let mut all = Vec::new();
    for table in &model.excluded {
        let Some(entry) = settings.table(table.schema.as_deref(), &table.name) else { continue };
        // If a hidden column does not exist, any column may be meant.
        let columns = table.columns.iter().map(|column| &**column).filter(|_| !table.has_columns(&entry.hide));
        all.extend(entry.hide.iter().map(String::as_str).chain(columns).map(|column| table.column_id(column)));
    }
    // Tables that do not exist or that this user cannot read.
    let is_known = |name: &str| model.tables.iter().any(|table| names_table(table, settings, name));
    let elsewhere = settings.tables.iter().filter(|(name, _)| !is_known(name));
    for (table, column) in elsewhere.flat_map(|(name, entry)| entry.hide.iter().map(move |column| (name, column))) {
        match (&settings.target, table.split_once('.')) {
            (Target::Sqlite(_) | Target::Memory(_), _) => all.push(ColumnId::for_sqlite(table, column)),
            (Target::Postgres(_), Some((schema, table))) => all.push(ColumnId::for_postgres(schema, table, column)),
            (Target::Postgres(_), None) => {
                let schemas = settings.offered_schemas();
                all.extend(schemas.iter().map(|schema| ColumnId::for_postgres(schema, table, column)));
            }
        }
    }
    all
}

/// Columns of tables that are not offered whose names look like secrets: a view may show them under another name.
fn secrets_elsewhere<'a>(model: &'a Model, derivations: &'a [ColumnDerivation]) -> impl Iterator<Item = ColumnId> + 'a {
    let offered: Vec<ColumnId> = model.tables.iter().map(|table| table.column_id("")).collect();
    let is_elsewhere = move |column: &ColumnId| !offered.iter().any(|table| table.is_same_table(column));
    let from = derivations
        .iter()
        .map(|derivation| &derivation.from)
        .filter(|column| looks_secret(column.table(), column.column(), &FieldType::Text));
    from.filter(move |column| is_elsewhere(column)).cloned()
}

/// Removes the hidden columns from a table, together with everything that refers to them.
fn withhold(table: &mut Table, settings: &Settings, hidden: &HashSet<ColumnId>) {
    let secrets: Vec<Arc<str>> = secret_columns(table, settings).cloned().collect();
    let is_hidden = |name: &str| hidden.contains(&table.column_id(name));
    let columns: Vec<Arc<str>> =
        table.columns.iter().map(|column| column.name.clone()).filter(|name| is_hidden(name)).collect();
    let is_needed = table.columns.iter().any(|column| is_hidden(&column.name) && column.is_required());
    let prevents_create = table.may.insert && is_needed;
    let loses_index = table.index.as_ref().is_some_and(|index| index.sources().iter().any(|id| hidden.contains(id)));
    let hide = table_settings(table, settings).map(|entry| entry.hide.as_slice()).unwrap_or_default();
    // Columns in `hide` are never named to callers.
    let secrets = secrets.into_iter().filter(|name| !hide.iter().any(|hidden| **hidden == **name)).collect();
    if loses_index {
        tracing::info!(
            source = settings.name,
            table = table.full_name(),
            "a full-text index is not used because it may contain words of a hidden column"
        );
        table.index = None;
    }
    if columns.is_empty() {
        return;
    }
    let key: Vec<Arc<str>> = table.key_columns().map(|column| column.name.clone()).collect();
    table.columns.retain(|column| !columns.contains(&column.name));
    let (withheld_foreign, foreign) = std::mem::take(&mut table.foreign)
        .into_iter()
        .partition(|foreign: &ForeignKey| foreign.columns.iter().any(|name| columns.contains(name)));
    table.foreign = foreign;
    let position = |name: &Arc<str>| table.columns.iter().position(|column| column.name == *name);
    let positions: Vec<usize> = key.iter().filter_map(position).collect();
    if let Key::Columns(old) = &mut table.key {
        *old = positions;
    }
    table.may.insert &= !prevents_create;
    table.withheld =
        WithheldColumns { columns, secrets, prevents_create, foreign: withheld_foreign, rules: Vec::new() };
}

/// Finds the triggers and policies by which changes of a table say something about hidden columns.
fn find_rules_on_hidden(tables: &mut [Table]) {
    let rules_of = |position: usize, table: &Table| {
        let reads_hidden = |rule: &&ChangeRule| {
            tables.iter().enumerate().any(|(other, owner)| owner.is_read_by(rule, other == position))
        };
        table.change_rules.iter().filter(reads_hidden).map(|rule| rule.name.clone()).collect()
    };
    let found: Vec<Vec<Arc<str>>> =
        tables.iter().enumerate().map(|(position, table)| rules_of(position, table)).collect();
    for (table, rules) in tables.iter_mut().zip(found) {
        table.withheld.rules = rules;
    }
}
