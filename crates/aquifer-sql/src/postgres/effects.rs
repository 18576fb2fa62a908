//! Which changes of a table leave no trace once they are undone.
//!
//! A rehearsal does everything and rolls it back. Sequences do not roll back, nor does whatever code does outside of the
//! transaction, so a change can be rehearsed without a trace only if all code that it runs is harmless: triggers of the
//! table, of its partitions and of tables that references lead to, rules, defaults, checks and policies.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Talk;
use super::harmless::{self, Function, Harmless};
use super::reflect::{ask, text, yes};
use crate::model::{Drawing, DrawnColumn, Rehearsal};
use crate::statement::{Dialect, Fragment, Name, Statement};
use crate::trouble::Trouble;

/// Everything that may run with a change, of all tables: references lead anywhere. Code is `hidden` where an operator, a
/// cast or a view of the database's own calls functions (of PostgreSQL's those that draw from sequences, by number).
const PARTS: &str = "
    WITH used AS (
        SELECT t.tgrelid AS relation, 'trigger' AS part, t.tgtype::int AS kind, t.tgfoid AS function, 0 AS number
        FROM pg_trigger t WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
        UNION ALL
        SELECT t.tgrelid, 'trigger', t.tgtype::int, d.refobjid, 0
        FROM pg_trigger t JOIN pg_depend d ON d.classid = 'pg_trigger'::regclass AND d.objid = t.oid
            AND d.refclassid = 'pg_proc'::regclass
        WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
        UNION ALL
        SELECT k.conrelid, 'check', 0, d.refobjid, 0
        FROM pg_constraint k JOIN pg_depend d ON d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
            AND d.refclassid = 'pg_proc'::regclass WHERE k.contype = 'c' AND k.conrelid <> 0
        UNION ALL
        SELECT a.attrelid, 'check', 0, d.refobjid, 0
        FROM pg_constraint k JOIN pg_depend d ON d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
            AND d.refclassid = 'pg_proc'::regclass JOIN pg_attribute a ON a.atttypid = k.contypid WHERE k.contypid <> 0
        UNION ALL
        SELECT p.polrelid, 'check', 0, d.refobjid, 0
        FROM pg_policy p JOIN pg_depend d ON d.classid = 'pg_policy'::regclass AND d.objid = p.oid
            AND d.refclassid = 'pg_proc'::regclass
        UNION ALL
        SELECT i.indrelid, 'check', 0, d.refobjid, 0
        FROM pg_index i JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
            AND d.refclassid = 'pg_proc'::regclass
        UNION ALL
        SELECT f.adrelid, CASE WHEN a.attgenerated = '' THEN 'default' ELSE 'check' END, 0, d.refobjid, f.adnum
        FROM pg_attrdef f JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
            AND d.refclassid = 'pg_proc'::regclass
        JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum)
    SELECT json_build_object('part', u.part, 'id', u.relation::int8, 'kind', u.kind, 'number', u.number,
        'schema', n.nspname, 'name', p.proname, 'language', l.lanname, 'source', p.prosrc,
        'extension', (SELECT e.extname FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
                      WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' LIMIT 1))::text
    FROM used u JOIN pg_proc p ON p.oid = u.function JOIN pg_namespace n ON n.oid = p.pronamespace
    JOIN pg_language l ON l.oid = p.prolang
    UNION ALL
    SELECT json_build_object('part', 'rule', 'id', r.ev_class::int8, 'kind', r.ev_type::text::int)::text
    FROM pg_rewrite r WHERE r.ev_type <> '1' AND r.ev_enabled <> 'D'
    UNION ALL
    SELECT json_build_object('part', 'reference', 'id', k.conrelid::int8, 'to', k.confrelid::int8,
        'on_delete', k.confdeltype, 'on_update', k.confupdtype)::text
    FROM pg_constraint k WHERE k.contype = 'f'
    UNION ALL
    SELECT json_build_object('part', 'child', 'id', i.inhrelid::int8, 'to', i.inhparent::int8)::text FROM pg_inherits i
    UNION ALL
    SELECT json_build_object('part', 'foreign', 'id', c.oid::int8)::text FROM pg_class c WHERE c.relkind = 'f'
    UNION ALL
    SELECT json_build_object('part', 'hidden')::text WHERE EXISTS (
        SELECT FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace
        WHERE n.nspname <> 'pg_catalog' AND NOT EXISTS (SELECT FROM pg_depend d
            WHERE d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e')
        UNION ALL
        SELECT FROM pg_cast k JOIN pg_proc p ON p.oid = k.castfunc JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname <> 'pg_catalog' AND NOT EXISTS (SELECT FROM pg_depend d
            WHERE d.classid = 'pg_cast'::regclass AND d.objid = k.oid AND d.deptype = 'e')
        UNION ALL
        SELECT FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE r.ev_type = '1' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
            AND r.ev_action::text ~ ':funcid (1574|1576|1765) '
        UNION ALL
        SELECT FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
            AND d.refclassid = 'pg_proc'::regclass
        JOIN pg_proc p ON p.oid = d.refobjid AND p.provolatile = 'v'
        WHERE r.ev_type = '1' AND NOT EXISTS (SELECT FROM pg_depend e
            WHERE e.classid = 'pg_proc'::regclass AND e.objid = p.oid AND e.deptype = 'e'))
    UNION ALL
    SELECT json_build_object('part', 'shadow', 'name', p.proname)::text
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname <> 'pg_catalog' AND p.proname = ANY(";
const PARTS_END: &str = "::text[])";

/// Defaults of the tables that are offered, and the sequences they draw from.
const DEFAULTS: &str = "
    SELECT json_build_object('id', a.attrelid::int8, 'name', a.attname, 'number', a.attnum, 'identity', a.attidentity <> '',
        'schema', n.nspname, 'table', c.relname,
        'insert', has_column_privilege(a.attrelid, a.attnum, 'INSERT'),
        'select', has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
        'expression', coalesce(pg_get_expr(f.adbin, f.adrelid), t.typdefault),
        'sequences', (SELECT json_agg(json_build_object('id', s.seqrelid::int8, 'text', s.seqrelid::regclass::text,
                'schema', m.nspname, 'name', q.relname, 'increment', s.seqincrement,
                'select', has_sequence_privilege(s.seqrelid, 'SELECT'),
                'usage', has_sequence_privilege(s.seqrelid, 'USAGE') OR has_sequence_privilege(s.seqrelid, 'UPDATE')))
            FROM pg_depend d JOIN pg_sequence s ON s.seqrelid = CASE WHEN d.deptype = 'i' THEN d.objid ELSE d.refobjid END
            JOIN pg_class q ON q.oid = s.seqrelid JOIN pg_namespace m ON m.oid = q.relnamespace
            WHERE a.attidentity <> '' AND d.deptype = 'i' AND d.classid = 'pg_class'::regclass
                  AND d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
               OR a.attidentity = '' AND d.deptype <> 'i' AND d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
                  AND d.refclassid = 'pg_class'::regclass))::text
    FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
    WHERE c.relkind IN ('r', 'p', 'f') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
        AND a.attgenerated = ''
        AND (f.oid IS NOT NULL OR a.attidentity <> '' OR t.typdefault IS NOT NULL) AND n.nspname = ANY(";
const DEFAULTS_END: &str = "::text[]) ORDER BY a.attrelid, a.attnum";

/// What is done to rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Event {
    Insert,
    Update,
    Delete,
}

impl Event {
    /// Its bit in a trigger's type.
    fn bit(self) -> i64 {
        match self {
            Event::Insert => 4,
            Event::Delete => 8,
            Event::Update => 16,
        }
    }

    /// Its number in a rule.
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

/// What is known of all tables.
#[derive(Default)]
pub(super) struct Effects {
    /// Triggers that may leave a trace: the table, and the bits of their events.
    triggers: Vec<(i64, i64)>,
    rules: Vec<(i64, i64)>,
    references: Vec<Reference>,
    /// Tables whose rows are seen through another one: the table, and that one.
    children: Vec<(i64, i64)>,
    foreign: HashSet<i64>,
    /// Tables whose checks, policies or indexes call functions that may leave a trace.
    checks: HashSet<i64>,
    /// Columns whose defaults are not simply computed.
    drawn: HashMap<i64, Vec<DrawnColumn>>,
}

impl Effects {
    /// Finds out what runs with changes.
    pub(super) async fn read(talk: &mut Talk<'_>, schemas: &[String]) -> Result<Self, Trouble> {
        let known: Vec<String> = harmless::FUNCTIONS.split(' ').map(str::to_owned).collect();
        let parts = ask(talk, PARTS, PARTS_END, &known).await?;
        let of = |part: &'static str| parts.iter().filter(move |row| text(row, "part") == part);
        let shadowed = of("shadow").map(|row| text(row, "name").to_owned());
        let harmless = Harmless::new(shadowed, of("hidden").next().is_some());
        let is_harmless = |row: &&Value| {
            harmless.is_function(&Function {
                schema: text(row, "schema"),
                name: text(row, "name"),
                language: text(row, "language"),
                source: text(row, "source"),
                extension: row["extension"].as_str(),
            })
        };
        let letter = |row: &Value, name: &str| text(row, name).chars().next().unwrap_or('a');
        let mut effects = Self {
            triggers: of("trigger")
                .filter(|row| !is_harmless(row))
                .map(|row| (number(row, "id"), number(row, "kind")))
                .collect(),
            rules: of("rule").map(|row| (number(row, "id"), number(row, "kind"))).collect(),
            references: of("reference")
                .map(|row| Reference {
                    from: number(row, "id"),
                    to: number(row, "to"),
                    on_delete: letter(row, "on_delete"),
                    on_update: letter(row, "on_update"),
                })
                .collect(),
            children: of("child").map(|row| (number(row, "id"), number(row, "to"))).collect(),
            foreign: of("foreign").map(|row| number(row, "id")).collect(),
            checks: of("check").filter(|row| !is_harmless(row)).map(|row| number(row, "id")).collect(),
            drawn: HashMap::new(),
        };
        // Functions of the database's own that defaults may call.
        let mut own: HashMap<(i64, i64), HashSet<String>> = HashMap::new();
        for row in of("default").filter(is_harmless) {
            let column = (number(row, "id"), number(row, "number"));
            own.entry(column).or_default().insert(text(row, "name").to_lowercase());
        }
        for row in ask(talk, DEFAULTS, DEFAULTS_END, schemas).await? {
            let table = number(&row, "id");
            let none = HashSet::new();
            let own = own.get(&(table, number(&row, "number"))).unwrap_or(&none);
            let before = effects.drawn.entry(table).or_default();
            before.extend(drawn(&row, before, &|code| harmless.is_code(code, own)));
        }
        Ok(effects)
    }

    /// How changes of a table can be rehearsed.
    pub(super) fn rehearsal(&self, table: i64) -> Rehearsal {
        let traceless = |event| self.is_traceless(table, event, &mut HashSet::new());
        let (create, update, delete) = (traceless(Event::Insert), traceless(Event::Update), traceless(Event::Delete));
        Rehearsal { create, update, delete, drawn: self.drawn.get(&table).cloned().unwrap_or_default() }
    }

    /// Whether everything that runs with the event is undone with it.
    fn is_traceless(&self, table: i64, event: Event, seen: &mut HashSet<(i64, Event)>) -> bool {
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
        // What a column is set to then is its default, and that may be drawn.
        let draws = |reference: &Reference| {
            let sets_default = (event == Event::Delete && reference.on_delete == 'd')
                || (event == Event::Update && reference.on_update == 'd');
            // Of tables beyond the schemas that are offered nothing is known.
            sets_default && self.drawn.get(&reference.from).is_none_or(|drawn| !drawn.is_empty())
        };
        let referring: Vec<&Reference> = self.references.iter().filter(|reference| reference.to == table).collect();
        own && self
            .children
            .iter()
            .filter(|(_, parent)| *parent == table)
            .all(|(child, _)| self.is_traceless(*child, event, seen))
            && referring.into_iter().all(|reference| {
                !draws(reference)
                    && follow(reference).is_none_or(|event| self.is_traceless(reference.from, event, seen))
            })
    }
}

fn number(row: &Value, name: &str) -> i64 {
    row[name].as_i64().unwrap_or(0)
}

/// A column whose default is not simply computed, and what can be known of its next value. `before` are those of the
/// table's columns before it, which would be given their values first.
fn drawn(row: &Value, before: &[DrawnColumn], is_harmless: &dyn Fn(&str) -> bool) -> Option<DrawnColumn> {
    let is_identity = yes(row, "identity");
    let expression = row["expression"].as_str().unwrap_or_default();
    if !is_identity && is_harmless(expression) {
        return None;
    }
    let sequences: Vec<Sequence> = row["sequences"].as_array().into_iter().flatten().map(Sequence::of).collect();
    let column = DrawnColumn {
        name: text(row, "name").into(),
        quoted: Name::reflected(text(row, "name")),
        is_identity,
        draws_from: sequences.iter().map(|sequence| sequence.id).collect(),
        drawing: Drawing::Unknown,
    };
    let drawing = match sequences.as_slice() {
        // Whoever may not draw from it cannot leave the column out. An identity draws for everybody.
        all if !is_identity && all.iter().any(|sequence| !sequence.may_draw) => Drawing::Refused,
        _ if !yes(row, "insert") => Drawing::Unknown,
        [only] if is_identity => {
            only.next(before, row).map_or(Drawing::Unknown, |next| Drawing::Predicted(Fragment::trusted(&next)))
        }
        all => predicted(expression, all, before, row)
            .filter(|predicted| is_harmless(&predicted.code))
            .map_or(Drawing::Unknown, |predicted| Drawing::Predicted(Fragment::trusted(&predicted.sql))),
    };
    Some(DrawnColumn { drawing, ..column })
}

/// A default with predictions in the place of what it would draw, and the same without them, to be looked over.
struct Predicted {
    sql: String,
    code: String,
}

fn predicted(expression: &str, sequences: &[Sequence], before: &[DrawnColumn], row: &Value) -> Option<Predicted> {
    let mut predicted = Predicted { sql: expression.to_owned(), code: expression.to_owned() };
    for sequence in sequences {
        let call = format!("nextval('{}'::regclass)", sequence.text.replace('\'', "''"));
        // Which of several comes first is not known.
        if expression.matches(&call).count() != 1 {
            return None;
        }
        predicted.sql = predicted.sql.replace(&call, &sequence.next(before, row)?);
        predicted.code = predicted.code.replace(&call, "0");
    }
    Some(predicted)
}

/// A sequence that a default draws from.
struct Sequence {
    id: i64,
    /// What PostgreSQL calls it in expressions.
    text: String,
    quoted: String,
    increment: i64,
    may_select: bool,
    may_draw: bool,
}

impl Sequence {
    fn of(row: &Value) -> Self {
        let quoted = |name: &str| format!("\"{}\"", text(row, name).replace('"', "\"\""));
        Self {
            id: number(row, "id"),
            text: text(row, "text").to_owned(),
            quoted: format!("{}.{}", quoted("schema"), quoted("name")),
            increment: number(row, "increment"),
            may_select: yes(row, "select"),
            may_draw: yes(row, "usage"),
        }
    }

    /// The value it would give next, as an expression that does not draw it.
    fn next(&self, before: &[DrawnColumn], row: &Value) -> Option<String> {
        let drawn = before.iter().flat_map(|column| &column.draws_from).filter(|id| **id == self.id).count();
        let first = self.increment.checked_mul(i64::try_from(drawn).ok()?)?;
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
        // An identity's own sequence is nobody's to read; what it gave is in the column.
        let column = Name::reflected(text(row, "name"));
        let table = Name::qualified(text(row, "schema"), text(row, "table"));
        let mut statement = Statement::new(Dialect::Postgres);
        statement.push("(SELECT coalesce(max(m.").name(&column).push("), 0) + ").count(1);
        statement.push(" FROM ").name(&table).push(" AS m)");
        yes(row, "select").then(|| statement.text().to_owned())
    }
}
