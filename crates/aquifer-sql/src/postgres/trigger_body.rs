//! Recognizes bodies of PL/pgSQL trigger functions that only set columns of the new row to the current time, such as
//! `BEGIN NEW.updated_at = now(); RETURN NEW; END`.
//!
//! This is the only user-defined code that is recognized. The grammar is an allowlist of whole bodies, so no comment,
//! quote or operator can hide a call. Names are resolved when the trigger runs, with a search path that is not known
//! here: a function is recognized without its schema only if the database defines no function of that name.

use std::collections::HashSet;

/// Functions without parameters that return the current time.
pub(super) const FUNCTIONS: [&str; 4] = ["now", "clock_timestamp", "statement_timestamp", "transaction_timestamp"];

/// Reserved keywords for the current time. They cannot be redefined.
const KEYWORDS: [&str; 5] = ["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"];

#[derive(Debug, PartialEq, Eq)]
enum Token<'b> {
    /// An unquoted name or keyword.
    Word(&'b str),
    /// A quoted name.
    Quoted,
    /// A string that could be the name of a time zone.
    Text,
    /// `=` or `:=`.
    Assign,
    Mark(char),
}

/// Whether a body only sets times. `redefined` are the names of [`FUNCTIONS`] that the database also defines.
pub(super) fn only_sets_times(body: &str, redefined: &HashSet<String>) -> bool {
    use Token::{Mark, Word};

    let body = body.to_ascii_lowercase();
    let Some(tokens) = tokens(&body) else { return false };
    let block = tokens.strip_suffix(&[Mark(';')]).unwrap_or(&tokens);
    match block {
        [Word("begin"), assignments @ .., Mark(';'), Word("return"), Word("new"), Mark(';'), Word("end")] => {
            assignments.split(|token| *token == Mark(';')).all(|statement| sets_time(statement, redefined))
        }
        _ => false,
    }
}

