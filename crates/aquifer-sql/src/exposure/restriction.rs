//! What of a database callers get to see: the operator's `hide` and `show`, columns whose names look like secrets, and
//! whatever shows the values of either.
//!
//! What is hidden has to stay hidden. Settings that do not fit the tables are therefore errors, and a table whose `hide`
//! no longer applies is not served at all, nor is any table that has changed since it did. A column that shows a hidden one's values (a generated column, a column of a
//! view, a reference) is hidden with it, and so is the full-text index that holds its words.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use aquifer_protocol::suggest;
use aquifer_query::FieldType;

use crate::exposure::secret_names::looks_secret;
use crate::schema::model::{Column, ColumnId, ExcludedTable, Flow, ForeignKey, Key, Model, Table, WithheldColumns};
use crate::settings::{Settings, TableSettings, Target};

/// Beyond this many hidden columns, those that are gone are forgotten. Partitions come and go for ever.
const MAX_REMEMBERED_COLUMNS: usize = 100_000;

/// Something in the settings that does not fit the tables. For the operator, not for callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch(pub(crate) String);

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a look found in which every `hide` applied. Later looks are compared with it: what was hidden then stays hidden, and
/// when a `hide` no longer applies, its table or column was perhaps renamed and may be any that is not among these.
#[derive(Debug, Clone, Default)]
pub(crate) struct Baseline {
    columns: Arc<HashSet<ColumnId>>,
    /// Columns that a `hide` names.
    named: Arc<BTreeSet<ColumnId>>,
    /// Every column that was hidden, whatever the reason.
    hidden: Arc<BTreeSet<ColumnId>>,
}

impl Baseline {
    fn new(model: &Model, settings: &Settings, flows: &[Flow], hidden: BTreeSet<ColumnId>) -> Self {
        let columns: HashSet<ColumnId> =
            existing_columns(model).chain(flows.iter().map(|flow| flow.from.clone())).collect();
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

    /// Columns that a `hide` named and that are no longer there.
    fn lost_columns(&self, model: &Model) -> Vec<&ColumnId> {
        let existing: HashSet<ColumnId> =
            if self.named.is_empty() { HashSet::new() } else { existing_columns(model).collect() };
        self.named.iter().filter(|column| !existing.contains(*column)).collect()
    }
}

/// Every column of every table that is known, offered or not.
fn existing_columns(model: &Model) -> impl Iterator<Item = ColumnId> + '_ {
    let excluded = model.excluded.iter().flat_map(|table| table.columns.iter().map(|name| table.column_id(name)));
    model.tables.iter().flat_map(every_column).chain(excluded)
}

/// Takes out of the model what callers are not to see. Says which settings do not fit; tables whose `hide` or `show` is
/// among them are taken out whole, and with a `hide` among them every table that is not of the baseline. Where every
/// `hide` applies, this look becomes the baseline.
pub(crate) fn restrict(model: &mut Model, settings: &Settings, baseline: &mut Baseline) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    let mut withdrawn = vec![false; model.tables.len()];
    check_tables(model, settings, &mut mismatches);
    for (table, withdrawn) in model.tables.iter().zip(&mut withdrawn) {
        let found = check_columns(table, settings);
        *withdrawn = !found.is_empty();
        mismatches.extend(found);
    }
    check_namesakes(model, settings, baseline, &mut mismatches);
    let flows = all_flows(model);
    let exempt: HashSet<ColumnId> = model.tables.iter().flat_map(|table| exempt_columns(table, settings)).collect();
    let mut hidden: HashSet<ColumnId> = HashSet::new();
    if loses_hide(model, settings, baseline) {
        for (table, withdrawn) in model.tables.iter().zip(&mut withdrawn).filter(|(_, withdrawn)| !**withdrawn) {
            *withdrawn = !every_column(table).all(|column| baseline.contains(&column));
            // At the first look all of them are, and the setting that does not fit is told anyway.
            if *withdrawn && !baseline.columns.is_empty() {
                let table = table.full_name();
                let words = "is new or has new columns, which may be what a 'hide' was about that no longer applies";
                mismatches.push(Mismatch(format!("table '{table}' {words}")));
            }
        }
        let is_new = |column: &&ColumnId| !column.is_whole_table() && !baseline.contains(column);
        hidden.extend(flows.iter().map(|flow| &flow.from).filter(is_new).cloned());
    } else {
        let now_hidden = currently_hidden(model, settings, &flows, &exempt);
        report_still_hidden(model, settings, baseline, &now_hidden);
        let mut all: BTreeSet<ColumnId> = now_hidden.into_iter().collect();
        if baseline.hidden.len() <= MAX_REMEMBERED_COLUMNS {
            all.extend(baseline.hidden.iter().cloned());
        } else {
            all.extend(existing_columns(model).filter(|column| baseline.hidden.contains(column)));
        }
        *baseline = Baseline::new(model, settings, &flows, all);
    }
    hidden.extend(baseline.hidden.iter().filter(|column| !exempt.contains(*column)).cloned());
    for (table, withdrawn) in model.tables.iter().zip(&withdrawn) {
        hidden.extend(if *withdrawn { every_column(table).collect() } else { hidden_by_name(table, settings) });
    }
    hidden.extend(hidden_elsewhere(model, settings));
    hidden.extend(secrets_elsewhere(model, &flows));
    let spared = propagate(&mut hidden, &flows, &exempt);
    for table in &model.tables {
        let source = &*settings.name;
        for key in table.key_columns().filter(|key| !is_shown(table, settings, key)) {
            let (column, id) = (&*key.name, table.column_id(&key.name));
            if spared.contains(&id) {
                let table = table.full_name();
                tracing::warn!(source, table, column, "a key shows values of a hidden column, and cannot be left out");
            } else if is_secret(table, key) {
                let (table, words) = (table.full_name(), "a key looks like a secret, and cannot be left out");
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
                "a table is not served, since all of its columns show values of hidden ones"
            );
            *withdrawn = true;
        }
    }
    let mut withdrawn = withdrawn.into_iter();
    model.tables.retain(|_| !withdrawn.next().unwrap_or(false));
    mismatches
}

