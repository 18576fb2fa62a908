//! What is known of the code of a PostgreSQL database: which functions, expressions and types leave no trace once the
//! transaction is rolled back.
//!
//! Sequences are not rolled back, nor is whatever leaves the transaction: other servers, files, locks that outlast it.
//! Code counts as harmless only if all of it is recognized. Anything else costs a confirmation.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::code::{self, Names};
use super::expression::Expression;
use super::reflect::{flag, text};

/// Functions of PostgreSQL itself that leave no trace. Expressions may also call any of its immutable ones.
pub(super) const FUNCTIONS: &str = "\
    abs age array_agg array_append array_cat array_length array_position array_prepend array_remove \
    array_to_json array_to_string avg bit_length bool_and bool_or btrim cardinality ceil ceiling char_length \
    character_length chr clock_timestamp coalesce concat concat_ws convert_from convert_to count \
    current_database current_date current_schema current_setting current_time current_timestamp current_user \
    date date_part date_trunc decode encode exp extract float8 floor format gen_random_uuid greatest host \
    initcap int4 int8 isfinite json_agg json_build_array json_build_object json_object_agg jsonb_agg \
    jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object \
    jsonb_each jsonb_each_text jsonb_object_agg jsonb_object_keys jsonb_set jsonb_strip_nulls jsonb_typeof \
    justify_interval least left length ln localtime localtimestamp log lower lpad ltrim make_date make_interval \
    make_timestamp make_timestamptz max md5 min mod now nullif numeric octet_length overlay pg_notify \
    phraseto_tsquery plainto_tsquery position power quote_ident quote_literal quote_nullable random \
    regexp_match regexp_matches regexp_replace regexp_split_to_array repeat replace reverse right round \
    row_to_json rpad rtrim session_user setweight sha224 sha256 sha384 sha512 sign split_part sqrt \
    statement_timestamp string_agg string_to_array strip strpos substr substring sum text time timeofday \
    timestamp timestamptz timezone to_char to_date to_hex to_json to_jsonb to_number to_timestamp to_tsquery \
    to_tsvector transaction_timestamp translate trim trunc ts_rank tsvector_concat unnest upper uuidv4 uuidv7 \
    websearch_to_tsquery";

/// Triggers of PostgreSQL itself that only change the row.
const TRIGGERS: &str = "\
    tsvector_update_trigger tsvector_update_trigger_column suppress_redundant_updates_trigger";

/// Extensions whose functions compute and nothing else.
const EXTENSIONS: &str = "\
    btree_gin btree_gist citext cube fuzzystrmatch hstore intarray isn ltree moddatetime pg_trgm pgcrypto seg \
    unaccent uuid-ossp";

/// Extensions of which at least operators, casts and types do.
const TYPE_EXTENSIONS: &str = "earthdistance postgis postgis_raster prefix semver vector";

/// Objects with lower numbers were made with the database: they are PostgreSQL's own.
const FIRST_OWN_ID: i64 = 16384;

/// The number of `nextval(regclass)`, the same in every version.
const NEXTVAL: i64 = 1574;

/// A function as the catalog has it.
struct Function {
    name: String,
    language: String,
    body: String,
    extension: Option<String>,
    is_immutable: bool,
    /// Whether it takes values of any type, and may look up casts and operators of that.
    is_polymorphic: bool,
    /// Whether it has a body as text, no defaults of parameters, and only types of PostgreSQL itself.
    is_plain: bool,
    parameters: Vec<String>,
}

/// A type of the database's own.
struct Type {
    kind: String,
    is_array: bool,
    /// What it is made of.
    parts: Vec<i64>,
    /// What values are checked with.
    checks: Vec<String>,
    extension: Option<String>,
}

/// An operator of the database's own.
struct Operator {
    function: i64,
    /// Whether it is of an extension that is known.
    is_known: bool,
}

/// What is known of the code of a database.
#[derive(Default)]
pub(super) struct SafeCode {
    functions: HashMap<i64, Function>,
    /// Operators of the database's own.
    operators: HashMap<i64, Operator>,
    types: HashMap<i64, Type>,
    /// Types with casts or operators of the database's own, which run wherever values are read or compared.
    touched: HashSet<i64>,
    shadowed: HashSet<String>,
    of_rows: HashSet<String>,
    /// Whether bodies of functions may call unknown functions without naming them, by operators or casts.
    has_unnamed_calls: bool,
}

