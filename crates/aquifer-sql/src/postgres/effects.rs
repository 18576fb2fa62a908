//! Determines which changes of a table leave no trace after a rollback.
//!
//! A dry run performs the change and rolls it back. Sequences are not rolled back, and neither are effects outside the
//! transaction. A dry run is therefore safe only if all code that runs with the change is: triggers of the table, of
//! its partitions and of referenced tables, rules, defaults, checks and policies.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::catalog::{flag, number, query_catalog, text};
use super::safe_code::{self, SafeCode};
use super::session::PostgresSession;
use super::{code_catalog, fingerprint, trigger_body};
use crate::error::SqlError;
use crate::schema::model::{DefaultPrediction, DryRunSupport, UntestableDefault};
use crate::statement::{Bind, Dialect, Fragment, Name, Statement};

/// Everything that may run with a change of any table, because references may lead to any table. Objects with numbers
/// below 16384 are built into PostgreSQL.
const PARTS: &str = "
    WITH RECURSIVE reached AS (
        SELECT DISTINCT a.attrelid AS relation, a.atttypid AS id FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relkind IN ('r', 'p', 'f') AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384),
    made AS (
        SELECT id FROM reached
        UNION
        SELECT n.id FROM made m CROSS JOIN LATERAL (
            SELECT t.typbasetype FROM pg_type t WHERE t.oid = m.id
            UNION ALL
            SELECT t.typelem FROM pg_type t WHERE t.oid = m.id
            UNION ALL
            SELECT a.atttypid FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid
            WHERE t.oid = m.id AND a.attnum > 0 AND NOT a.attisdropped) n (id)
        WHERE n.id >= 16384),
    trees AS (
        SELECT t.tgrelid AS relation, 'condition' AS part, t.tgtype::int AS kind, t.tgqual::text AS tree
        FROM pg_trigger t WHERE t.tgenabled <> 'D' AND t.tgqual IS NOT NULL
        UNION ALL
        SELECT k.conrelid, 'check', 0, k.conbin::text FROM pg_constraint k WHERE k.contype = 'c' AND k.conrelid <> 0
        UNION ALL
        SELECT p.polrelid, 'policy', 0, x.tree FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid AND c.relrowsecurity
        CROSS JOIN LATERAL (VALUES (p.polqual::text), (p.polwithcheck::text)) x (tree) WHERE x.tree IS NOT NULL
        UNION ALL
        SELECT i.indrelid, 'check', 0, x.tree FROM pg_index i
        CROSS JOIN LATERAL (VALUES (i.indexprs::text), (i.indpred::text)) x (tree)
        WHERE x.tree IS NOT NULL AND i.indrelid >= 16384
        UNION ALL
        SELECT f.adrelid, 'check', 0, f.adbin::text FROM pg_attrdef f
        JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum WHERE a.attgenerated <> ''
        UNION ALL
        SELECT p.partrelid, 'check', 0, p.partexprs::text FROM pg_partitioned_table p WHERE p.partexprs IS NOT NULL),
    uses AS (
        SELECT i.indrelid AS relation, 'pg_opclass'::regclass AS class, unnest(i.indclass::oid[]) AS object FROM pg_index i
        UNION
        SELECT p.partrelid, 'pg_opclass'::regclass, unnest(p.partclass::oid[]) FROM pg_partitioned_table p
        UNION
        SELECT i.indrelid, 'pg_am'::regclass, c.relam FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        UNION
        SELECT c.oid, 'pg_am'::regclass, c.relam FROM pg_class c WHERE c.relkind IN ('r', 'p')
        UNION
        SELECT k.conrelid, 'pg_operator'::regclass, unnest(k.conexclop || k.conpfeqop || k.conppeqop || k.conffeqop)
        FROM pg_constraint k),
