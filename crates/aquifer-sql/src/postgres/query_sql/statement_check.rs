//! Checks that a statement calls only functions that compute, and does not refer to the catalog.

use aquifer_protocol::error::Failure;

use super::super::catalog::contains_word;
use super::functions::{BEFORE_PARENTHESIS, FUNCTIONS};
use super::readable::Readable;
use crate::query_sql::{Lexeme, SqlText, Token, refused};

/// Words that reveal the current user or connection.
const IDENTITY: &str = "\
    current_catalog current_role current_schema current_user session_user system_user user";

/// Types whose values refer to the catalog.
const CATALOG_TYPES: &str = "\
    regclass regcollation regconfig regdictionary regnamespace regoper regoperator regproc regprocedure regrole regtype";

/// Checks a statement.
pub(super) fn check(sql: &SqlText, readable: &Readable) -> Result<(), Failure> {
    let lexemes = sql.lexemes();
    for (index, lexeme) in lexemes.iter().enumerate() {
        let (name, is_word) = match &lexeme.token {
            Token::Word(name) => (name.as_str(), true),
            Token::Quoted(name) => (name.as_str(), false),
            _ => continue,
        };
        let fail = |reason: String| Err(refused(reason).detail("position", sql.position_of(lexeme.start)));
        let token = |at: Option<usize>| at.and_then(|at| lexemes.get(at)).map(|lexeme| &lexeme.token);
        let (before, after) = (token(index.checked_sub(1)), token(Some(index + 1)));
        if name.starts_with("pg_") || name == "information_schema" {
            return fail("the catalog and the functions of PostgreSQL itself cannot be used".to_owned());
        }
        if contains_word(CATALOG_TYPES, name) {
            return fail(format!("the type '{name}' looks names up in the catalog"));
        }
        if is_word && contains_word(IDENTITY, name) {
            return fail(format!("'{name}' says how this source is connected. As the name of a column, quote it"));
        }
        if readable.sequences.contains(name) {
            return fail(format!("'{name}' is a sequence, and only tables can be read"));
        }
        // `row.name` calls a function of the row.
        if before.is_some_and(|before| before.is_mark('.')) && readable.functions.contains(name) {
            return fail(format!("'{name}' is a function of this database. Only built-in ones can be called"));
        }
        let is_call = after.is_some_and(|after| after.is_mark('(')) && !is_alias(lexemes, index);
        if !is_call || is_word && contains_word(BEFORE_PARENTHESIS, name) {
            continue;
        }
        if readable.functions.contains(name) {
            return fail(format!("'{name}' is a function of this database. Only built-in ones can be called"));
        }
        if !contains_word(FUNCTIONS, name) && !readable.known_functions.contains(name) {
            return fail(format!(
                "the function '{name}' cannot be called here: only functions without side effects can"
            ));
        }
    }
    Ok(())
}

/// Whether a name before a parenthesis is a common table expression or an alias with column names.
fn is_alias(lexemes: &[Lexeme], index: usize) -> bool {
    let token = |at: usize| lexemes.get(at).map(|lexeme| &lexeme.token);
    match index.checked_sub(1).and_then(token) {
        Some(Token::Word(word)) if ["with", "recursive", "as"].contains(&word.as_str()) => true,
        Some(Token::Mark(')')) => true,
        // Another expression of a WITH: `, name (columns) AS (SELECT`. A function has definitions of columns there.
        Some(Token::Mark(',')) => {
            let Some(mut at) = closing(lexemes, index + 1).map(|end| end + 1) else { return false };
            if !token(at).is_some_and(|token| token.is_word("as")) {
                return false;
            }
            at += 1;
            while token(at).is_some_and(|token| token.is_word("not") || token.is_word("materialized")) {
                at += 1;
            }
            let is_query = |token: &Token| token.is_word("select") || token.is_word("with");
            token(at).is_some_and(|token| token.is_mark('(')) && token(at + 1).is_some_and(is_query)
        }
        _ => false,
    }
}

/// The parenthesis that closes this one.
fn closing(lexemes: &[Lexeme], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, lexeme) in lexemes.iter().enumerate().skip(open) {
        match lexeme.token {
            Token::Mark('(') => depth += 1,
            Token::Mark(')') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}
