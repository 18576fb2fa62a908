//! SQL text under construction.
//!
//! The text of a statement can only be made of words written in this crate, of identifiers that came from the database's
//! own catalogue (quoted), of expressions the operator or the database wrote, and of page sizes. What a caller sends is
//! bound, always: there is no way to put it into the text.

use std::fmt::Write as _;

/// Which database is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// An identifier from the database's catalogue, quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name(Box<str>);

impl Name {
    /// Quotes a name the database told us.
    pub(crate) fn reflected(name: &str) -> Self {
        Self(format!("\"{}\"", name.replace('"', "\"\"")).into())
    }

    /// A name in a schema.
    pub(crate) fn qualified(schema: &str, name: &str) -> Self {
        Self(format!("{}.{}", Self::reflected(schema).0, Self::reflected(name).0).into())
    }
}

/// An expression that the operator wrote into the configuration, or the database told us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment(Box<str>);

impl Fragment {
    /// Never to be made from anything a caller sent.
    pub(crate) fn trusted(text: &str) -> Self {
        Self(text.into())
    }

    /// Whether it is just this.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        *self.0 == *text
    }
}

/// A value that travels beside the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bind {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A statement and its values.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    dialect: Dialect,
    text: String,
    binds: Vec<Bind>,
    /// Where paths into JSON are bound.
    paths: Vec<usize>,
}

impl Statement {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, text: String::with_capacity(640), binds: Vec::new(), paths: Vec::new() }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Words of ours.
    pub(crate) fn push(&mut self, words: &'static str) -> &mut Self {
        self.text.push_str(words);
        self
    }

    /// An identifier.
    pub(crate) fn name(&mut self, name: &Name) -> &mut Self {
        self.text.push_str(&name.0);
        self
    }

    /// A trusted expression.
    pub(crate) fn fragment(&mut self, fragment: &Fragment) -> &mut Self {
        self.text.push_str(&fragment.0);
        self
    }

    /// A page size. It stands in the text, because planners look at it.
    pub(crate) fn count(&mut self, count: usize) -> &mut Self {
        let _ = write!(self.text, "{count}");
        self
    }

    /// A value.
    pub(crate) fn bind(&mut self, bind: Bind) -> &mut Self {
        self.binds.push(bind);
        let mark = match self.dialect {
            Dialect::Sqlite => '?',
            Dialect::Postgres => '$',
        };
        let _ = write!(self.text, "{mark}{}", self.binds.len());
        self
    }

    /// A path into JSON. The same path is bound once, so that an expression that holds it stays the same expression
    /// wherever it stands: PostgreSQL compares what is selected with what is grouped by.
    pub(crate) fn path(&mut self, path: String) -> &mut Self {
        let path = Bind::Text(path);
        let known = self.paths.iter().copied().find(|number| self.binds.get(number - 1) == Some(&path));
        match known {
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

    /// What was written from there on, to be written again into other statements. Not if values belong to it.
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
