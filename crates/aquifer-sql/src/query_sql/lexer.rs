//! Splits a caller's SQL into tokens. Anything that a database could interpret differently is an error.

use super::error::invalid_sql;
use crate::statement::Dialect;
use aquifer_protocol::error::Failure;

/// A token, with the position of its first byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lexeme {
    pub(crate) token: Token,
    pub(crate) start: usize,
    /// Whether it directly follows the previous token.
    pub(crate) is_adjacent: bool,
}

/// A token of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// An unquoted name or keyword, in lower case.
    Word(String),
    /// A quoted name.
    Quoted(String),
    /// Text in single quotes. SQLite also accepts it as a name.
    Text(String),
    Number,
    /// `?`, or with a number `?1` and `$1`.
    Parameter(Option<usize>),
    /// A parenthesis, bracket, comma, dot, semicolon or a character of an operator.
    Mark(char),
}

impl Token {
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(self, Token::Word(own) if own == word)
    }

    pub(crate) fn is_mark(&self, mark: char) -> bool {
        *self == Token::Mark(mark)
    }

    /// The name that this token may denote.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Token::Word(name) | Token::Quoted(name) | Token::Text(name) => Some(name),
            Token::Number | Token::Parameter(_) | Token::Mark(_) => None,
        }
    }
}

/// Tokenizes a statement.
pub(super) struct Lexer<'a> {
    dialect: Dialect,
    sql: &'a str,
    position: usize,
    /// The statement with comments replaced by spaces.
    cleaned: String,
    lexemes: Vec<Lexeme>,
}

impl<'a> Lexer<'a> {
    /// Returns the statement with comments replaced by spaces, and its tokens.
    pub(super) fn split(sql: &'a str, dialect: Dialect) -> Result<(String, Vec<Lexeme>), Failure> {
        let mut lexer =
            Self { dialect, sql, position: 0, cleaned: String::with_capacity(sql.len()), lexemes: Vec::new() };
        while let Some(first) = lexer.rest().chars().next() {
            lexer.step(first)?;
        }
        Ok((lexer.cleaned, lexer.lexemes))
    }

