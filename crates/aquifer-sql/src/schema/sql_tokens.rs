//! Tokens of SQL that a database stores: expressions and definitions. Whatever could be a name counts as one.

use crate::statement::Dialect;

/// A token of an SQL expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// An unquoted name or keyword.
    Word(String),
    /// A quoted name.
    Quoted(String),
    /// Text in single quotes.
    Text(String),
    /// A number as written.
    Number(String),
    /// `>=`, `::`, `+` and the like.
    Operator(String),
    /// A parenthesis, bracket, comma or dot.
    Mark(char),
}

impl Token {
    pub(crate) fn word(&self) -> Option<&str> {
        match self {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.word().is_some_and(|own| own.eq_ignore_ascii_case(word))
    }

    /// A name, keyword or number, quoted or not.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Token::Word(name) | Token::Quoted(name) | Token::Number(name) => Some(name),
            Token::Text(_) | Token::Operator(_) | Token::Mark(_) => None,
        }
    }

    /// The same, or text: SQLite accepts even single quotes for names.
    pub(crate) fn possible_name(&self) -> Option<&str> {
        match self {
            Token::Text(name) => Some(name),
            other => other.name(),
        }
    }

    pub(crate) fn is_operator(&self, operator: &str) -> bool {
        matches!(self, Token::Operator(own) if own == operator)
    }

    /// The change of the nesting depth.
    pub(crate) fn opens(&self) -> i32 {
        match self {
            Token::Mark('(' | '[') => 1,
            Token::Mark(')' | ']') => -1,
            _ => 0,
        }
    }
}

/// Whether one pair of parentheses or brackets encloses all of it.
pub(crate) fn is_enclosed(tokens: &[Token]) -> bool {
    let mut depth = 0;
    let ends = tokens.iter().position(|token| {
        depth += token.opens();
        depth <= 0
    });
    tokens.len() > 1 && ends == Some(tokens.len() - 1)
}

/// Strips enclosing parentheses.
pub(crate) fn unwrapped(mut tokens: &[Token]) -> &[Token] {
    while let [Token::Mark('('), inner @ .., Token::Mark(')')] = tokens {
        if !is_enclosed(tokens) {
            break;
        }
        tokens = inner;
    }
    tokens
}

/// The position of the cast of the whole expression: the last `::` outside of parentheses.
pub(crate) fn last_cast(tokens: &[Token]) -> Option<usize> {
    let (mut depth, mut last) = (0, None);
    for (index, token) in tokens.iter().enumerate() {
        depth += token.opens();
        if depth == 0 && matches!(token, Token::Operator(operator) if operator == "::") {
            last = Some(index);
        }
    }
    last
}

/// The tokens of an expression, without comments. Brackets are marks, because PostgreSQL's arrays have them.
pub(crate) fn tokens(sql: &str) -> Vec<Token> {
    tokens_at(sql, Dialect::Postgres).into_iter().map(|(token, _)| token).collect()
}

/// The tokens of SQL with their offsets, without comments. Brackets quote names in SQLite.
pub(crate) fn tokens_at(sql: &str, dialect: Dialect) -> Vec<(Token, usize)> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            _ if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
            _ if rest.starts_with("/*") => (None, comment_length(rest)),
            // SQLite treats a byte order mark as a blank, except within a name.
            '\u{feff}' if dialect == Dialect::Sqlite => (None, first.len_utf8()),
            '\'' => quoted(rest, '\'', Token::Text),
            '"' | '`' => quoted(rest, first, Token::Quoted),
            '[' if dialect == Dialect::Sqlite => {
                let name = rest.get(1..rest.find(']').unwrap_or(rest.len())).unwrap_or_default();
                (Some(Token::Quoted(name.to_owned())), name.len() + 2)
            }
            first if first.is_ascii_digit() => {
                let length = number_length(rest);
                (rest.get(..length).map(|number| Token::Number(number.to_owned())), length)
            }
            first if is_part_of_name(first) => {
                let length = rest.find(|c: char| !is_part_of_name(c) && c != '$').unwrap_or(rest.len());
                (rest.get(..length).map(|word| Token::Word(word.to_owned())), length)
            }
            '(' | ')' | '[' | ']' | ',' | '.' | ';' => (Some(Token::Mark(first)), 1),
            first if first.is_whitespace() => (None, first.len_utf8()),
            _ => {
                let length = ["::", ">=", "<=", "<>", "!=", "==", "||"]
                    .iter()
                    .find(|operator| rest.starts_with(**operator))
                    .map_or(first.len_utf8(), |operator| operator.len());
                (rest.get(..length).map(|operator| Token::Operator(operator.to_owned())), length)
            }
        };
        tokens.extend(token.map(|token| (token, sql.len() - rest.len())));
        rest = rest.get(length.max(1)..).unwrap_or_default();
    }
    tokens
}

/// The star that opens a comment does not close it.
fn comment_length(rest: &str) -> usize {
    rest.get(2..).and_then(|inner| inner.find("*/")).map_or(rest.len(), |end| end + 4)
}

/// Both databases accept every non-ASCII character in names.
fn is_part_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii()
}

fn quoted(rest: &str, quote: char, token: fn(String) -> Token) -> (Option<Token>, usize) {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((index, character)) = characters.next() {
        if character == quote {
            if characters.next_if(|(_, next)| *next == quote).is_none() {
                return (Some(token(text)), index + quote.len_utf8());
            }
            text.push(quote);
        } else {
            text.push(character);
        }
    }
    (Some(token(text)), rest.len())
}

fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    if let Some(fraction) = text.get(length..).and_then(|rest| rest.strip_prefix('.')) {
        length += 1 + digits(fraction);
    }
    if let Some(exponent) = text.get(length..).and_then(|rest| rest.strip_prefix(['e', 'E'])) {
        let signed = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits(signed);
        if count > 0 {
            length += 1 + (exponent.len() - signed.len()) + count;
        }
    }
    length
}
