//! Parses calculations: `price * quantity * (1 - discount)`.

use super::path::{self, PathUse, UnknownPath};
use super::problems::{self, Problems};
use crate::collection::{FieldType, QueryRoot};
use crate::plan::Path;
use crate::plan::calculation::{Arithmetic, Calculation};

const MAX_LENGTH: usize = 500;
const MAX_OPERATIONS: usize = 32;
const MAX_DEPTH: usize = 16;

/// The meaning of a text: a path, or a calculation with several paths.
#[derive(Debug)]
pub(super) enum Operand {
    Path(Path, FieldType),
    Calculation(Calculation),
}

/// Why a text is neither a path nor a calculation.
#[derive(Debug)]
pub(super) enum OperandError {
    /// An unknown name.
    Unknown(String, UnknownPath),
    /// A name of something other than a number.
    NotNumeric(String, FieldType),
    /// A calculation with a syntax error.
    Malformed(String),
}

impl OperandError {
    /// Reports it, with what to write instead.
    pub(super) fn report(self, root: QueryRoot<'_>, usage: PathUse, at: &str, problems: &mut Problems) {
        match self {
            OperandError::Unknown(name, valid) => problems.unknown_field(at, &name, &valid),
            OperandError::NotNumeric(name, field_type) => {
                let valid = path::valid_names_where(root, usage, FieldType::is_numeric);
                let name = problems::sanitize_path(&name);
                problems.unsuitable(
                    at,
                    format!("calculates with '{name}', which is of type {}", field_type.type_name()),
                    &valid,
                );
            }
            OperandError::Malformed(problem) => {
                problems.invalid(at, format!("{problem}. A calculation is written like \"price * (1 - discount)\""));
            }
        }
    }
}

/// Resolves a text. A field with exactly this name takes precedence over a calculation.
pub(super) fn resolve(root: QueryRoot<'_>, text: &str, usage: PathUse) -> Result<Operand, OperandError> {
    let resolved = path::resolve(root, text, usage);
    let has_operators = text.contains(['+', '*', '/', '(']) || text.contains(" - ");
    match resolved {
        // Inside a value, and in an open collection, every name is accepted.
        Ok((path, field_type)) if has_operators && (root.open || !path.inside.is_empty()) => {
            Ok(calculate(root, text, usage).map_or(Operand::Path(path, field_type), Operand::Calculation))
        }
        Ok((path, field_type)) => Ok(Operand::Path(path, field_type)),
        Err(unknown) if !has_operators && !text.contains('-') => Err(OperandError::Unknown(text.to_owned(), unknown)),
        Err(_) => calculate(root, text, usage).map(Operand::Calculation),
    }
}