/// Columns that are hidden, or may be, by what is known so far: for reflection, which looks closer at what shows them.
pub(crate) fn possibly_hidden_columns(
    model: &Model,
    settings: &Settings,
    baseline: &Baseline,
    more: &[Flow],
) -> BTreeSet<ColumnId> {
    let mut flows = all_flows(model);
    flows.extend_from_slice(more);
    let mut hidden: HashSet<ColumnId> = baseline.hidden.iter().cloned().collect();
    if loses_hide(model, settings, baseline) {
        // Any column may be the one that was meant.
        hidden.extend(model.tables.iter().flat_map(every_column));
        hidden.extend(flows.iter().map(|flow| flow.from.clone()));
    }
    for table in &model.tables {
        // One that turns out not to fit is hidden as a whole.
        let fits = check_columns(table, settings).is_empty();
        hidden.extend(if fits { hidden_by_name(table, settings) } else { every_column(table).collect() });
    }
    hidden.extend(hidden_elsewhere(model, settings));
    hidden.extend(secrets_elsewhere(model, &flows));
    propagate(&mut hidden, &flows, &HashSet::new());
    hidden.into_iter().collect()
}

/// The columns that are hidden for what the tables are now, whatever was hidden before.
fn currently_hidden(
    model: &Model,
    settings: &Settings,
    flows: &[Flow],
    exempt: &HashSet<ColumnId>,
) -> HashSet<ColumnId> {
    let mut hidden: HashSet<ColumnId> = model.tables.iter().flat_map(|table| hidden_by_name(table, settings)).collect();
    hidden.extend(hidden_elsewhere(model, settings));
    hidden.extend(secrets_elsewhere(model, flows));
    propagate(&mut hidden, flows, exempt);
    hidden
}

/// Reports columns that showed hidden values before and no longer do. They hold what they held, so they stay hidden.
fn report_still_hidden(model: &Model, settings: &Settings, baseline: &Baseline, now: &HashSet<ColumnId>) {
    for table in &model.tables {
        for column in every_column(table).filter(|column| baseline.hidden.contains(column) && !now.contains(column)) {
            tracing::error!(
                source = settings.name,
                table = table.full_name(),
                column = column.column(),
                "a column no longer shows values of a hidden one, but may still hold them: it stays hidden until the next \
                 start. Add it to 'hide' to keep it hidden"
            );
        }
    }
}

/// A table that a `hide` was about must still be there, even if another one has a name that the entry fits, too.
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
                "table '{table}', of which 'hide' names '{column}', is gone, and may have another name now"
            )));
        }
    }
}

