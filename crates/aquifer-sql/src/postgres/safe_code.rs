//! Determines which functions, expressions and types of a PostgreSQL database leave no trace after a rollback.
//!
//! Sequences are not rolled back, and neither are effects outside the transaction: other servers, files, locks that
//! outlast it. Code is safe only if all of it is recognized: functions of PostgreSQL and of known extensions, and triggers
//! that set times. Other functions of the database are never safe. What is not safe requires a confirmation.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::catalog::{contains_word, flag, number, text, texts};
use super::expression::Expression;
use super::trigger_body;

/// Functions of PostgreSQL that are not immutable, and only compute. Its immutable functions are always safe.
pub(super) const FUNCTIONS: &str = "\
    age array_to_json array_to_string clock_timestamp concat concat_ws convert_from convert_to current_database \
    current_schema current_setting current_user date date_part date_trunc extract format gen_random_uuid json_agg \
    json_build_array json_build_object json_object_agg jsonb_agg jsonb_build_array jsonb_build_object \
    jsonb_object_agg length make_timestamptz now numeric phraseto_tsquery plainto_tsquery quote_literal \
    quote_nullable random row_to_json session_user statement_timestamp time timeofday timestamp timestamptz timezone \
    to_char to_date to_json to_jsonb to_number to_timestamp to_tsquery to_tsvector transaction_timestamp uuidv4 \
    uuidv7 websearch_to_tsquery";

/// Built-in triggers that only change the row.
const TRIGGERS: &str = "\
    tsvector_update_trigger tsvector_update_trigger_column suppress_redundant_updates_trigger";

/// Extensions whose functions only compute.
const EXTENSIONS: &str = "\
    btree_gin btree_gist citext cube fuzzystrmatch hstore intarray isn ltree moddatetime pg_trgm pgcrypto seg \
    unaccent uuid-ossp";

/// Functions of these extensions that change the session, which a rollback does not undo.
const SESSION_FUNCTIONS: &str = "isn_weak";

/// Extensions of which at least operators, casts, types and immutable functions only compute.
const TYPE_EXTENSIONS: &str = "earthdistance postgis postgis_raster prefix semver vector";

/// The first number of a user-defined object. Lower numbers are built into PostgreSQL.
pub(super) const FIRST_OWN_ID: i64 = 16384;

/// The number of `nextval(regclass)`, the same in every version.
const NEXTVAL: i64 = 1574;

/// A function in the catalog.
pub(super) struct Function {
    pub(super) name: String,
    extension: Option<String>,
    pub(super) is_immutable: bool,
    pub(super) is_volatile: bool,
    /// Whether it belongs to PostgreSQL itself, in `pg_catalog`.
    pub(super) is_built_in: bool,
    /// Whether a cast calls it.
    pub(super) is_cast: bool,
    /// Whether the database user may call it.
    pub(super) is_executable: bool,
    /// Whether it takes values of any type, and may look up the casts and operators of that type.
    is_polymorphic: bool,
    /// The body of a trigger function in PL/pgSQL that changes no settings but the search path.
    trigger_body: Option<String>,
}

impl Function {
    /// Whether it comes with an extension, and only computes.
    pub(super) fn is_of_known_extension(&self) -> bool {
        !contains_word(SESSION_FUNCTIONS, &self.name)
            && self.extension.as_deref().is_some_and(|name| {
                contains_word(EXTENSIONS, name) || contains_word(TYPE_EXTENSIONS, name) && self.is_immutable
            })
    }
}

/// A user-defined type.
struct Type {
    kind: String,
    is_array: bool,
    /// The types it consists of.
    parts: Vec<i64>,
    /// The checks of its values.
    checks: Vec<String>,
    extension: Option<String>,
}

/// A user-defined operator.
struct Operator {
    function: i64,
    /// Whether it belongs to a known extension.
    is_known: bool,
}

/// The recognized code of a database.
#[derive(Default)]
pub(super) struct SafeCode {
    functions: HashMap<i64, Function>,
    /// User-defined operators.
    operators: HashMap<i64, Operator>,
    types: HashMap<i64, Type>,
    /// Types with user-defined casts or operators, which run wherever values are read or compared.
    types_with_own_code: HashSet<i64>,
    /// Functions for the current time that the database also defines.
    redefined: HashSet<String>,
    /// Whether built-in functions and assignments may call unknown functions implicitly, through operators or casts.
    has_implicit_calls: bool,
    /// Whether functions that the database user may not call are safe: the server refuses to call them.
    permissions_count: bool,
}

impl SafeCode {
    /// Code that runs with the permissions of the database user.
    pub(super) fn for_user() -> Self {
        Self { permissions_count: true, ..Self::default() }
    }

