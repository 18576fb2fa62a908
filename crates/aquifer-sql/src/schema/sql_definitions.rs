//! Parses SQL that the database stores as text: checks such as `CHECK (status IN ('open', 'closed'))`, definitions of
//! columns and virtual tables, functions. The text is only split into tokens.

use super::sql_tokens::{Token, tokens, tokens_at};
use crate::statement::Dialect;

/// A check in a table's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckDefinition {
    /// The name of the check, or its expression if it has none.
    pub(crate) text: String,
    pub(crate) expression: String,
    /// The column, if the check is about only one.
    pub(crate) column: Option<String>,
    /// Every name in it, including columns.
    pub(crate) names: Vec<String>,
    /// The allowed words, if the check only lists words.
    pub(crate) words: Vec<String>,
}

/// Every `CHECK` of a `CREATE TABLE`.
pub(crate) fn parse_checks(sql: &str) -> Vec<CheckDefinition> {
    let tokens = tokens_at(sql, Dialect::Sqlite);
    let mut checks = Vec::new();
    for (index, (token, _)) in tokens.iter().enumerate() {
        let is_check = token.is_word("check");
        let Some((Token::Mark('('), start)) = tokens.get(index + 1).filter(|_| is_check) else { continue };
        let mut depth = 0;
        for (end, (token, position)) in tokens.iter().enumerate().skip(index + 1) {
            match token {
                Token::Mark('(') => depth += 1,
                Token::Mark(')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inner: Vec<&Token> =
                    tokens.get(index + 2..end).unwrap_or_default().iter().map(|(token, _)| token).collect();
                let expression = sql.get(start + 1..*position).unwrap_or_default().trim().to_owned();
                // `CONSTRAINT name CHECK (…)`
                let before =
                    |back: usize| index.checked_sub(back).and_then(|at| tokens.get(at)).map(|(token, _)| token);
                let text = match (before(2), before(1)) {
                    (Some(word), Some(name)) if word.is_word("constraint") => {
                        name.name().map_or_else(|| expression.clone(), str::to_owned)
                    }
                    _ => expression.clone(),
                };
                let (column, words) = allowed_words(&inner);
                let names = inner.into_iter().filter_map(Token::name).map(str::to_owned).collect();
                checks.push(CheckDefinition { text, expression, column, names, words });
                break;
            }
        }
    }
    checks
}

/// `column IN ('a', 'b')` and nothing else.
fn allowed_words(tokens: &[&Token]) -> (Option<String>, Vec<String>) {
    let first = || tokens.iter().find_map(|token| token.name()).map(str::to_owned);
    let [column, operator, Token::Mark('('), list @ .., Token::Mark(')')] = tokens else {
        return (first(), Vec::new());
    };
    let (Some(column), true) = (column.name(), operator.name().is_some()) else { return (first(), Vec::new()) };
    let column = column.to_owned();
    let mut words = Vec::new();
    for token in list {
        match token {
            Token::Text(text) => words.push(text.clone()),
            Token::Mark(',') => {}
            _ => return (Some(column), Vec::new()),
        }
    }
    if operator.is_word("in") { (Some(column), words) } else { (Some(column), Vec::new()) }
}

/// Every quoted text in a PostgreSQL rule of the form `column = ANY (ARRAY['a'::text, 'b'::text])`.
pub(crate) fn quoted_texts(rule: &str) -> Vec<String> {
    let only_any =
        rule.contains("= ANY") && rule.contains("ARRAY[") && !rule.contains(" OR ") && !rule.contains(" AND ");
    if !only_any {
        return Vec::new();
    }
    let list = rule.split_once("ARRAY[").map(|(_, list)| list).unwrap_or_default();
    tokens(list)
        .into_iter()
        .take_while(|token| *token != Token::Mark(']'))
        .filter_map(|token| match token {
            Token::Text(text) => Some(text),
            _ => None,
        })
        .collect()
}

/// Every name in a list or expression, quoted or not.
pub(crate) fn parse_names(list: &str) -> Vec<String> {
    tokens_at(list, Dialect::Sqlite).iter().filter_map(|(token, _)| token.name()).map(str::to_owned).collect()
}

/// The words after a column's name in `CREATE TABLE`; `None` if the column is not found.
pub(crate) fn column_definition(column: &str, sql: &str) -> Option<Vec<String>> {
    let tokens = tokens_at(sql, Dialect::Sqlite);
    let (mut depth, mut begins, mut inside) = (0, false, None::<Vec<String>>);
    for (token, _) in tokens {
        match &token {
            Token::Mark('(') => depth += 1,
            Token::Mark(')') => depth -= 1,
            _ => {}
        }
        match &mut inside {
            Some(found) if depth == 0 || (depth == 1 && token == Token::Mark(',')) => {
                return Some(std::mem::take(found));
            }
            Some(found) => found.extend(token.possible_name().map(str::to_owned)),
            None if begins
                && depth == 1
                && token.possible_name().is_some_and(|name| name.eq_ignore_ascii_case(column)) =>
            {
                inside = Some(Vec::new());
            }
            None => {}
        }
        begins = depth == 1 && matches!(token, Token::Mark('(' | ','));
    }
    inside
}

/// An argument of a virtual table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Argument {
    /// `option = value`, with the option in lower case.
    Option(String, String),
    /// A column, and the words after its name.
    Column(String, Vec<String>),
}

