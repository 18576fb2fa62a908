//! Parses SQL that the database stores as text: checks such as `CHECK (status IN ('open', 'closed'))`, definitions of
//! columns and virtual tables, functions. The text is only split into pieces: a piece that could be a name counts as
//! one.

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

/// A piece of SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// A name or a keyword.
    Word(String),
    /// A quoted name, which is never a keyword.
    Quoted(String),
    Text(String),
    Mark(char),
}

impl Piece {
    fn word(&self) -> Option<&str> {
        match self {
            Piece::Word(word) | Piece::Quoted(word) => Some(word),
            Piece::Text(_) | Piece::Mark(_) => None,
        }
    }

    /// The text, if it may be a name: SQLite accepts even single quotes for names.
    fn name(&self) -> Option<&str> {
        match self {
            Piece::Word(name) | Piece::Quoted(name) | Piece::Text(name) => Some(name),
            Piece::Mark(_) => None,
        }
    }

    fn is_keyword(&self, word: &str) -> bool {
        matches!(self, Piece::Word(own) if own.eq_ignore_ascii_case(word))
    }
}

/// Every `CHECK` of a `CREATE TABLE`.
pub(crate) fn parse_checks(sql: &str) -> Vec<CheckDefinition> {
    let pieces = pieces(sql);
    let mut checks = Vec::new();
    for (index, (piece, _)) in pieces.iter().enumerate() {
        let is_check = piece.is_keyword("check");
        let Some((Piece::Mark('('), start)) = pieces.get(index + 1).filter(|_| is_check) else { continue };
        let mut depth = 0;
        for (end, (piece, position)) in pieces.iter().enumerate().skip(index + 1) {
            match piece {
                Piece::Mark('(') => depth += 1,
                Piece::Mark(')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inner: Vec<&Piece> =
                    pieces.get(index + 2..end).unwrap_or_default().iter().map(|(piece, _)| piece).collect();
                let expression = sql.get(start + 1..*position).unwrap_or_default().trim().to_owned();
                // `CONSTRAINT name CHECK (…)`
                let before =
                    |back: usize| index.checked_sub(back).and_then(|at| pieces.get(at)).map(|(piece, _)| piece);
                let text = match (before(2), before(1)) {
                    (Some(word), Some(name)) if word.is_keyword("constraint") => {
                        name.word().map_or_else(|| expression.clone(), str::to_owned)
                    }
                    _ => expression.clone(),
                };
                let (column, words) = allowed_words(&inner);
                let names = inner.into_iter().filter_map(Piece::word).map(str::to_owned).collect();
                checks.push(CheckDefinition { text, expression, column, names, words });
                break;
            }
        }
    }
    checks
}

/// `column IN ('a', 'b')` and nothing else.
fn allowed_words(pieces: &[&Piece]) -> (Option<String>, Vec<String>) {
    let first = || pieces.iter().find_map(|piece| piece.word()).map(str::to_owned);
    let [column, operator, Piece::Mark('('), list @ .., Piece::Mark(')')] = pieces else {
        return (first(), Vec::new());
    };
    let (Some(column), true) = (column.word(), operator.word().is_some()) else { return (first(), Vec::new()) };
    let column = column.to_owned();
    let mut words = Vec::new();
    for piece in list {
        match piece {
            Piece::Text(text) => words.push(text.clone()),
            Piece::Mark(',') => {}
            _ => return (Some(column), Vec::new()),
        }
    }
    if operator.is_keyword("in") { (Some(column), words) } else { (Some(column), Vec::new()) }
}

/// Every quoted text in a PostgreSQL rule of the form `column = ANY (ARRAY['a'::text, 'b'::text])`.
pub(crate) fn quoted_texts(rule: &str) -> Vec<String> {
    let only_any =
        rule.contains("= ANY") && rule.contains("ARRAY[") && !rule.contains(" OR ") && !rule.contains(" AND ");
    if !only_any {
        return Vec::new();
    }
    let list = rule.split_once("ARRAY[").map(|(_, list)| list).unwrap_or_default();
    pieces_of(list, Dialect::Postgres)
        .into_iter()
        .map(|(piece, _)| piece)
        .take_while(|piece| *piece != Piece::Mark(']'))
        .filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            _ => None,
        })
        .collect()
}

/// Every name in a list or expression, quoted or not.
pub(crate) fn parse_names(list: &str) -> Vec<String> {
    pieces(list).iter().filter_map(|(piece, _)| piece.word()).map(str::to_owned).collect()
}

