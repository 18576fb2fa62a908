//! What the operator wants of a description.

use std::collections::BTreeMap;
use std::fmt;

use aquifer_protocol::glob::{Case, Patterns};
use serde_json::Value;

use super::DescriptionError;

/// Loads another document that a description refers to. `None` if there is none.
pub type Loader<'a> = &'a dyn Fn(&str) -> Option<Value>;

/// What the operator wants of a description.
#[derive(Clone, Default)]
pub struct ReadOptions<'a> {
    /// The name of the source.
    pub source: String,
    /// What the names of environment variables with credentials begin with, if not with the name of the source. A name
    /// that comes from the description itself must not choose which credentials are sent to it.
    pub variable_prefix: Option<String>,
    /// Globs that select operations by name, by `/path`, by `METHOD /path` or by tag. Empty for all.
    pub include: Vec<String>,
    /// Globs that leave operations out, by the same names.
    pub exclude: Vec<String>,
    /// Where the description was read, to resolve relative URLs.
    pub url: Option<String>,
    /// Values of the variables in the URLs of servers.
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

/// Which operations are wanted.
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

    /// Whether the operation with this name, this `METHOD /path` and these tags is wanted.
    pub(super) fn admits(&self, name: &str, route: &str, tags: &[&str]) -> bool {
        let path = route.split_once(' ').map(|(_, path)| path);
        self.0.is_all() || self.0.admits_one_of([name, route].into_iter().chain(path).chain(tags.iter().copied()))
    }
}