    /// Adds a row of the catalog.
    pub(super) fn add(&mut self, row: &Value) {
        let id = number(row, "id");
        let extension = || row["extension"].as_str().map(str::to_owned);
        match text(row, "part") {
            "function" => {
                let function = Function {
                    name: text(row, "name").to_owned(),
                    extension: extension(),
                    is_immutable: flag(row, "immutable"),
                    is_volatile: flag(row, "volatile"),
                    is_built_in: flag(row, "built_in"),
                    is_cast: flag(row, "cast"),
                    is_executable: flag(row, "executable"),
                    is_polymorphic: flag(row, "polymorphic"),
                    trigger_body: row["trigger_body"].as_str().map(str::to_owned),
                };
                self.functions.insert(id, function);
            }
            "type" => {
                let parts = row["parts"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
                let (kind, checks) = (text(row, "kind").to_owned(), texts(&row["checks"]));
                let new_type = Type { kind, is_array: flag(row, "array"), parts, checks, extension: extension() };
                self.types.insert(id, new_type);
            }
            "operator" => {
                let is_known = is_known_extension(row["extension"].as_str());
                self.operators.insert(id, Operator { function: number(row, "function"), is_known });
                self.add_implicit(row, is_known);
            }
            "cast" => self.add_implicit(row, is_known_extension(row["extension"].as_str())),
            "redefined" => {
                self.redefined.insert(text(row, "name").to_owned());
            }
            _ => {}
        }
    }

    /// Adds an operator or cast, which run implicitly.
    fn add_implicit(&mut self, row: &Value, is_known: bool) {
        if !is_known {
            self.has_implicit_calls = true;
            self.types_with_own_code.extend(row["types"].as_array().into_iter().flatten().filter_map(Value::as_i64));
        }
    }

    /// All functions that these expressions use, which have to be loaded before the expressions can be checked.
    pub(super) fn functions_of(&self, trees: &[&str]) -> HashSet<i64> {
        let of_types = self.types.values().flat_map(|checked_type| checked_type.checks.iter().map(String::as_str));
        let mut used: HashSet<i64> = self.operators.values().map(|operator| operator.function).collect();
        for expression in trees.iter().copied().chain(of_types).filter_map(Expression::parse) {
            used.extend(expression.functions);
        }
        used
    }

    pub(super) fn function(&self, id: i64) -> Option<&Function> {
        self.functions.get(&id)
    }

    /// Whether a function leaves no trace.
    pub(super) fn is_safe_function(&self, id: i64) -> bool {
        let Some(function) = self.functions.get(&id) else { return false };
        if self.permissions_count && id >= FIRST_OWN_ID && !function.is_executable {
            return true;
        }
        self.is_pure_function(id)
    }

    /// Whether a function leaves no trace, whoever calls it.
    pub(super) fn is_pure_function(&self, id: i64) -> bool {
        let Some(function) = self.functions.get(&id) else { return false };
        if id < FIRST_OWN_ID {
            // `to_jsonb` calls a type's own cast to JSON.
            let calls_others = function.is_polymorphic && self.has_implicit_calls;
            return !calls_others
                && (function.is_immutable
                    || contains_word(FUNCTIONS, &function.name)
                    || contains_word(TRIGGERS, &function.name));
        }
        function.is_of_known_extension()
    }

    /// Whether a trigger that calls this function leaves no trace.
    pub(super) fn is_safe_trigger(&self, id: i64) -> bool {
        let body = self.functions.get(&id).and_then(|function| function.trigger_body.as_deref());
        let sets_times = |body| !self.has_implicit_calls && trigger_body::only_sets_times(body, &self.redefined);
        self.is_pure_function(id) || body.is_some_and(sets_times)
    }

    /// Whether an expression leaves no trace.
    pub(super) fn is_safe_expression(&self, tree: &str) -> bool {
        self.count_draws(tree) == Some(0)
    }

    /// How often an expression advances a sequence; `None` if it may leave any other trace.
    pub(super) fn count_draws(&self, tree: &str) -> Option<usize> {
        self.count_draws_except(tree, &mut HashSet::new())
    }

    fn count_draws_except(&self, tree: &str, seen: &mut HashSet<i64>) -> Option<usize> {
        let Expression { functions, operators, types, .. } = Expression::parse(tree)?;
        let draws = functions.iter().filter(|id| **id == NEXTVAL).count();
        let is_harmless = functions.iter().all(|id| *id == NEXTVAL || self.is_safe_function(*id))
            && operators.iter().all(|id| self.is_safe_operator(*id))
            && types.iter().all(|id| self.is_safe_type_except(*id, seen));
        is_harmless.then_some(draws)
    }

    /// Whether an operator leaves no trace. Built-in operators never do.
    pub(super) fn is_safe_operator(&self, id: i64) -> bool {
        let operator = || self.operators.get(&id);
        id < FIRST_OWN_ID
            || operator().is_some_and(|operator| operator.is_known || self.is_safe_function(operator.function))
    }

    /// Whether an operator is built in or comes with a known extension.
    pub(super) fn is_known_operator(&self, id: i64) -> bool {
        id < FIRST_OWN_ID || self.operators.get(&id).is_some_and(|operator| operator.is_known)
    }

    /// Whether values of a type can be read, checked and written without a trace.
    pub(super) fn is_safe_type(&self, id: i64) -> bool {
        self.is_safe_type_except(id, &mut HashSet::new())
    }

    fn is_safe_type_except(&self, id: i64, seen: &mut HashSet<i64>) -> bool {
        if id < FIRST_OWN_ID || !seen.insert(id) {
            return true;
        }
        if self.types_with_own_code.contains(&id) {
            return false;
        }
        let Some(checked_type) = self.types.get(&id) else { return false };
        let all_parts =
            |seen: &mut HashSet<i64>| checked_type.parts.iter().all(|part| self.is_safe_type_except(*part, seen));
        match &*checked_type.kind {
            "e" => true,
            "d" => {
                all_parts(seen)
                    && checked_type.checks.iter().all(|check| self.count_draws_except(check, seen) == Some(0))
            }
            "c" => all_parts(seen),
            "b" if checked_type.is_array => all_parts(seen),
            "b" | "r" | "m" => is_known_extension(checked_type.extension.as_deref()),
            _ => false,
        }
    }
}

/// Whether operators, casts and types of the extension only compute. Without an extension they are user-defined.
pub(super) fn is_known_extension(extension: Option<&str>) -> bool {
    extension.is_some_and(|name| contains_word(EXTENSIONS, name) || contains_word(TYPE_EXTENSIONS, name))
}
