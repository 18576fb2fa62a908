//! Values that do not go into the configuration: it has a reference, `${NAME}`, in place of each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use aquifer_discovery::name::snake;

/// A variable that the configuration refers to, and what is known of its value.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) server: String,
    /// The client's file, and where in the server's entry the value stands.
    pub(super) file: PathBuf,
    pub(super) place: String,
    pub(super) held: Held,
}

/// What is known of a value.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Held {
    /// It goes into the env file.
    Stored(String),
    /// The client's file has a placeholder there: nobody has filled it in yet.
    Unfilled,
    /// The client asks a person for it, and passes it on.
    Input { id: String, description: Option<String> },
}

/// Every variable, each under a name that nothing else has.
#[derive(Default)]
pub(super) struct Variables {
    /// Names that servers refer to as variables of the environment. They stay the environment's.
    reserved: BTreeSet<String>,
    pub(super) all: Vec<Variable>,
    server: String,
    file: PathBuf,
}

impl Variables {
    pub(super) fn new(reserved: BTreeSet<String>) -> Self {
        Self { reserved, ..Self::default() }
    }

    /// Whose values come next.
    pub(super) fn begin(&mut self, server: &str, file: &Path) {
        server.clone_into(&mut self.server);
        file.clone_into(&mut self.file);
    }

    /// The name of the variable that holds this, which is the wanted one unless that holds something else.
    pub(super) fn allocate(&mut self, wanted: &str, held: Held, place: &str) -> String {
        let wanted = variable_name(wanted);
        let own = format!("{}_{wanted}", upper(&self.server));
        let numbered = (2..).map(|number| format!("{own}_{number}"));
        for name in [wanted, own.clone()].into_iter().chain(numbered) {
            if self.reserved.contains(&name) {
                continue;
            }
            match self.all.iter().find(|known| known.name == name) {
                Some(known) if !self.is_same(known, &held) => {}
                Some(_) => return name,
                None => {
                    let (server, file, place) = (self.server.clone(), self.file.clone(), place.to_owned());
                    self.all.push(Variable { name: name.clone(), server, file, place, held });
                    return name;
                }
            }
        }
        own
    }

    fn is_same(&self, known: &Variable, held: &Held) -> bool {
        match held {
            // Inputs of two files are asked for apart, whatever they are called.
            Held::Input { id, .. } => {
                known.file == self.file && matches!(&known.held, Held::Input { id: known, .. } if known == id)
            }
            Held::Stored(_) | Held::Unfilled => known.held == *held,
        }
    }
}

/// A name that a variable can have.
fn variable_name(text: &str) -> String {
    let is_usable = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_usable {
        true => text.to_owned(),
        false => Some(upper(text)).filter(|name| !name.is_empty()).unwrap_or_else(|| "VALUE".to_owned()),
    }
}

pub(super) fn upper(name: &str) -> String {
    snake(name).to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_never_holds_two_values() {
        let mut variables = Variables::new(BTreeSet::from(["SHARED".to_owned()]));
        let stored = |value: &str| Held::Stored(value.to_owned());
        let input = |id: &str| Held::Input { id: id.to_owned(), description: None };
        let mut allocate = |server: &str, file: &str, wanted: &str, held: Held| {
            variables.begin(server, Path::new(file));
            variables.allocate(wanted, held, "env")
        };
        for (server, file, wanted, held, expected) in [
            ("one", "a", "TOKEN", stored("1"), "TOKEN"),
            ("two", "a", "TOKEN", stored("1"), "TOKEN"),
            ("two", "a", "TOKEN", stored("2"), "TWO_TOKEN"),
            ("two", "b", "TOKEN", stored("3"), "TWO_TOKEN_2"),
            ("one", "a", "SHARED", stored("1"), "ONE_SHARED"),
            ("one", "a", "KEY", Held::Unfilled, "KEY"),
            ("two", "b", "KEY", Held::Unfilled, "KEY"),
            ("two", "b", "KEY", input("key"), "TWO_KEY"),
            ("one", "a", "ID", input("id"), "ID"),
            ("two", "a", "ID", input("id"), "ID"),
            ("two", "b", "ID", input("id"), "TWO_ID"),
            ("one", "a", "not.a-name", stored("1"), "NOT_A_NAME"),
            ("one", "a", "", stored("1"), "VALUE"),
        ] {
            assert_eq!(allocate(server, file, wanted, held), expected, "{server} {file} {wanted}");
        }
    }
}