/// What an operator says of tables must be about tables.
fn check_tables(model: &Model, settings: &Settings, mismatches: &mut Vec<Mismatch>) {
    for (name, entry) in settings.tables.iter().filter(|(_, entry)| !(entry.hide.is_empty() && entry.show.is_empty())) {
        let what = if entry.hide.is_empty() { "show" } else { "hide" };
        if model.tables.iter().any(|table| names_table(table, settings, name)) {
            continue;
        }
        if let Some(table) = model.excluded.iter().find(|table| applies_to_excluded(table, settings, name)) {
            // A view may show its columns.
            for column in entry.hide.iter().filter(|column| !table.columns.iter().any(|known| **known == ***column)) {
                let hint = suggestion(column, table.columns.iter().map(|known| &**known));
                let words = format!("table '{name}': 'hide' names '{column}', which is not a column of it.{hint}");
                mismatches.push(Mismatch(words));
            }
            continue;
        }
        let known: Vec<String> =
            model.tables.iter().flat_map(|table| [table.name.to_string(), table.full_name()]).collect();
        let hint = suggestion(name, known.iter().map(String::as_str));
        let words = format!("'{what}' is set for table '{name}', but no such table can be served.{hint}");
        mismatches.push(Mismatch(words));
    }
}

/// Whether an entry of the settings is about the table, even if another one counts.
fn names_table(table: &Table, settings: &Settings, entry: &str) -> bool {
    settings.fold(&table.name) == settings.fold(entry) || table.full_name() == *entry
}

/// Whether an entry of the settings is what counts for a table that is left out.
fn applies_to_excluded(table: &ExcludedTable, settings: &Settings, entry: &str) -> bool {
    settings.entry(table.schema.as_deref(), &table.name).is_some_and(|(name, _)| name == entry)
}