/// The words after a column's name in `CREATE TABLE`; `None` if the column is not found.
pub(crate) fn column_definition(column: &str, sql: &str) -> Option<Vec<String>> {
    let pieces = pieces(sql);
    let (mut depth, mut begins, mut inside) = (0, false, None::<Vec<String>>);
    for (piece, _) in pieces {
        match &piece {
            Piece::Mark('(') => depth += 1,
            Piece::Mark(')') => depth -= 1,
            _ => {}
        }
        match &mut inside {
            Some(found) if depth == 0 || (depth == 1 && piece == Piece::Mark(',')) => {
                return Some(std::mem::take(found));
            }
            Some(found) => found.extend(piece.name().map(str::to_owned)),
            None if begins && depth == 1 && piece.name().is_some_and(|name| name.eq_ignore_ascii_case(column)) => {
                inside = Some(Vec::new());
            }
            None => {}
        }
        begins = depth == 1 && matches!(piece, Piece::Mark('(' | ','));
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
    let pieces = pieces(sql);
    let using = pieces.iter().position(|(piece, _)| piece.is_keyword("using"))?;
    let (module, _) = pieces.get(using + 1)?;
    let mut arguments = Vec::new();
    let (mut depth, mut current): (i32, Vec<&(Piece, usize)>) = (0, Vec::new());
    for piece in pieces.get(using + 2..).unwrap_or_default() {
        match (&piece.0, depth) {
            (Piece::Mark('('), 0) => depth = 1,
            (Piece::Mark(')'), 1) | (Piece::Mark(','), 1) => {
                arguments.extend(parse_argument(sql, &std::mem::take(&mut current), piece.1));
                depth -= i32::from(piece.0 == Piece::Mark(')'));
            }
            (Piece::Mark('('), _) => {
                depth += 1;
                current.push(piece);
            }
            (Piece::Mark(')'), _) => {
                depth -= 1;
                current.push(piece);
            }
            (_, 0) => {}
            _ => current.push(piece),
        }
    }
    Some((module.name()?.to_ascii_lowercase(), arguments))
}

/// Parses an argument of a virtual table that ends at `end`.
fn parse_argument(sql: &str, pieces: &[&(Piece, usize)], end: usize) -> Option<Argument> {
    match pieces {
        [(option, _), (Piece::Mark('='), _), value @ ..] if option.name().is_some() => {
            let value = match value {
                [(only, _)] => only.name().map(str::to_owned),
                // An unquoted value is taken as it is.
                [(_, start), ..] => sql.get(*start..end).map(|text| text.trim().to_owned()),
                [] => None,
            };
            Some(Argument::Option(option.name()?.to_ascii_lowercase(), value.unwrap_or_default()))
        }
        [(column, _), rest @ ..] => {
            let words = rest.iter().filter_map(|(piece, _)| piece.word()).map(str::to_owned);
            Some(Argument::Column(column.name()?.to_owned(), words.collect()))
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
        let pieces = pieces(sql);
        let has_star = pieces.iter().any(|(piece, _)| *piece == Piece::Mark('*'));
        Self { names: pieces.iter().filter_map(|(piece, _)| piece.name()).map(str::to_owned).collect(), has_star }
    }

    /// Whether it contains this name or word.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

fn pieces(sql: &str) -> Vec<(Piece, usize)> {
    pieces_of(sql, Dialect::Sqlite)
}

/// Whether a character can be part of an unquoted name. Both databases accept every non-ASCII character, even spaces,
/// and `$` except at the start.
fn is_part_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii()
}

/// The pieces of SQL with their offsets, without comments.
fn pieces_of(sql: &str, dialect: Dialect) -> Vec<(Piece, usize)> {
    let quotes: &[char] = match dialect {
        Dialect::Sqlite => &['\'', '"', '`', '['],
        Dialect::Postgres => &['\'', '"'],
    };
    let mut pieces = Vec::new();
    let mut characters = sql.char_indices().peekable();
    while let Some((start, character)) = characters.next() {
        match character {
            '-' if characters.peek().is_some_and(|(_, next)| *next == '-') => {
                for (_, character) in characters.by_ref() {
                    if character == '\n' {
                        break;
                    }
                }
            }
            '/' if characters.peek().is_some_and(|(_, next)| *next == '*') => {
                // The star that opens a comment does not close it.
                characters.next();
                let mut previous = ' ';
                for (_, character) in characters.by_ref() {
                    if previous == '*' && character == '/' {
                        break;
                    }
                    previous = character;
                }
            }
            // SQLite treats a byte order mark as a blank, except within a name.
            '\u{feff}' if dialect == Dialect::Sqlite => {}
            character if quotes.contains(&character) => {
                let close = if character == '[' { ']' } else { character };
                let mut text = String::new();
                while let Some((_, character)) = characters.next() {
                    if character == close {
                        if close != ']' && characters.peek().is_some_and(|(_, next)| *next == close) {
                            characters.next();
                        } else {
                            break;
                        }
                    }
                    text.push(character);
                }
                pieces.push((if character == '\'' { Piece::Text(text) } else { Piece::Quoted(text) }, start));
            }
            character if is_part_of_name(character) => {
                let mut word = String::from(character);
                while let Some((_, character)) = characters.next_if(|(_, next)| is_part_of_name(*next) || *next == '$')
                {
                    word.push(character);
                }
                pieces.push((Piece::Word(word), start));
            }
            character if character.is_whitespace() => {}
            mark => pieces.push((Piece::Mark(mark), start)),
        }
    }
    pieces
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