/// Whether a statement sets a column of the new row to the current time, which may be in parentheses and in a time zone.
fn sets_time(statement: &[Token<'_>], redefined: &HashSet<String>) -> bool {
    use Token::{Assign, Mark, Quoted, Text, Word};

    let [Word("new"), Mark('.'), Word(_) | Quoted, Assign, value @ ..] = statement else { return false };
    let value = match value {
        [Mark('('), inner @ .., Mark(')')] => inner,
        _ => value,
    };
    let time = match value {
        [time @ .., Word("at"), Word("time"), Word("zone"), Text] => time,
        _ => value,
    };
    match time {
        [Word(keyword)] => KEYWORDS.contains(keyword),
        [Word(name), Mark('('), Mark(')')] => FUNCTIONS.contains(name) && !redefined.contains(*name),
        [Word("pg_catalog"), Mark('.'), Word(name), Mark('('), Mark(')')] => FUNCTIONS.contains(name),
        _ => false,
    }
}

/// The tokens of a body in lower case, without `--` comments; `None` if it contains anything else.
fn tokens(body: &str) -> Option<Vec<Token<'_>>> {
    let is_part_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            ' ' | '\t' | '\n' | '\r' => (None, 1),
            '-' if rest.starts_with("--") => (None, rest.find(['\n', '\r']).unwrap_or(rest.len())),
            ':' if rest.starts_with(":=") => (Some(Token::Assign), 2),
            '=' => (Some(Token::Assign), 1),
            '.' | ';' | '(' | ')' => (Some(Token::Mark(first)), 1),
            'a'..='z' | '_' => {
                let end = rest.find(|c| !is_part_of_name(c)).unwrap_or(rest.len());
                (Some(Token::Word(rest.get(..end)?)), end)
            }
            // No quote or backslash, so the string ends at the next quote whatever the settings are.
            '\'' | '"' => {
                let (content, _) = rest.get(1..)?.split_once(first)?;
                let is_plain = |c: char| is_part_of_name(c) || (first == '\'' && "/+-".contains(c));
                let token = if first == '"' { Token::Quoted } else { Token::Text };
                (content.chars().all(is_plain).then_some(Some(token))?, content.len() + 2)
            }
            _ => return None,
        };
        tokens.extend(token);
        rest = rest.get(length..)?;
    }
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_req_9_a_body_that_sets_times_is_recognized() {
        let redefined = HashSet::from(["clock_timestamp".to_owned()]);
        for body in [
            "BEGIN NEW.updated_at = now(); RETURN NEW; END",
            "begin new.updated_at:=NOW ( ) ; return new ; end ;",
            "\r\nBEGIN\r\n  -- don't forget: /* $$ */\r\n  NEW.updated_at := CURRENT_TIMESTAMP;\r\n  RETURN NEW; -- é\r\nEND;\r\n",
            "BEGIN NEW.a = pg_catalog.clock_timestamp(); NEW.b = statement_timestamp(); NEW.c = current_date; RETURN NEW; END",
            "BEGIN NEW.\"updatedAt\" = now() AT TIME ZONE 'utc'; RETURN NEW; END",
            "BEGIN NEW.at = (transaction_timestamp() at time zone 'Etc/GMT+1'); RETURN NEW; END",
            "BEGIN NEW.at = (localtimestamp); RETURN NEW; END -- the end",
        ] {
            assert!(only_sets_times(body, &redefined), "{body}");
        }
    }

    #[test]
    fn r_req_9_any_other_body_is_not_recognized() {
        let redefined = HashSet::from(["clock_timestamp".to_owned()]);
        // What stands for the time.
        for value in [
            "",
            "NULL",
            "'now'",
            "nextval('s')",
            "leak()",
            "now",
            "now(1)",
            "now()()",
            "now() + '1 day'",
            "now() <%> 1",
            "now()::odd",
            "odd 'x'",
            "(SELECT leak())",
            "(SELECT now() FROM rows)",
            "now() FROM rows",
            "((now()))",
            "(now()",
            "now())",
            "(now()).leak",
            "(now()) = (now())",
            "coalesce(NEW.at, now())",
            "public.now()",
            "public.pg_catalog.now()",
            "\"now\"()",
            "\"pg_catalog\".now()",
            "pg_catalog.leak()",
            "pg_catalog.current_timestamp",
            "current_timestamp()",
            // The database defines this one, too.
            "clock_timestamp()",
            "now() AT TIME ZONE leak()",
            "now() AT TIME ZONE NEW.zone",
            "now() AT TIME ZONE 'utc' 'x'",
            "now() AT TIME ZONE 'utc'''",
            "now() AT TIME ZONE E'utc'",
            "now() AT TIME ZONE U&'utc'",
            "now() AT TIME ZONE 'utc\\'",
            "now() AT TIME ZONE $$utc$$",
            "now() AT TIME ZONE 'utc",
            // Letters that look like others, and spaces that PostgreSQL takes for letters.
            "n\u{43e}w()",
            "now\u{200b}()",
            "now\u{a0}()",
            "\u{212a}now()",
            "now$()",
            "now1()",
            "/* now() */ leak()",
            "now(/* ; */)",
            "now(); EXECUTE 'x'",
            "now(); PERFORM leak()",
            "now(); leak()",
            "now();",
            "now(); -- \n PERFORM leak()",
            "now(); -- \r PERFORM leak()",
            "-- now();\n leak()",
        ] {
            let body = format!("BEGIN NEW.at = {value}; RETURN NEW; END");
            assert!(!only_sets_times(&body, &redefined), "{body}");
        }
        for body in [
            "",
            "BEGIN RETURN NEW; END",
            "BEGIN NEW.at = now(); END",
            "BEGIN NEW.at = now(); RETURN OLD; END",
            "BEGIN NEW.at = now(); RETURN leak(); END",
            "BEGIN NEW.at = now(); RETURN NEW; END; SELECT leak();",
            "BEGIN NEW.at = now(); RETURN NEW; EXCEPTION WHEN others THEN PERFORM leak(); END",
            "BEGIN IF leak() THEN NEW.at = now(); END IF; RETURN NEW; END",
            "BEGIN PERFORM leak(); NEW.at = now(); RETURN NEW; END",
            "BEGIN INSERT INTO log VALUES (1); NEW.at = now(); RETURN NEW; END",
            "BEGIN EXECUTE 'x'; NEW.at = now(); RETURN NEW; END",
            "BEGIN BEGIN NEW.at = now(); RETURN NEW; END; END",
            "DECLARE new odd := leak(); BEGIN NEW.at = now(); RETURN NEW; END",
            "<<new>> BEGIN NEW.at = now(); RETURN NEW; END",
            "#variable_conflict use_column BEGIN NEW.at = now(); RETURN NEW; END",
            "BEGIN OLD.at = now(); RETURN NEW; END",
            "BEGIN NEW = now(); RETURN NEW; END",
            "BEGIN NEW.at.leak = now(); RETURN NEW; END",
            "BEGIN NEW.at[leak()] = now(); RETURN NEW; END",
            "BEGIN NEW.U&\"at\" = now(); RETURN NEW; END",
            "BEGIN NEW.\"a\"\"t\" = now(); RETURN NEW; END",
            "BEGIN NEW.\"a\"; PERFORM leak(); -- \" = now(); RETURN NEW; END",
            "BEGIN NEW.at == now(); RETURN NEW; END",
            "BEGIN NEW.at : = now(); RETURN NEW; END",
            "BEGIN NEW.at =- now(); RETURN NEW; END",
            "BEGIN NEW.at = now(); /* /* */ */ RETURN NEW; END",
            "BEGIN NEW.at = now(); RETURN NEW; END $$",
            "SELECT now()",
        ] {
            assert!(!only_sets_times(body, &redefined), "{body}");
        }
    }
}