/// Whether a `hide` names a table or column that does not exist, or no longer does, so that what it is about may be called
/// anything.
fn loses_hide(model: &Model, settings: &Settings, baseline: &Baseline) -> bool {
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

/// What an operator hides or shows must be columns.
fn check_columns(table: &Table, settings: &Settings) -> Vec<Mismatch> {
    let Some((effective, entry)) = settings.entry(table.schema.as_deref(), &table.name) else { return Vec::new() };
    let mut mismatches = Vec::new();
    // Only one entry counts, so it must not say less than others.
    for (name, other) in
        settings.tables.iter().filter(|(name, _)| *name != effective && names_table(table, settings, name))
    {
        if let Some(column) = other.hide.iter().find(|column| !entry.hide.contains(column)) {
            let table = table.full_name();
            let words = format!("and only the entry for '{name}' hides '{column}', while '{effective}' counts");
            mismatches.push(Mismatch(format!("table '{table}' is set twice, {words}: make them one entry")));
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
            report(format!("'hide' names '{column}', which is part of its key: rows are found and told apart by it"));
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

/// A preset is offered to callers by name, so it must not promise what they do not get.
fn check_presets(table: &Table, settings: &Settings, hidden: &HashSet<ColumnId>) -> Vec<Mismatch> {
    let Some(entry) = table_settings(table, settings) else { return Vec::new() };
    let all = entry.presets.iter().flat_map(|(preset, columns)| columns.iter().map(move |column| (preset, column)));
    let is_hidden = |column: &str| hidden.contains(&table.column_id(column)) && table.column(column).is_some();
    all.filter(|(_, column)| is_hidden(column))
        .map(|(preset, column)| {
            let name = table.full_name();
            Mismatch(format!(
                "table '{name}': preset '{preset}' names '{column}', which is left out. Take it from the preset, or list it in 'show'"
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

fn suggestion<'a>(wrong: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    // Another case of the same name is nearer than any other name.
    let same = known.clone().find(|name| name.eq_ignore_ascii_case(wrong));
    match same.or_else(|| suggest::nearest(wrong, known)) {
        Some(name) => format!(" Did you mean '{name}'?"),
        None => String::new(),
    }
}

fn every_column(table: &Table) -> impl Iterator<Item = ColumnId> {
    let listed = table.columns.iter().map(|column| &*column.name);
    listed.chain(table.unlisted.iter().map(|name| &**name)).map(|name| table.column_id(name))
}

/// The columns that are hidden by name: the operator's, and those that look like secrets.
fn hidden_by_name(table: &Table, settings: &Settings) -> HashSet<ColumnId> {
    let entry = table_settings(table, settings);
    let hide = entry.map(|entry| entry.hide.as_slice()).unwrap_or_default();
    let hide = hide.iter().map(|column| table.column_id(column));
    hide.chain(secret_columns(table, settings).map(|column| table.column_id(column))).collect()
}

/// The columns that look like secrets, and that the operator has not listed.
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

/// Whether rows may be named by the column, where they need not be: what is kept from callers would be shown to them as part
/// of a key.
pub(crate) fn may_name_rows(settings: &Settings, schema: Option<&str>, table: &str, column: &Column) -> bool {
    let entry = settings.table(schema, table);
    let listed = |names: fn(&TableSettings) -> &[String]| {
        entry.is_some_and(|entry| names(entry).iter().any(|name| **name == *column.name))
    };
    let of = if column.is_guessed { &FieldType::Text } else { &column.of };
    let is_secret = looks_secret(table, &column.name, of) && !listed(|entry| &entry.show);
    !listed(|entry| &entry.hide) && !is_secret
}

fn is_secret(table: &Table, column: &Column) -> bool {
    // A type that was guessed from some values says nothing about the next ones.
    let of = if column.is_guessed { &FieldType::Text } else { &column.of };
    looks_secret(&table.name, &column.name, of)
}

/// Columns that stay whatever they show: those the operator lists, and keys, without which rows would be lost.
fn exempt_columns(table: &Table, settings: &Settings) -> Vec<ColumnId> {
    let show = table_settings(table, settings).map(|entry| entry.show.as_slice()).unwrap_or_default();
    // A key that was only chosen among others can be given up.
    let keys = table.key_columns().filter(|_| table.key_fallback.is_none()).map(|column| &*column.name);
    show.iter().map(String::as_str).chain(keys).map(|name| table.column_id(name)).collect()
}

/// Everything that shows other columns' values. A reference holds the very value that it refers to.
fn all_flows(model: &Model) -> Vec<Flow> {
    let mut flows = model.flows.clone();
    for table in &model.tables {
        for foreign in &table.foreign {
            for (own, to) in foreign.columns.iter().zip(&foreign.to_columns) {
                let from = ColumnId::new(foreign.to_schema.as_deref(), &foreign.to_table, to);
                flows.push(Flow { from, to: table.column_id(own) });
            }
        }
    }
    flows
}

/// Hides what shows hidden values, until nothing more does. Says what would be hidden but is exempt.
fn propagate(hidden: &mut HashSet<ColumnId>, flows: &[Flow], exempt: &HashSet<ColumnId>) -> Vec<ColumnId> {
    let mut leading: HashMap<&ColumnId, Vec<&ColumnId>> = HashMap::new();
    for flow in flows {
        leading.entry(&flow.from).or_default().push(&flow.to);
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

/// Columns that the operator hides in tables that are not offered: a view may show them.
fn hidden_elsewhere(model: &Model, settings: &Settings) -> Vec<ColumnId> {
    let mut all = Vec::new();
    for table in &model.excluded {
        let Some(entry) = settings.table(table.schema.as_deref(), &table.name) else { continue };
        // Where a column is not found, any may be meant.
        let columns = table.columns.iter().map(|column| &**column).filter(|_| !table.has_columns(&entry.hide));
        all.extend(entry.hide.iter().map(String::as_str).chain(columns).map(|column| table.column_id(column)));
    }
    // Those that are not there, or that this user may not read.
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

/// Columns of tables that are not offered, whose names look like secrets: a view may show them under any other name.
fn secrets_elsewhere<'a>(model: &'a Model, flows: &'a [Flow]) -> impl Iterator<Item = ColumnId> + 'a {
    let offered: Vec<ColumnId> = model.tables.iter().map(|table| table.column_id("")).collect();
    let is_elsewhere = move |column: &ColumnId| !offered.iter().any(|table| table.is_same_table(column));
    let from = flows
        .iter()
        .map(|flow| &flow.from)
        .filter(|column| looks_secret(column.table(), column.column(), &FieldType::Text));
    from.filter(move |column| is_elsewhere(column)).cloned()
}

/// Takes the hidden columns out of a table, with whatever is about them.
fn withhold(table: &mut Table, settings: &Settings, hidden: &HashSet<ColumnId>) {
    let secrets: Vec<Arc<str>> = secret_columns(table, settings).cloned().collect();
    let is_hidden = |name: &str| hidden.contains(&table.column_id(name));
    let columns: Vec<Arc<str>> =
        table.columns.iter().map(|column| column.name.clone()).filter(|name| is_hidden(name)).collect();
    let is_needed = table.columns.iter().any(|column| is_hidden(&column.name) && column.is_required());
    let prevents_create = table.may.insert && is_needed;
    let loses_index = table.index.as_ref().is_some_and(|index| index.sources().iter().any(|id| hidden.contains(id)));
    let hide = table_settings(table, settings).map(|entry| entry.hide.as_slice()).unwrap_or_default();
    // The operator's own are not named to callers, whatever they look like.
    let secrets = secrets.into_iter().filter(|name| !hide.iter().any(|hidden| **hidden == **name)).collect();
    if loses_index {
        tracing::info!(
            source = settings.name,
            table = table.full_name(),
            "a full-text index is not used, since it may hold words of a hidden column"
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
    table.withheld = WithheldColumns { columns, secrets, prevents_create, foreign: withheld_foreign };
}
