//! The operator's options for reading a description.

use std::collections::BTreeMap;
use std::fmt;

use aquifer_protocol::glob::{Case, Patterns};
use serde_json::Value;

use super::DescriptionError;

/// Loads another document that a description refers to. Returns `None` if there is none.
pub type Loader<'a> = &'a dyn Fn(&str) -> Option<Value>;

/// The operator's options for reading a description.
#[derive(Clone, Default)]
pub struct ReadOptions<'a> {
    /// The name of the source.
    pub source: String,
    /// The prefix of environment variables with credentials, if it is not the name of the source. A name that comes
    /// from the description itself must not choose which credentials are sent to it.
    pub variable_prefix: Option<String>,
    /// Globs that select operations by name, by `/path`, by `METHOD /path` or by tag. Empty for all.
    pub include: Vec<String>,
    /// Globs that exclude operations, matched in the same way.
    pub exclude: Vec<String>,
    /// The URL of the description, to resolve relative URLs.
    pub url: Option<String>,
    /// Values of the variables in server URLs.
    pub server_variables: BTreeMap<String, String>,
    /// Loads the other documents that the description refers to.
    pub loader: Option<Loader<'a>>,
}

impl fmt::Debug for ReadOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOptions")
            .field("source", &self.source)
            .field("variable_prefix", &self.variable_prefix)
            .field("include", &self.include)
            .field("exclude", &self.exclude)
            .field("url", &self.url)
            .field("server_variables", &self.server_variables)
            .finish_non_exhaustive()
    }
}

/// Selects operations.
pub(super) struct Selection(Patterns);

impl Selection {
    pub(super) fn new(options: &ReadOptions<'_>) -> Result<Self, DescriptionError> {
        let excluded: Vec<String> = options.exclude.iter().map(|pattern| format!("!{pattern}")).collect();
        let all = options.include.iter().chain(&excluded).map(String::as_str);
        let mut problem = None;
        let patterns = Patterns::with_case(all, Case::Ignored, Case::Ignored, |message| {
            problem.get_or_insert(message);
        });
        match problem {
            Some(message) => Err(DescriptionError::Setting(message)),
            None => Ok(Self(patterns)),
        }
    }

    /// Whether the operation with this name, this method and path, and these tags is selected. A path has many
    /// equivalent spellings, so it is compared as written and as a server interprets it.
    pub(super) fn admits(&self, name: &str, method: &str, path: &str, tags: &[&str]) -> bool {
        if self.0.is_all() {
            return true;
        }
        let paths = [path.to_owned(), normalized(path)];
        let routes = paths.each_ref().map(|path| format!("{method} {path}"));
        let names = std::iter::once(name).chain(paths.iter().chain(&routes).map(String::as_str));
        self.0.admits_one_of(names.chain(tags.iter().copied()))
    }
}

/// A path as a server interprets it: without query, fragment, segment parameters, empty segments and unnecessary
/// escapes.
fn normalized(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut normalized = String::with_capacity(path.len() + 1);
    for segment in unescaped(path).split(['/', '\\']) {
        let segment = segment.split(';').next().unwrap_or_default();
        if !segment.is_empty() && segment != "." {
            normalized.push('/');
            normalized.push_str(segment);
        }
    }
    if normalized.is_empty() { "/".to_owned() } else { normalized }
}

/// The text with the escapes of visible ASCII characters decoded.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(u8::is_ascii_graphic) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push('%');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}