fn calculate(root: QueryRoot<'_>, text: &str, usage: PathUse) -> Result<Calculation, OperandError> {
    if text.len() > MAX_LENGTH {
        return Err(OperandError::Malformed(format!("can have up to {MAX_LENGTH} bytes")));
    }
    let mut parser = Parser { root, usage, tokens: tokens(text)?, next: 0, operations: 0 };
    let calculation = parser.sum(0)?;
    match parser.peek() {
        None => Ok(calculation),
        Some(token) => Err(OperandError::Malformed(format!("has an unexpected '{}'", token.text()))),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'t> {
    Name(&'t str),
    Number(&'t str),
    Sign(char),
}

impl Token<'_> {
    fn text(&self) -> String {
        match self {
            Token::Name(text) | Token::Number(text) => problems::sanitize_path(text),
            Token::Sign(sign) => sign.to_string(),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, OperandError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
        let length = if is_name(first) {
            rest.find(|c| !is_name(c)).unwrap_or(rest.len())
        } else if matches!(first, '+' | '-' | '*' | '/' | '(' | ')') {
            first.len_utf8()
        } else {
            let shown = problems::sanitize_path(&first.to_string());
            let problem = format!("has an unexpected '{shown}'. Use names, numbers, + - * / and parentheses");
            return Err(OperandError::Malformed(problem));
        };
        let (token, after) = rest.split_at(length);
        tokens.push(match first {
            '0'..='9' | '.' => Token::Number(token),
            first if is_name(first) => Token::Name(token),
            sign => Token::Sign(sign),
        });
        rest = after.trim_start();
    }
    Ok(tokens)
}

struct Parser<'a, 't> {
    root: QueryRoot<'a>,
    usage: PathUse,
    tokens: Vec<Token<'t>>,
    next: usize,
    operations: usize,
}

impl<'t> Parser<'_, 't> {
    fn peek(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.next)
    }

    /// Takes the next token if it is one of these signs.
    fn take_sign(&mut self, signs: &[char]) -> Option<char> {
        match self.peek() {
            Some(Token::Sign(sign)) if signs.contains(sign) => {
                let sign = *sign;
                self.next += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    fn sum(&mut self, depth: usize) -> Result<Calculation, OperandError> {
        let mut left = self.product(depth)?;
        while let Some(sign) = self.take_sign(&['+', '-']) {
            let arithmetic = if sign == '+' { Arithmetic::Add } else { Arithmetic::Subtract };
            let right = self.product(depth)?;
            left = self.operation(left, arithmetic, right)?;
        }
        Ok(left)
    }

    fn product(&mut self, depth: usize) -> Result<Calculation, OperandError> {
        let mut left = self.value(depth)?;
        while let Some(sign) = self.take_sign(&['*', '/']) {
            let arithmetic = if sign == '*' { Arithmetic::Multiply } else { Arithmetic::Divide };
            let right = self.value(depth)?;
            left = self.operation(left, arithmetic, right)?;
        }
        Ok(left)
    }

    fn operation(
        &mut self,
        left: Calculation,
        arithmetic: Arithmetic,
        right: Calculation,
    ) -> Result<Calculation, OperandError> {
        self.operations += 1;
        if self.operations > MAX_OPERATIONS {
            return Err(OperandError::Malformed(format!("can have up to {MAX_OPERATIONS} operations")));
        }
        Ok(Calculation::Operation(Box::new(left), arithmetic, Box::new(right)))
    }

    fn value(&mut self, depth: usize) -> Result<Calculation, OperandError> {
        if depth > MAX_DEPTH {
            return Err(OperandError::Malformed(format!("can be nested up to {MAX_DEPTH} levels deep")));
        }
        if self.take_sign(&['-']).is_some() {
            let value = self.value(depth + 1)?;
            return self.operation(Calculation::Constant(0.into()), Arithmetic::Subtract, value);
        }
        if self.take_sign(&['(']).is_some() {
            let inner = self.sum(depth + 1)?;
            return match self.take_sign(&[')']) {
                Some(_) => Ok(inner),
                None => Err(OperandError::Malformed("lacks a closing parenthesis".to_owned())),
            };
        }
        let token = self.peek().cloned();
        self.next += 1;
        match token {
            Some(Token::Name(name)) => self.named(name),
            Some(Token::Number(text)) => match text.parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
                Some(number) => Ok(Calculation::Constant(number)),
                None => {
                    let shown = problems::sanitize_path(text);
                    Err(OperandError::Malformed(format!("has '{shown}', which is not a number")))
                }
            },
            Some(token) => Err(OperandError::Malformed(format!("has an unexpected '{}'", token.text()))),
            None => Err(OperandError::Malformed("ends too early: a name or a number is missing".to_owned())),
        }
    }

    fn named(&self, name: &str) -> Result<Calculation, OperandError> {
        let (path, field_type) = path::resolve(self.root, name, self.usage)
            .map_err(|unknown| OperandError::Unknown(name.to_owned(), unknown))?;
        let loose = !path.inside.is_empty() || self.root.open;
        if field_type.is_numeric() || loose {
            Ok(Calculation::Value(path, field_type))
        } else {
            Err(OperandError::NotNumeric(name.to_owned(), field_type))
        }
    }
}