/// The module of a `CREATE VIRTUAL TABLE` in lower case, and its arguments.
pub(crate) fn parse_virtual_table(sql: &str) -> Option<(String, Vec<Argument>)> {
    let tokens = tokens_at(sql, Dialect::Sqlite);
    let using = tokens.iter().position(|(token, _)| token.is_word("using"))?;
    let (module, _) = tokens.get(using + 1)?;
    let mut arguments = Vec::new();
    let (mut depth, mut current): (i32, Vec<&(Token, usize)>) = (0, Vec::new());
    for token in tokens.get(using + 2..).unwrap_or_default() {
        match (&token.0, depth) {
            (Token::Mark('('), 0) => depth = 1,
            (Token::Mark(')'), 1) | (Token::Mark(','), 1) => {
                arguments.extend(parse_argument(sql, &std::mem::take(&mut current), token.1));
                depth -= i32::from(token.0 == Token::Mark(')'));
            }
            (Token::Mark('('), _) => {
                depth += 1;
                current.push(token);
            }
            (Token::Mark(')'), _) => {
                depth -= 1;
                current.push(token);
            }
            (_, 0) => {}
            _ => current.push(token),
        }
    }
    Some((module.possible_name()?.to_ascii_lowercase(), arguments))
}

/// Parses an argument of a virtual table that ends at `end`.
fn parse_argument(sql: &str, tokens: &[&(Token, usize)], end: usize) -> Option<Argument> {
    match tokens {
        [(option, _), (equals, _), value @ ..] if equals.is_operator("=") && option.possible_name().is_some() => {
            let value = match value {
                [(only, _)] => only.possible_name().map(str::to_owned),
                // An unquoted value is taken as it is.
                [(_, start), ..] => sql.get(*start..end).map(|text| text.trim().to_owned()),
                [] => None,
            };
            Some(Argument::Option(option.possible_name()?.to_ascii_lowercase(), value.unwrap_or_default()))
        }
        [(column, _), rest @ ..] => {
            let words = rest.iter().filter_map(|(token, _)| token.name()).map(str::to_owned);
            Some(Argument::Column(column.possible_name()?.to_owned(), words.collect()))
        }
        [] => None,
    }
}

/// The names that a trigger or view mentions.
pub(crate) struct Mentions {
    names: Vec<String>,
    /// Whether it may refer to columns without naming them.
    pub(crate) has_star: bool,
}

impl Mentions {
    pub(crate) fn parse(sql: &str) -> Self {
        let tokens = tokens_at(sql, Dialect::Sqlite);
        let has_star = tokens.iter().any(|(token, _)| token.is_operator("*"));
        Self {
            names: tokens.iter().filter_map(|(token, _)| token.possible_name()).map(str::to_owned).collect(),
            has_star,
        }
    }

