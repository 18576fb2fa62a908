//! A tokenized statement that consists of one SELECT, judging by its keywords.

use aquifer_protocol::error::Failure;

use super::error::{invalid_sql, position_of};
use super::lexer::{Lexeme, Lexer, Token};
use crate::statement::Dialect;

/// Keywords of statements with effects, even in parentheses.
const WRITES: [&str; 4] = ["insert", "update", "delete", "merge"];

/// How a statement refers to its bound values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterStyle {
    /// `?`, with the number of parameters.
    InOrder(usize),
    /// `$1`, with the highest number.
    Numbered(usize),
}

impl ParameterStyle {
    /// How many values have to be bound.
    pub(crate) fn count(self) -> usize {
        match self {
            ParameterStyle::InOrder(count) | ParameterStyle::Numbered(count) => count,
        }
    }
}

/// One SELECT statement of a caller.
#[derive(Debug, Clone)]
pub(crate) struct SqlText {
    /// The original text.
    written: String,
    text: String,
    lexemes: Vec<Lexeme>,
    parameters: ParameterStyle,
}

impl SqlText {
    /// Splits and checks a statement.
    pub(crate) fn parse(sql: &str, dialect: Dialect) -> Result<Self, Failure> {
        let (mut text, mut lexemes) = Lexer::split(sql, dialect)?;
        while let Some(last) = lexemes.pop_if(|last| last.token.is_mark(';')) {
            text.replace_range(last.start..=last.start, " ");
        }
        let at =
            |lexeme: &Lexeme, problem: &str| invalid_sql(problem).detail("position", position_of(sql, lexeme.start));
        if let Some(second) = lexemes.iter().find(|lexeme| lexeme.token.is_mark(';')) {
            return Err(at(second, "has more than one statement. Send one, or several calls as a batch"));
        }
        let first = lexemes.iter().find(|lexeme| !lexeme.token.is_mark('('));
        let Some(first) = first else { return Err(invalid_sql("is empty. Write one SELECT")) };
        if !["select", "with", "values"].iter().any(|word| first.token.is_word(word)) {
            return Err(at(first, "is not a SELECT. Only a SELECT, a WITH … SELECT, or VALUES can be run"));
        }
        check_nesting(&lexemes, &at)?;
        let parameters = parameter_style(&lexemes)?;
        Ok(Self { written: sql.to_owned(), text, lexemes, parameters })
    }

    /// The text that is sent: the original with comments replaced by spaces.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text with a constant in place of each numbered parameter.
    pub(crate) fn with_constants(&self, constants: &[String]) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut end = 0;
        for lexeme in &self.lexemes {
            let Token::Parameter(Some(number)) = lexeme.token else { continue };
            let Some(constant) = number.checked_sub(1).and_then(|index| constants.get(index)) else { continue };
            text.push_str(self.text.get(end..lexeme.start).unwrap_or_default());
            text.push_str(constant);
            let rest = self.text.get(lexeme.start + 1..).unwrap_or_default();
            end = lexeme.start + 1 + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        }
        text.push_str(self.text.get(end..).unwrap_or_default());
        text
    }

    /// The character number at this byte of the original text, from 1.
    pub(crate) fn position_of(&self, byte: usize) -> usize {
        position_of(&self.written, byte)
    }

    pub(crate) fn lexemes(&self) -> &[Lexeme] {
        &self.lexemes
    }

    pub(crate) fn parameters(&self) -> ParameterStyle {
        self.parameters
    }

    /// All names in the statement. They include every table that it reads.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.lexemes.iter().filter_map(|lexeme| lexeme.token.name())
    }

    /// Whether a keyword occurs.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.lexemes.iter().any(|lexeme| lexeme.token.is_word(word))
    }

    /// The text of the token at this byte.
    pub(crate) fn token_at(&self, position: usize) -> &str {
        let lexeme_index = self.lexemes.iter().position(|lexeme| lexeme.start == position);
        let end = lexeme_index.and_then(|index| self.lexemes.get(index + 1)).map_or(self.text.len(), |next| next.start);
        lexeme_index.and_then(|_| self.text.get(position..end)).unwrap_or_default().trim()
    }
}

