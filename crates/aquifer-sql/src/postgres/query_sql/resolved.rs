//! Judges a statement by the tree that the server made of it.
//!
//! The statement is stored as a temporary view. In its tree, names are resolved to the functions, operators, types and
//! tables that will be used, and executing the view executes this very tree. Everything in it must be known to be
//! harmless, and so must the code behind the tables it reads: views, policies and virtual columns.

use aquifer_protocol::error::Failure;
use serde_json::Value;

use super::super::catalog::{contains_word, flag, number, query_catalog, text, texts};
use super::super::expression::Expression;
use super::super::safe_code::{self, FIRST_OWN_ID, Function, SafeCode};
use super::super::session::PostgresSession;
use super::functions::{CATALOG_TYPES, FUNCTIONS, GRAMMAR_FUNCTIONS};
use crate::query_sql::refused;
use crate::work::session::WorkError;

/// Relations that the view reads, with the trees of the code that runs when they are read, and the user-defined functions
/// and operators in these trees by the server's own account. Relations of PostgreSQL itself are not among them.
const REACHED: &str = include_str!("../catalog/reached_relations.sql");

/// Types whose values are looked up in the catalog, with their arrays.
const LOOKUPS: &str = include_str!("../catalog/lookups.sql");

/// A relation that is read.
struct Reached {
    id: i64,
    kind: String,
    name: String,
    is_statement: bool,
    /// `None` if a tree is not understood.
    trees: Vec<Option<Expression>>,
}

impl Reached {
    fn from_row(row: &Value) -> Self {
        let numbers = |name: &str| texts(&row[name]).iter().filter_map(|id| id.parse().ok()).collect();
        let mut trees: Vec<Option<Expression>> =
            texts(&row["trees"]).iter().map(|tree| Expression::parse_query(tree)).collect();
        // What the server has recorded is contained in the trees, too.
        trees.push(Some(Expression {
            functions: numbers("functions"),
            operators: numbers("operators"),
            ..Expression::default()
        }));
        Self {
            id: number(row, "id"),
            kind: text(row, "kind").to_owned(),
            name: text(row, "name").to_owned(),
            is_statement: flag(row, "is_statement"),
            trees,
        }
    }
}

/// Checks the view with this name. Nothing may be planned before that, because planning calls functions.
pub(super) async fn check(
    session: &mut PostgresSession<'_>,
    safe_code: &mut SafeCode,
    view: &str,
) -> Result<(), WorkError> {
    let rows = query_catalog(session, REACHED, &[view.to_owned()]).await?;
    let reached: Vec<Reached> = rows.iter().map(Reached::from_row).collect();
    let types: Vec<String> = CATALOG_TYPES.split(' ').map(str::to_owned).collect();
    let lookups = query_catalog(session, LOOKUPS, &types).await?;
    let lookups: Vec<i64> = lookups.iter().map(|row| number(row, "id")).collect();
    let trees = reached.iter().flat_map(|relation| relation.trees.iter().flatten());
    let functions: Vec<i64> = trees.flat_map(|tree| tree.functions.iter().copied()).collect();
    safe_code.add_functions(session, functions).await?;
    if !reached.iter().any(|relation| relation.is_statement) {
        return Err(not_understood("the view of the statement is missing").into());
    }
    for relation in &reached {
        let judge = Judge { safe_code, reached: &reached, lookups: &lookups };
        if relation.is_statement { judge.check_statement(relation) } else { judge.check_relation(relation) }?;
    }
    Ok(())
}

fn not_understood(cause: &str) -> Failure {
    refused("its grammar is not known to be harmless").because(cause)
}

struct Judge<'j> {
    safe_code: &'j SafeCode,
    reached: &'j [Reached],
    lookups: &'j [i64],
}

impl Judge<'_> {
    /// Checks what a caller wrote.
    fn check_statement(&self, statement: &Reached) -> Result<(), Failure> {
        for tree in &statement.trees {
            let Some(tree) = tree else { return Err(not_understood("an unknown node in the tree")) };
            for relation in tree.relations.iter().filter(|id| **id != statement.id) {
                self.check_named_relation(*relation)?;
            }
            for id in &tree.functions {
                self.check_named_function(*id)?;
            }
            if !tree.operators.iter().all(|id| self.safe_code.is_known_operator(*id)) {
                return Err(refused("an operator in it is one of this database. Only built-in ones can be used"));
            }
            if tree.types.iter().chain(&tree.mentioned_types).any(|id| self.lookups.contains(id)) {
                return Err(refused("a type in it looks names up in the catalog"));
            }
            if tree.reads_identity {
                return Err(refused(
                    "it asks how this source is connected ('current_user' and the like). As the name of a column, quote it",
                ));
            }
        }
        Ok(())
    }

    fn check_named_relation(&self, id: i64) -> Result<(), Failure> {
        let relation = self.reached.iter().find(|relation| relation.id == id && id >= FIRST_OWN_ID);
        match relation.map(|relation| &*relation.kind) {
            Some("r" | "p" | "v" | "m" | "f") => Ok(()),
            Some(_) => Err(refused("only tables and views can be read")),
            None => Err(refused("the catalog of PostgreSQL cannot be read")),
        }
    }

    fn check_named_function(&self, id: i64) -> Result<(), Failure> {
        let Some(function) = self.safe_code.function(id) else { return Err(not_understood("an unknown function")) };
        let name = &function.name;
        if is_allowed(function) {
            Ok(())
        } else if id >= FIRST_OWN_ID {
            Err(refused(format_args!("'{name}' is a function of this database. Only built-in ones can be called")))
        } else {
            let which = match name.starts_with("pg_") {
                true => "a function of the server itself".to_owned(),
                false => format!("the function '{name}'"),
            };
            let reason = format_args!("{which} cannot be called here: only functions without side effects can");
            Err(refused(reason).because(format!("a call of '{name}'")))
        }
    }

    /// Checks the code behind a table or view, which the owner of the database wrote.
    fn check_relation(&self, relation: &Reached) -> Result<(), Failure> {
        let is_harmless = |tree: &Option<Expression>| {
            tree.as_ref().is_some_and(|tree| {
                tree.functions.iter().all(|id| self.is_harmless_behind_table(*id))
                    && tree.operators.iter().all(|id| self.safe_code.is_safe_operator(*id))
                    && tree
                        .relations
                        .iter()
                        .all(|id| *id < FIRST_OWN_ID || self.reached.iter().any(|own| own.id == *id))
            })
        };
        if relation.trees.iter().all(is_harmless) {
            return Ok(());
        }
        let reason = "a view or a policy behind it runs code not known to be harmless. Use the list operations";
        Err(refused(reason).because(format!("code of '{}' is not known to be harmless", relation.name)))
    }

    /// Built-in functions that are not volatile only read; callers do not choose their arguments.
    fn is_harmless_behind_table(&self, id: i64) -> bool {
        match self.safe_code.function(id) {
            Some(function) if function.is_built_in => {
                !function.is_volatile || is_allowed(function) || contains_word(safe_code::FUNCTIONS, &function.name)
            }
            // Those of `information_schema` only read.
            Some(function) => id < FIRST_OWN_ID && !function.is_volatile || self.safe_code.is_safe_function(id),
            None => false,
        }
    }
}

/// Whether a caller's statement may call a function.
fn is_allowed(function: &Function) -> bool {
    if !function.is_built_in {
        return function.is_of_known_extension();
    }
    contains_word(FUNCTIONS, &function.name)
        || contains_word(GRAMMAR_FUNCTIONS, &function.name)
        || function.is_cast && function.is_immutable
}