    /// Whether it contains this name or word.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn words_of_rules() {
        let sql = "CREATE TABLE x (\n  -- CHECK (no)\n  \"st at\" TEXT CHECK (\"st at\" IN ('it''s', 'b')), n INT CHECK(n > 0), \
                   CONSTRAINT z CHECK (y in('q')))";
        let found = parse_checks(sql);
        assert_eq!(found.len(), 3);
        assert_eq!(
            (found[0].column.as_deref(), found[0].words.clone()),
            (Some("st at"), vec!["it's".to_owned(), "b".to_owned()])
        );
        assert_eq!((found[1].text.as_str(), found[1].words.len()), ("n > 0", 0));
        assert_eq!(found[2].words, ["q"]);
        assert_eq!(
            quoted_texts(
                "CHECK (((status)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[])))"
            ),
            ["a", "b"]
        );
        assert_eq!(quoted_texts("CHECK ((s = ANY (ARRAY['it''s'::text, '[b]'::text])))"), ["it's", "[b]"]);
        assert!(quoted_texts("CHECK ((a > 0))").is_empty());
        assert_eq!(found[0].names, ["st at", "IN"]);
    }
    #[test]
    fn column_definitions_are_found_anywhere() {
        let sql = "CREATE TABLE \"a (b\" (id INTEGER, -- c, d\n [the sum] INT AS (x + \"y z\") STORED, 'odd' TEXT, last, CHECK (id > 0))";
        for (column, expected) in [
            ("id", Some(vec!["INTEGER"])),
            ("THE SUM", Some(vec!["INT", "AS", "x", "y z", "STORED"])),
            ("odd", Some(vec!["TEXT"])),
            ("last", Some(vec![])),
            ("x", None),
            ("c", None),
            ("b", None),
        ] {
            let found = column_definition(column, sql);
            assert_eq!(found, expected.map(|words| words.into_iter().map(str::to_owned).collect()), "{column}");
        }
    }

    #[test]
    fn r_saf_5_names_are_not_split() {
        for name in ["my$n", "a$", "né😀", "😀", "a\u{a0}b", "\u{3000}", "_1", "x\u{301}"] {
            let sql = format!("new.{name}||'x'");
            assert!(Mentions::parse(&sql).contains(name), "{name:?}");
            assert_eq!(parse_names(&format!("({name}+1)")), [name, "1"], "{name:?}");
        }
    }

    /// What SQLite treats as a comment or blank is not part of the names around it.
    #[test]
    fn r_saf_5_comments_end_where_sqlite_ends_them() {
        for sql in [
            "/*/ ' */ notes /*/ ' */",
            "\u{feff}notes",
            "a\n\u{feff}\u{feff} notes",
            "/**/notes/**/",
            "-- '\nnotes",
            "/***/notes",
        ] {
            assert!(Mentions::parse(sql).contains("notes"), "{sql:?}");
        }
        for sql in ["/* notes */ a", "/*/ notes */ a", "-- notes\n a", "/*/ notes", "/* * / notes */"] {
            assert!(!Mentions::parse(sql).contains("notes"), "{sql:?}");
        }
        assert!(Mentions::parse("a\u{feff}b").contains("a\u{feff}b"));
    }

    #[test]
    fn virtual_tables_name_their_module_and_columns() {
        for (sql, module, expected) in [
            ("CREATE VIRTUAL TABLE \"using x\" USING fts5(a, b)", "fts5", "a; b"),
            ("CREATE VIRTUAL TABLE \"using\" USING fts5(a)", "fts5", "a"),
            ("CREATE VIRTUAL TABLE 'using' USING fts5(a)", "fts5", "a"),
            ("CREATE VIRTUAL TABLE [using] /* using x */ USING fts5(a)", "fts5", "a"),
            ("create virtual table t using\n\"FTS4\" ( content=\"u\" )", "fts4", "content=u"),
            ("CREATE VIRTUAL TABLE t USING fts5vocab", "fts5vocab", ""),
            (
                "CREATE VIRTUAL TABLE t USING fts5(a -- ,'\n, 'b' , /* , */ \"c,d\" unindexed, [e ])",
                "fts5",
                "a; b; c,d unindexed; e ",
            ),
            (
                "CREATE VIRTUAL TABLE t USING fts5(a, content = '', tokenize = 'a, b')",
                "fts5",
                "a; content=; tokenize=a, b",
            ),
            ("CREATE VIRTUAL TABLE t USING fts4(content=my table , a TEXT (1, 2))", "fts4", "content=my table; a TEXT"),
        ] {
            let found = parse_virtual_table(sql).map(|(module, arguments)| {
                let words: Vec<String> = arguments
                    .into_iter()
                    .map(|argument| match argument {
                        Argument::Option(name, value) => format!("{name}={value}"),
                        Argument::Column(name, words) => std::iter::once(name)
                            .chain(words.into_iter().filter(|word| word.parse::<i64>().is_err()))
                            .collect::<Vec<_>>()
                            .join(" "),
                    })
                    .collect();
                (module, words.join("; "))
            });
            assert_eq!(found, Some((module.to_owned(), expected.to_owned())), "{sql}");
        }
        assert_eq!(parse_virtual_table("CREATE TABLE t (a)"), None);
    }
}