/// Checks that parentheses match and that nothing is written.
fn check_nesting(lexemes: &[Lexeme], at: &impl Fn(&Lexeme, &str) -> Failure) -> Result<(), Failure> {
    let mut open: Vec<&Lexeme> = Vec::new();
    let mut before: Option<&Token> = None;
    for lexeme in lexemes {
        match &lexeme.token {
            Token::Mark('(') => open.push(lexeme),
            Token::Mark(')') if open.pop().is_none() => {
                return Err(at(lexeme, "has a closing parenthesis without an opening one"));
            }
            Token::Word(word)
                if WRITES.contains(&word.as_str())
                    && (open.is_empty() || before.is_some_and(|before| before.is_mark('('))) =>
            {
                return Err(at(lexeme, "changes or locks rows. Only reads can be run"));
            }
            _ => {}
        }
        before = Some(&lexeme.token);
    }
    match open.last() {
        Some(lexeme) => Err(at(lexeme, "has an opening parenthesis without a closing one")),
        None => Ok(()),
    }
}

fn parameter_style(lexemes: &[Lexeme]) -> Result<ParameterStyle, Failure> {
    let (mut unnumbered, mut highest) = (0, 0);
    for lexeme in lexemes {
        match lexeme.token {
            Token::Parameter(None) => unnumbered += 1,
            Token::Parameter(Some(number)) => highest = highest.max(number),
            _ => {}
        }
    }
    match (unnumbered, highest) {
        (count, 0) => Ok(ParameterStyle::InOrder(count)),
        (0, highest) => Ok(ParameterStyle::Numbered(highest)),
        _ => Err(invalid_sql("has parameters with and without numbers. Use either '?' or '$1'")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn names(sql: &str, dialect: Dialect) -> Vec<String> {
        SqlText::parse(sql, dialect).unwrap().names().map(str::to_owned).collect()
    }

    /// Names are recognized in every spelling.
    #[test]
    fn r_ext_5_names_are_found_in_every_spelling() {
        for name in ["secret", "SECRET", "\"secret\"", "[secret]", "`secret`", "'secret'", "/**/secret--\n", "t.secret"]
        {
            let found = names(&format!("SELECT 1 FROM {name}"), Dialect::Sqlite);
            assert_eq!(found.last().unwrap(), "secret", "{name}: {found:?}");
        }
        assert_eq!(names("SELECT \"a\"\"b\", 'it''s'", Dialect::Postgres), ["select", "a\"b", "it's"]);
        assert_eq!(
            names("SELECT 1e5, 0x1F, .5, 1.5e-3, ä FROM ßa$1", Dialect::Sqlite),
            ["select", "ä", "from", "ßa$1"]
        );
    }

    /// The text that is sent has no comments, and every other character keeps its position.
    #[test]
    fn r_ext_5_comments_become_blanks() {
        for (dialect, sql, sent) in [
            (Dialect::Sqlite, "SELECT/*ä*/1 -- x\n;", "SELECT      1     \n "),
            (Dialect::Sqlite, "SELECT '/*' -- '\n", "SELECT '/*'     \n"),
            (Dialect::Sqlite, "SELECT 1 /* /* */", "SELECT 1         "),
            (Dialect::Postgres, "SELECT 1 /* /* */ */", "SELECT 1            "),
            (Dialect::Postgres, "SELECT 1 --\r, 2", "SELECT 1   \r, 2"),
        ] {
            assert_eq!(SqlText::parse(sql, dialect).unwrap().text(), sent);
        }
        let text = SqlText::parse("SELECT /*ä*/ x", Dialect::Sqlite).unwrap();
        assert_eq!(text.position_of(text.lexemes().last().unwrap().start), 14);
    }

    #[test]
    fn r_ext_5_what_databases_read_differently_is_refused() {
        for sql in [
            "SELECT E'a'",
            "SELECT e'a'",
            "SELECT U&'a'",
            "SELECT u&\"a\"",
            "SELECT $$a$$",
            "SELECT $a$a$a$",
            "SELECT 1a",
            "SELECT \u{feff}1",
            "SELECT \u{b}1",
            "SELECT `a`",
            "SELECT 'a",
            "SELECT \"a",
            "SELECT /* a",
            "SELECT )(",
            "SELECT \\d",
        ] {
            assert!(SqlText::parse(sql, Dialect::Postgres).is_err(), "{sql}");
        }
        for sql in ["SELECT fe'a'", "SELECT date'2020-01-01'", "SELECT a & 'x'", "SELECT u & 'x'", "SELECT x'00', b'1'"]
        {
            assert!(SqlText::parse(sql, Dialect::Postgres).is_ok(), "{sql}");
        }
    }
}