";
const PARTS_OF_TABLES: &str = "
    SELECT json_build_object('part', 'trigger', 'id', t.tgrelid::int8, 'kind', t.tgtype::int, 'function', t.tgfoid::int8)::text
    FROM pg_trigger t WHERE (NOT t.tgisinternal OR t.tgfoid >= 16384) AND t.tgenabled <> 'D'
    UNION ALL
    SELECT json_build_object('part', part, 'id', relation::int8, 'kind', kind, 'tree', tree)::text FROM trees
    UNION ALL
    SELECT json_build_object('part', 'object', 'id', u.relation::int8, 'extension', o.extname)::text
    FROM uses u LEFT JOIN owned o ON o.classid = u.class AND o.objid = u.object WHERE u.object >= 16384
    UNION ALL
    SELECT json_build_object('part', 'column', 'id', relation::int8, 'type', id::int8)::text FROM reached
    UNION ALL
    SELECT json_build_object('part', 'type', 'id', t.oid::int8, 'kind', t.typtype, 'array', t.typcategory = 'A',
        'parts', (SELECT json_agg(x.id::int8) FROM (
            SELECT t.typbasetype UNION ALL SELECT t.typelem UNION ALL
            SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) x (id)),
        'checks', (SELECT json_agg(coalesce(k.conbin::text, '')) FROM pg_constraint k
                   WHERE k.contypid = t.oid AND k.contype = 'c'),
        'extension', o.extname)::text
    FROM made m JOIN pg_type t ON t.oid = m.id LEFT JOIN owned o ON o.classid = 'pg_type'::regclass AND o.objid = t.oid
    UNION ALL
    SELECT json_build_object('part', 'rule', 'id', r.ev_class::int8, 'kind', r.ev_type::text::int)::text
    FROM pg_rewrite r WHERE r.ev_type <> '1' AND r.ev_enabled <> 'D'
    UNION ALL
    SELECT json_build_object('part', 'reference', 'id', k.conrelid::int8, 'to', k.confrelid::int8,
        'on_delete', k.confdeltype, 'on_update', k.confupdtype)::text
    FROM pg_constraint k WHERE k.contype = 'f'
    UNION ALL
    SELECT json_build_object('part', 'child', 'id', i.inhrelid::int8, 'to', i.inhparent::int8,
        'partition', c.relispartition)::text
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    UNION ALL
    SELECT json_build_object('part', 'foreign', 'id', c.oid::int8)::text FROM pg_class c WHERE c.relkind = 'f'
    UNION ALL
    SELECT json_build_object('part', 'redefined', 'name', p.proname)::text FROM pg_proc p
    WHERE p.oid >= 16384 AND p.proname = ANY(";
const PARTS_END: &str = "::text[])
    UNION ALL
";

/// Defaults of the offered tables, and the sequences they use.
const DEFAULTS: &str = include_str!("catalog/effects_defaults.sql");

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Event {
    Insert,
    Update,
    Delete,
}

impl Event {
    /// The bit of the event in a trigger's type.
    fn bit(self) -> i64 {
        match self {
            Event::Insert => 4,
            Event::Delete => 8,
            Event::Update => 16,
        }
    }

    /// The number of the event in a rule.
    fn rule(self) -> i64 {
        match self {
            Event::Update => 2,
            Event::Insert => 3,
            Event::Delete => 4,
        }
    }
}

struct Reference {
    from: i64,
    to: i64,
    on_delete: char,
    on_update: char,
}

/// The code that runs with changes, for all tables.
#[derive(Default)]
pub(super) struct Effects {
    /// Triggers that may leave a trace: the table, and the bits of its events.
    triggers: Vec<(i64, i64)>,
    rules: Vec<(i64, i64)>,
    references: Vec<Reference>,
    /// Tables whose rows are also rows of another table: the table, and its parent.
    children: Vec<(i64, i64)>,
    /// Tables whose rows may move between partitions when they are updated.
    partitioned: HashSet<i64>,
    foreign: HashSet<i64>,
    /// Tables with checks, indexes, generated columns or types that may leave a trace.
    checks: HashSet<i64>,
    /// Tables with policies that may leave a trace, even where rows are only read.
    policies: HashSet<i64>,
    /// Columns whose defaults do more than compute.
    untestable: HashMap<i64, Vec<UntestableDefault>>,
    /// The state of the catalog at the time of reading.
    fingerprint: Option<Arc<str>>,
}

impl Effects {
    /// Reads the code that runs with changes.
    pub(super) async fn read(session: &mut PostgresSession<'_>, schemas: &[String]) -> Result<Self, SqlError> {
        // In one snapshot of the catalog, after the tables were read: a proof must not be older than the tables.
        session.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let mut question = Statement::new(Dialect::Postgres);
        let times = crate::sql::json::array_literal(trigger_body::FUNCTIONS.map(Some));
        question.push(PARTS).push(code_catalog::OWNED).push(PARTS_OF_TABLES).bind(Bind::Text(times)).push(PARTS_END);
        let parts = code_catalog::query_parts(session, question).await?;
        let defaults = query_catalog(session, DEFAULTS, schemas).await?;
        let parts_of = |part: &'static str| parts.iter().filter(move |row| text(row, "part") == part);
        let mut safe_code = SafeCode::default();
        parts.iter().for_each(|row| safe_code.add(row));
        let trees: Vec<&str> = parts.iter().chain(&defaults).filter_map(|row| row["tree"].as_str()).collect();
        let mut used = safe_code.functions_of(&trees);
        used.extend(parts_of("trigger").map(|row| number(row, "function")));
        safe_code.add_functions(session, used).await?;
        let fingerprint = fingerprint::read(session).await?;
        session.batch("ROLLBACK").await?;
        let is_loud = |row: &&Value| !safe_code.is_safe_expression(text(row, "tree"));
        let action_code = |row: &Value, name: &str| text(row, name).chars().next().unwrap_or('a');
        let policies: HashSet<i64> = parts_of("policy").filter(is_loud).map(|row| number(row, "id")).collect();
        let mut checks = policies.clone();
        checks.extend(parts_of("check").filter(is_loud).map(|row| number(row, "id")));
        let is_unknown = |row: &&Value| !safe_code::is_known_extension(row["extension"].as_str());
        checks.extend(parts_of("object").filter(is_unknown).map(|row| number(row, "id")));
        let is_opaque = |row: &&Value| !safe_code.is_safe_type(number(row, "type"));
        checks.extend(parts_of("column").filter(is_opaque).map(|row| number(row, "id")));
        let mut effects = Self {
            triggers: parts_of("trigger")
                .filter(|row| !safe_code.is_safe_trigger(number(row, "function")))
                .chain(parts_of("condition").filter(is_loud))
                .map(|row| (number(row, "id"), number(row, "kind")))
                .collect(),
            rules: parts_of("rule").map(|row| (number(row, "id"), number(row, "kind"))).collect(),
            references: parts_of("reference")
                .map(|row| Reference {
                    from: number(row, "id"),
                    to: number(row, "to"),
                    on_delete: action_code(row, "on_delete"),
                    on_update: action_code(row, "on_update"),
                })
                .collect(),
            children: parts_of("child").map(|row| (number(row, "id"), number(row, "to"))).collect(),
            partitioned: parts_of("child").filter(|row| flag(row, "partition")).map(|row| number(row, "to")).collect(),
            foreign: parts_of("foreign").map(|row| number(row, "id")).collect(),
            checks,
            policies,
            untestable: HashMap::new(),
            fingerprint: Some(fingerprint.into()),
        };
        for row in defaults {
            let before = effects.untestable.entry(number(&row, "id")).or_default();
            before.extend(untestable_default(&row, before, &safe_code));
        }
        Ok(effects)
    }

    /// How changes of a table can be tried in a dry run.
    pub(super) fn dry_run(&self, table: i64) -> DryRunSupport {
        let traceless = |event| self.leaves_no_trace(table, event, &mut HashSet::new());
        let (create, update, delete) = (traceless(Event::Insert), traceless(Event::Update), traceless(Event::Delete));
        let untestable = self.untestable.get(&table).cloned().unwrap_or_default();
        DryRunSupport { create, update, delete, untestable, fingerprint: self.fingerprint.clone() }
    }

    /// Whether everything that runs with the event is rolled back with it.
    fn leaves_no_trace(&self, table: i64, event: Event, seen: &mut HashSet<(i64, Event)>) -> bool {
        if !seen.insert((table, event)) {
            return true;
        }
        let own = !self.foreign.contains(&table)
            && !self.triggers.iter().any(|(on, kinds)| *on == table && kinds & event.bit() != 0)
            && !self.rules.iter().any(|(on, kind)| *on == table && *kind == event.rule())
            && !self.checks.contains(&table);
        let follow = |reference: &Reference| match (event, reference.on_delete, reference.on_update) {
            (Event::Delete, 'c', _) => Some(Event::Delete),
            (Event::Delete, 'n' | 'd', _) | (Event::Update, _, 'c' | 'n' | 'd') => Some(Event::Update),
            _ => None,
        };
        // The reference sets the column to its default, which may use a sequence.
        let draws = |reference: &Reference| {
            let sets_default = (event == Event::Delete && reference.on_delete == 'd')
                || (event == Event::Update && reference.on_update == 'd');
            // Tables in schemas that are not offered are unknown.
            sets_default && self.untestable.get(&reference.from).is_none_or(|untestable| !untestable.is_empty())
        };
        let referring: Vec<&Reference> = self.references.iter().filter(|reference| reference.to == table).collect();
        // Tables at the other end of a reference are read to explain errors and cascades.
        let is_guarded = |reference: &Reference| {
            (reference.to == table && self.policies.contains(&reference.from))
                || (reference.from == table && self.policies.contains(&reference.to))
        };
        let reads = !self.references.iter().any(is_guarded);
        // A row that moves to another partition is deleted here and inserted there.
        let moves = event == Event::Update && self.partitioned.contains(&table);
        let moved = [Event::Insert, Event::Delete];
        own && reads
            && (!moves || moved.into_iter().all(|event| self.leaves_no_trace(table, event, seen)))
            && self
                .children
                .iter()
                .filter(|(_, parent)| *parent == table)
                .all(|(child, _)| self.leaves_no_trace(*child, event, seen))
            && referring.into_iter().all(|reference| {
                !draws(reference)
                    && follow(reference).is_none_or(|event| self.leaves_no_trace(reference.from, event, seen))
            })
    }
}

/// A column whose default does more than compute, with its predicted next value if possible. `before` are the table's
/// earlier columns, which get their values first.
fn untestable_default(row: &Value, before: &[UntestableDefault], safe_code: &SafeCode) -> Option<UntestableDefault> {
    let is_identity = flag(row, "identity");
    let expression = row["expression"].as_str().unwrap_or_default();
    let draws = safe_code.count_draws(text(row, "tree"));
    if !is_identity && draws == Some(0) {
        return None;
    }
    let sequences: Vec<Sequence> = row["sequences"].as_array().into_iter().flatten().map(Sequence::from_row).collect();
    let column = UntestableDefault {
        name: text(row, "name").into(),
        quoted: Name::reflected(text(row, "name")),
        is_identity,
        draws_from: sequences.iter().map(|sequence| sequence.id).collect(),
        prediction: DefaultPrediction::Unknown,
    };
    let prediction = match sequences.as_slice() {
        // A user without permission on the sequence has to supply a value. An identity column needs no permission.
        all if !is_identity && all.iter().any(|sequence| !sequence.may_draw) => DefaultPrediction::Refused,
        _ if !flag(row, "insert") => DefaultPrediction::Unknown,
        [only] if is_identity => only
            .next_value(before, row)
            .map_or(DefaultPrediction::Unknown, |next| DefaultPrediction::Predicted(Fragment::trusted(&next))),
        all if draws == Some(all.len()) => predict_default(expression, all, before, row)
            .map_or(DefaultPrediction::Unknown, |predicted| {
                DefaultPrediction::Predicted(Fragment::trusted(&predicted))
            }),
        _ => DefaultPrediction::Unknown,
    };
    Some(UntestableDefault { prediction, ..column })
}

/// The default with predictions in place of calls to `nextval`.
fn predict_default(
    expression: &str,
    sequences: &[Sequence],
    before: &[UntestableDefault],
    row: &Value,
) -> Option<String> {
    let mut predicted = expression.to_owned();
    for sequence in sequences {
        let call = format!("nextval('{}'::regclass)", sequence.text.replace('\'', "''"));
        // The order of several calls is not known.
        if expression.matches(&call).count() != 1 {
            return None;
        }
        predicted = predicted.replace(&call, &sequence.next_value(before, row)?);
    }
    Some(predicted)
}

/// A sequence that a default uses.
struct Sequence {
    id: i64,
    /// The name of the sequence in expressions.
    text: String,
    quoted: String,
    increment: i64,
    may_select: bool,
    may_draw: bool,
}

impl Sequence {
    fn from_row(row: &Value) -> Self {
        let quoted = |name: &str| format!("\"{}\"", text(row, name).replace('"', "\"\""));
        Self {
            id: number(row, "id"),
            text: text(row, "text").to_owned(),
            quoted: format!("{}.{}", quoted("schema"), quoted("name")),
            increment: number(row, "increment"),
            may_select: flag(row, "select"),
            may_draw: flag(row, "usage"),
        }
    }

    /// An expression for the next value that does not advance the sequence.
    fn next_value(&self, before: &[UntestableDefault], row: &Value) -> Option<String> {
        let untestable = before.iter().flat_map(|column| &column.draws_from).filter(|id| **id == self.id).count();
        let first = self.increment.checked_mul(i64::try_from(untestable).ok()?)?;
        let more = first.checked_add(self.increment)?;
        let Self { id, quoted, .. } = self;
        if self.may_select {
            return Some(format!(
                "(SELECT s.last_value + CASE WHEN s.is_called THEN ({more}) ELSE ({first}) END FROM {quoted} AS s)"
            ));
        }
        if self.may_draw {
            return Some(format!(
                "(SELECT coalesce(pg_catalog.pg_sequence_last_value({id}::oid::regclass) + ({more}), q.seqstart + ({first})) \
                 FROM pg_catalog.pg_sequence AS q WHERE q.seqrelid = {id}::oid)"
            ));
        }
        // The sequence of an identity column may not be readable, but its last value is in the column.
        let column = Name::reflected(text(row, "name"));
        let table = Name::qualified(text(row, "schema"), text(row, "table"));
        let mut statement = Statement::new(Dialect::Postgres);
        statement.push("(SELECT coalesce(max(m.").name(&column).push("), 0) + ").count(1);
        statement.push(" FROM ").name(&table).push(" AS m)");
        flag(row, "select").then(|| statement.text().to_owned())
    }
}
