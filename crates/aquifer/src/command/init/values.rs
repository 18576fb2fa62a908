//! Values that are kept out of the configuration, which contains a reference `${NAME}` instead of each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use aquifer_protocol::case::snake_identifier;

/// A variable that the configuration refers to, and its value if known.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) server: String,
    /// The client's file, and the position of the value in the server's entry.
    pub(super) file: PathBuf,
    pub(super) place: String,
    pub(super) value: VariableValue,
    /// The servers that use it, and the client files that contain these servers.
    servers: Vec<String>,
    files: Vec<PathBuf>,
}

impl Variable {
    /// Whether a server of this client's file needs it.
    pub(super) fn is_used_in(&self, file: &Path) -> bool {
        self.files.iter().any(|known| known == file)
    }
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum VariableValue {
    /// It goes into the env file.
    Stored(String),
    /// The client's file has a placeholder.
    Unfilled,
    /// The client asks a person for it and passes it on.
    Input { id: String, description: Option<String> },
}

/// All variables, each under a unique name.
#[derive(Default)]
pub(super) struct Variables {
    /// Names of environment variables that servers refer to. They must not be reused.
    reserved: BTreeSet<String>,
    pub(super) all: Vec<Variable>,
    server: String,
    file: PathBuf,
}

impl Variables {
    pub(super) fn new(reserved: BTreeSet<String>) -> Self {
        Self { reserved, ..Self::default() }
    }

    /// Sets the server whose values come next.
    pub(super) fn start_server(&mut self, server: &str, file: &Path) {
        server.clone_into(&mut self.server);
        file.clone_into(&mut self.file);
    }

    /// The name of the variable for this value: the wanted name, unless it is taken by another value.
    pub(super) fn allocate(&mut self, wanted: &str, value: VariableValue, place: &str) -> String {
        let wanted = variable_name(wanted);
        let own = format!("{}_{wanted}", upper(&self.server));
        let numbered = (2..).map(|number| format!("{own}_{number}"));
        for name in [wanted, own.clone()].into_iter().chain(numbered) {
            if self.reserved.contains(&name) {
                continue;
            }
            let (server, file) = (self.server.clone(), self.file.clone());
            match self.all.iter().position(|variable| variable.name == name) {
                Some(index) => {
                    let is_same = self.all.get(index).is_some_and(|variable| self.is_same(variable, &value));
                    if let (true, Some(variable)) = (is_same, self.all.get_mut(index)) {
                        variable.servers.push(server);
                        variable.files.push(file);
                        return name;
                    }
                }
                None => {
                    let (servers, files) = (vec![server.clone()], vec![file.clone()]);
                    let place = place.to_owned();
                    self.all.push(Variable { name: name.clone(), server, file, place, value, servers, files });
                    return name;
                }
            }
        }
        own
    }

    /// Records that another client's file contains a known server.
    pub(super) fn add_file(&mut self, server: &str, file: &Path) {
        for variable in self.all.iter_mut().filter(|variable| variable.servers.iter().any(|user| user == server)) {
            variable.files.push(file.to_owned());
        }
    }

    fn is_same(&self, variable: &Variable, value: &VariableValue) -> bool {
        match value {
            // Inputs of two files are separate, even if they have the same id.
            VariableValue::Input { id, .. } => {
                variable.file == self.file
                    && matches!(&variable.value, VariableValue::Input { id: other, .. } if other == id)
            }
            VariableValue::Stored(_) | VariableValue::Unfilled => variable.value == *value,
        }
    }
}

/// Converts text to a valid variable name.
fn variable_name(text: &str) -> String {
    let is_usable = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_usable {
        true => text.to_owned(),
        false => Some(upper(text)).filter(|name| !name.is_empty()).unwrap_or_else(|| "VALUE".to_owned()),
    }
}

pub(super) fn upper(name: &str) -> String {
    snake_identifier(name).to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_never_holds_two_values() {
        let mut variables = Variables::new(BTreeSet::from(["SHARED".to_owned()]));
        let stored = |value: &str| VariableValue::Stored(value.to_owned());
        let input = |id: &str| VariableValue::Input { id: id.to_owned(), description: None };
        let mut allocate = |server: &str, file: &str, wanted: &str, value: VariableValue| {
            variables.start_server(server, Path::new(file));
            variables.allocate(wanted, value, "env")
        };
        for (server, file, wanted, value, expected) in [
            ("one", "a", "TOKEN", stored("1"), "TOKEN"),
            ("two", "a", "TOKEN", stored("1"), "TOKEN"),
            ("two", "a", "TOKEN", stored("2"), "TWO_TOKEN"),
            ("two", "b", "TOKEN", stored("3"), "TWO_TOKEN_2"),
            ("one", "a", "SHARED", stored("1"), "ONE_SHARED"),
            ("one", "a", "KEY", VariableValue::Unfilled, "KEY"),
            ("two", "b", "KEY", VariableValue::Unfilled, "KEY"),
            ("two", "b", "KEY", input("key"), "TWO_KEY"),
            ("one", "a", "ID", input("id"), "ID"),
            ("two", "a", "ID", input("id"), "ID"),
            ("two", "b", "ID", input("id"), "TWO_ID"),
            ("one", "a", "not.a-name", stored("1"), "NOT_A_NAME"),
            ("one", "a", "", stored("1"), "VALUE"),
        ] {
            assert_eq!(allocate(server, file, wanted, value), expected, "{server} {file} {wanted}");
        }
    }
}