impl SafeCode {
    /// Learns of one row of the catalog.
    pub(super) fn add(&mut self, row: &Value) {
        let id = number(row, "id");
        let extension = || row["extension"].as_str().map(str::to_owned);
        match text(row, "part") {
            "function" => {
                let function = Function {
                    name: text(row, "name").to_owned(),
                    language: text(row, "language").to_owned(),
                    body: text(row, "body").to_owned(),
                    extension: extension(),
                    is_immutable: flag(row, "immutable"),
                    is_polymorphic: flag(row, "polymorphic"),
                    is_plain: flag(row, "plain"),
                    parameters: texts(&row["parameters"]),
                };
                self.functions.insert(id, function);
            }
            "type" => {
                let parts = row["parts"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
                let (kind, checks) = (text(row, "kind").to_owned(), texts(&row["checks"]));
                let found = Type { kind, is_array: flag(row, "array"), parts, checks, extension: extension() };
                self.types.insert(id, found);
            }
            "operator" => {
                let is_known = is_known_extension(row["extension"].as_str());
                self.operators.insert(id, Operator { function: number(row, "function"), is_known });
                self.add_unnamed(row, is_known);
            }
            "cast" => self.add_unnamed(row, is_known_extension(row["extension"].as_str())),
            "shadow" if !row["extension"].as_str().is_some_and(|name| has(EXTENSIONS, name)) => {
                self.shadowed.insert(text(row, "name").to_owned());
            }
            "of_row" if !row["extension"].as_str().is_some_and(|name| has(EXTENSIONS, name)) => {
                self.of_rows.insert(text(row, "name").to_owned());
            }
            _ => {}
        }
    }

    /// Learns of an operator or a cast, which run without being named.
    fn add_unnamed(&mut self, row: &Value, is_known: bool) {
        if !is_known {
            self.has_unnamed_calls = true;
            self.touched.extend(row["types"].as_array().into_iter().flatten().filter_map(Value::as_i64));
        }
    }

    /// Every function that expressions use: which have to be known to judge them.
    pub(super) fn functions_of(&self, trees: &[&str]) -> HashSet<i64> {
        let of_types = self.types.values().flat_map(|of| of.checks.iter().map(String::as_str));
        let mut used: HashSet<i64> = self.operators.values().map(|operator| operator.function).collect();
        for expression in trees.iter().copied().chain(of_types).filter_map(Expression::parse) {
            used.extend(expression.functions);
        }
        used
    }

    /// Whether a function leaves no trace.
    pub(super) fn is_safe_function(&self, id: i64) -> bool {
        let Some(function) = self.functions.get(&id) else { return false };
        if id < FIRST_OWN_ID {
            // `to_jsonb` calls a type's own cast to JSON.
            let calls_others = function.is_polymorphic && self.has_unnamed_calls;
            return !calls_others
                && (function.is_immutable || has(FUNCTIONS, &function.name) || has(TRIGGERS, &function.name));
        }
        if let Some(extension) = &function.extension {
            return has(EXTENSIONS, extension);
        }
        let names = Names { shadowed: &self.shadowed, of_rows: &self.of_rows, parameters: &function.parameters };
        matches!(&*function.language, "sql" | "plpgsql")
            && function.is_plain
            && !self.has_unnamed_calls
            && code::is_pure(&function.body, &names)
    }

    /// Whether an expression leaves no trace.
    pub(super) fn is_safe_expression(&self, tree: &str) -> bool {
        self.count_draws(tree) == Some(0)
    }

    /// How often an expression draws from a sequence; nothing if it may do anything else that leaves a trace.
    pub(super) fn count_draws(&self, tree: &str) -> Option<usize> {
        self.count_draws_except(tree, &mut HashSet::new())
    }

    fn count_draws_except(&self, tree: &str, seen: &mut HashSet<i64>) -> Option<usize> {
        let Expression { functions, operators, types } = Expression::parse(tree)?;
        let draws = functions.iter().filter(|id| **id == NEXTVAL).count();
        let is_harmless = functions.iter().all(|id| *id == NEXTVAL || self.is_safe_function(*id))
            && operators.iter().all(|id| self.is_safe_operator(*id))
            && types.iter().all(|id| self.is_safe_type_except(*id, seen));
        is_harmless.then_some(draws)
    }

    /// Whether an operator leaves no trace: none of PostgreSQL itself does.
    fn is_safe_operator(&self, id: i64) -> bool {
        let known = || self.operators.get(&id);
        id < FIRST_OWN_ID
            || known().is_some_and(|operator| operator.is_known || self.is_safe_function(operator.function))
    }

    /// Whether values of a type can be read, checked and written without a trace.
    pub(super) fn is_safe_type(&self, id: i64) -> bool {
        self.is_safe_type_except(id, &mut HashSet::new())
    }

    fn is_safe_type_except(&self, id: i64, seen: &mut HashSet<i64>) -> bool {
        if id < FIRST_OWN_ID || !seen.insert(id) {
            return true;
        }
        if self.touched.contains(&id) {
            return false;
        }
        let Some(found) = self.types.get(&id) else { return false };
        let all_parts = |seen: &mut HashSet<i64>| found.parts.iter().all(|part| self.is_safe_type_except(*part, seen));
        match &*found.kind {
            "e" => true,
            "d" => all_parts(seen) && found.checks.iter().all(|check| self.count_draws_except(check, seen) == Some(0)),
            "c" => all_parts(seen),
            "b" if found.is_array => all_parts(seen),
            "b" | "r" | "m" => is_known_extension(found.extension.as_deref()),
            _ => false,
        }
    }
}

/// Whether operators, casts and types of the extension compute and nothing else. Without one they are the database's own.
pub(super) fn is_known_extension(extension: Option<&str>) -> bool {
    extension.is_some_and(|name| has(EXTENSIONS, name) || has(TYPE_EXTENSIONS, name))
}

pub(super) fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

pub(super) fn number(row: &Value, name: &str) -> i64 {
    row[name].as_i64().unwrap_or(0)
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