    fn rest(&self) -> &'a str {
        self.sql.get(self.position..).unwrap_or_default()
    }

    fn error(&self, problem: impl std::fmt::Display) -> Failure {
        invalid_sql(problem).detail("position", super::error::position_of(self.sql, self.position))
    }

    fn step(&mut self, first: char) -> Result<(), Failure> {
        let rest = self.rest();
        match first {
            ' ' | '\t' | '\n' | '\r' => {
                self.cleaned.push(first);
                self.position += 1;
            }
            _ if rest.starts_with("--") => self.blank(rest.find(['\n', '\r']).unwrap_or(rest.len())),
            _ if rest.starts_with("/*") => {
                let length = self.comment_length().ok_or_else(|| self.error("has a comment without an end"))?;
                self.blank(length);
            }
            '\'' => self.quoted('\'', '\'', Token::Text)?,
            '"' => self.quoted('"', '"', Token::Quoted)?,
            '`' if self.dialect == Dialect::Sqlite => self.quoted('`', '`', Token::Quoted)?,
            '[' if self.dialect == Dialect::Sqlite => self.quoted('[', ']', Token::Quoted)?,
            '0'..='9' => self.number()?,
            '?' | '$' => self.parameter(first)?,
            ':' | '@' | '#' if self.dialect == Dialect::Sqlite => {
                return Err(self.error("has a named parameter. Write '?' or '$1', and pass the values in 'params'"));
            }
            first if first.is_ascii_alphabetic() || first == '_' || is_non_ascii_alphanumeric(first) => self.word()?,
            '(' | ')' | '[' | ']' | ',' | '.' | ';' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '~'
            | '^' | '&' | '|' | ':' | '@' | '#' => self.push(Token::Mark(first), 1),
            other => {
                return Err(self.error(format_args!("has a character outside of SQL: '{}'", other.escape_default())));
            }
        }
        Ok(())
    }

    /// Adds a token of this length.
    fn push(&mut self, token: Token, length: usize) {
        let start = self.position;
        let is_adjacent = !self.cleaned.ends_with(char::is_whitespace);
        self.cleaned.push_str(self.rest().get(..length).unwrap_or_default());
        self.position += length;
        self.lexemes.push(Lexeme { token, start, is_adjacent });
    }

    /// Replaces a comment by as many spaces, so that positions stay the same.
    fn blank(&mut self, length: usize) {
        self.cleaned.push_str(&" ".repeat(length));
        self.position += length;
    }

    /// The length of a comment. Comments can be nested in PostgreSQL.
    fn comment_length(&self) -> Option<usize> {
        let (rest, mut depth, mut at) = (self.rest(), 0_usize, 0);
        while let Some(here) = rest.get(at..).filter(|here| !here.is_empty()) {
            if here.starts_with("/*") && (depth == 0 || self.dialect == Dialect::Postgres) {
                (depth, at) = (depth + 1, at + 2);
            } else if here.starts_with("*/") {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return Some(at);
                }
            } else {
                at += here.chars().next().map_or(1, char::len_utf8);
            }
        }
        None
    }

    fn quoted(&mut self, open: char, close: char, token: fn(String) -> Token) -> Result<(), Failure> {
        if self.dialect == Dialect::Postgres {
            self.check_prefix()?;
        }
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1).peekable();
        while let Some((index, character)) = characters.next() {
            if character == close {
                // A name in `[…]` cannot contain `]`.
                if open == '[' || characters.next_if(|(_, next)| *next == close).is_none() {
                    self.push(token(text), index + 1);
                    return Ok(());
                }
                text.push(close);
            } else {
                text.push(character);
            }
        }
        Err(self.error(format_args!("has a quote ({open}) without an end")))
    }

    /// Refuses `E` and `U&` before a string, which PostgreSQL parses with escapes.
    fn check_prefix(&self) -> Result<(), Failure> {
        let before = self.sql.get(..self.position).unwrap_or_default();
        let is_prefix = |lexeme: &Lexeme, length: usize, word: &str| {
            lexeme.token.is_word(word) && lexeme.start + length == self.position
        };
        let escapes = match self.lexemes.as_slice() {
            [.., word, _] if before.ends_with('&') => is_prefix(word, 2, "u"),
            [.., word] => is_prefix(word, 1, "e"),
            [] => false,
        };
        match escapes {
            true => Err(self.error("has a string with escapes. Pass the text in 'params' and write $1")),
            false => Ok(()),
        }
    }

    fn number(&mut self) -> Result<(), Failure> {
        let rest = self.rest();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let after = |length: usize| rest.get(length..).unwrap_or_default();
        let mut length = if rest.starts_with("0x") || rest.starts_with("0X") {
            2 + after(2).bytes().take_while(u8::is_ascii_hexdigit).count()
        } else {
            let mut length = digits(rest);
            if let Some(fraction) = after(length).strip_prefix('.') {
                length += 1 + digits(fraction);
            }
            length
        };
        if let Some(exponent) = after(length).strip_prefix(['e', 'E']) {
            let signed = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits(signed) > 0 {
                length += 1 + exponent.len() - signed.len() + digits(signed);
            }
        }
        if after(length).starts_with(is_part_of_name) {
            return Err(self.error("has a number with letters behind it"));
        }
        self.push(Token::Number, length);
        Ok(())
    }

    fn parameter(&mut self, first: char) -> Result<(), Failure> {
        let rest = self.rest();
        let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
        let number = rest.get(1..=digits).unwrap_or_default();
        if rest.get(1 + digits..).unwrap_or_default().starts_with(is_part_of_name) {
            return Err(
                self.error("has a named parameter or a dollar quote. Write '$1', and pass the values in 'params'")
            );
        }
        // In PostgreSQL a question mark is an operator.
        let token = match (first, digits, self.dialect) {
            ('?', _, Dialect::Postgres) => {
                self.push(Token::Mark('?'), 1);
                return Ok(());
            }
            ('?', 0, Dialect::Sqlite) => Token::Parameter(None),
            ('$', 0, _) => {
                return Err(
                    self.error("has a dollar sign without a number. Write '$1', and pass the values in 'params'")
                );
            }
            _ => match number.parse::<usize>() {
                Ok(number @ 1..=super::MAX_BINDS) => Token::Parameter(Some(number)),
                _ => {
                    let most = super::MAX_BINDS;
                    return Err(self.error(format_args!("has a parameter number beyond 1 to {most}")));
                }
            },
        };
        self.push(token, 1 + digits);
        Ok(())
    }

    fn word(&mut self) -> Result<(), Failure> {
        let rest = self.rest();
        let length = rest.find(|c: char| !is_part_of_name(c)).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        self.push(Token::Word(word.to_ascii_lowercase()), length);
        Ok(())
    }
}

/// A non-ASCII letter or digit. Both databases accept every such character in names, but one of them treats some as spaces.
fn is_non_ascii_alphanumeric(character: char) -> bool {
    !character.is_ascii() && character.is_alphanumeric()
}

fn is_part_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '$' || is_non_ascii_alphanumeric(character)
}
