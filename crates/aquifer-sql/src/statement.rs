//! SQL text under construction.
//!
//! The text of a statement consists of words written in this crate, of quoted identifiers from the database's own
//! catalog, of expressions written by the operator or stored in the database, and of page sizes. Values from callers
//! are always bound: there is no way to put them into the text.

use std::fmt::Write as _;

/// The SQL dialect of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A quoted identifier from the database's catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name(Box<str>);

impl Name {
    /// Quotes a name that reflection found.
    pub(crate) fn reflected(name: &str) -> Self {
        Self(format!("\"{}\"", name.replace('"', "\"\"")).into())
    }

    /// A name in a schema.
    pub(crate) fn qualified(schema: &str, name: &str) -> Self {
        Self(format!("{}.{}", Self::reflected(schema).0, Self::reflected(name).0).into())
    }
}

/// An expression from the configuration or from the database's catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment(Box<str>);

impl Fragment {
    /// Must never be created from anything a caller sent.
    pub(crate) fn trusted(text: &str) -> Self {
        Self(text.into())
    }

    /// Whether the expression is exactly this text.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        *self.0 == *text
    }
}

/// A bound value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bind {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Bind {
    /// The name of its type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Bind::Null => "null",
            Bind::Integer(_) => "integer",
            Bind::Real(_) => "real",
            Bind::Text(_) => "text",
            Bind::Bytes(_) => "bytes",
        }
    }
}

/// A statement and its bound values.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    dialect: Dialect,
    text: String,
    binds: Vec<Bind>,
    /// The numbers of the binds that are paths into JSON.
    paths: Vec<usize>,
}

impl Statement {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, text: String::with_capacity(640), binds: Vec::new(), paths: Vec::new() }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Appends SQL text written in this crate.
    pub(crate) fn push(&mut self, words: &'static str) -> &mut Self {
        self.text.push_str(words);
        self
    }

    /// Appends an identifier.
    pub(crate) fn name(&mut self, name: &Name) -> &mut Self {
        self.text.push_str(&name.0);
        self
    }

    /// Appends a trusted expression.
    pub(crate) fn fragment(&mut self, fragment: &Fragment) -> &mut Self {
        self.text.push_str(&fragment.0);
        self
    }

    /// Appends a page size. It is part of the text because query planners use it.
    pub(crate) fn count(&mut self, count: usize) -> &mut Self {
        let _ = write!(self.text, "{count}");
        self
    }

    /// Appends a bound value.
    pub(crate) fn bind(&mut self, bind: Bind) -> &mut Self {
        self.binds.push(bind);
        let mark = match self.dialect {
            Dialect::Sqlite => '?',
            Dialect::Postgres => '$',
        };
        let _ = write!(self.text, "{mark}{}", self.binds.len());
        self
    }

    /// Appends a path into JSON. The same path is bound only once, so that equal expressions have equal text:
    /// PostgreSQL compares the selected expressions with those of `GROUP BY`.
    pub(crate) fn path(&mut self, path: String) -> &mut Self {
        let path = Bind::Text(path);
        let existing = self.paths.iter().copied().find(|number| self.binds.get(number - 1) == Some(&path));
        match existing {
            Some(number) => {
                let mark = if self.dialect == Dialect::Sqlite { '?' } else { '$' };
                let _ = write!(self.text, "{mark}{number}");
            }
            None => {
                self.bind(path);
                self.paths.push(self.binds.len());
            }
        }
        self
    }

    /// A statement to be appended to another: its values are bound after the other's.
    pub(crate) fn nested(outer: &Self) -> Self {
        Self { text: String::with_capacity(256), ..outer.clone() }
    }

    /// Appends a statement that [`Statement::nested`] began. Nothing else may be bound in between.
    pub(crate) fn append(&mut self, nested: Self) -> &mut Self {
        self.text.push_str(&nested.text);
        self.binds = nested.binds;
        self.paths = nested.paths;
        self
    }

    /// The text from `start` on, to be reused in other statements. `None` if the statement has bound values.
    pub(crate) fn fragment_since(&self, start: usize) -> Option<Fragment> {
        let text = self.text.get(start..).filter(|_| self.binds.is_empty())?;
        Some(Fragment(text.into()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn binds(&self) -> &[Bind] {
        &self.binds
    }
}
