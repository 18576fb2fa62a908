//! Replaces `${VAR}` and similar references in clients' configurations.

use super::{Server, ServerTransport};
use aquifer_protocol::case::snake_identifier;

use crate::redact::is_variable_name;

/// The values that references are replaced with.
pub struct Environment<'a> {
    /// The value of a variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The folder for `${workspaceFolder}`.
    pub folder: &'a str,
}

/// A reference that has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedReference {
    /// The text between the braces.
    pub reference: String,
    /// What to do about it.
    pub remedy: String,
}

impl std::fmt::Display for UnresolvedReference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it refers to ${{{}}}: {}", self.reference, self.remedy)
    }
}

impl Server {
    /// Replaces all references in the server's configuration.
    pub fn resolved(&self, environment: &Environment<'_>) -> Result<Self, UnresolvedReference> {
        let one = |text: &String| expand(text, environment);
        let optional = |text: &Option<String>| text.as_ref().map(one).transpose();
        let pairs = |all: &[(String, String)]| -> Result<Vec<(String, String)>, UnresolvedReference> {
            all.iter().map(|(name, value)| Ok((name.clone(), whole(value, environment)?))).collect()
        };
        let transport = match &self.transport {
            ServerTransport::Stdio { command, args, env, env_file, cwd } => ServerTransport::Stdio {
                command: one(command)?,
                args: args.iter().map(one).collect::<Result<_, _>>()?,
                env: pairs(env)?,
                env_file: optional(env_file)?,
                cwd: optional(cwd)?,
            },
            ServerTransport::Http { url, headers } => {
                ServerTransport::Http { url: whole(url, environment)?, headers: pairs(headers)? }
            }
        };
        Ok(Self { transport, ..self.clone() })
    }
}

/// Expands a value that may also be a bare `$NAME`, as one client writes it.
fn whole(text: &str, environment: &Environment<'_>) -> Result<String, UnresolvedReference> {
    match text.strip_prefix('$').filter(|name| is_variable_name(name)) {
        Some(name) => variable(name, name, environment),
        None => expand(text, environment),
    }
}

/// Replaces every `${…}` in the text: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, and editor variables.
pub fn expand(text: &str, environment: &Environment<'_>) -> Result<String, UnresolvedReference> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((reference, after)) = after.split_once('}') else {
            // Not a reference.
            expanded.push_str("${");
            rest = after;
            continue;
        };
        expanded.push_str(&value(reference, environment)?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn value(reference: &str, environment: &Environment<'_>) -> Result<String, UnresolvedReference> {
    let base = || environment.folder.rsplit('/').next().unwrap_or_default().to_owned();
    match reference {
        "workspaceFolder" | "workspaceRoot" => return Ok(environment.folder.to_owned()),
        "workspaceFolderBasename" => return Ok(base()),
        "userHome" => return variable("HOME", reference, environment),
        "pathSeparator" | "/" => return Ok("/".to_owned()),
        _ => {}
    }
    if let Some(id) = reference.strip_prefix("input:") {
        let name = snake_identifier(id).to_ascii_uppercase();
        return (environment.variable)(&name).ok_or_else(|| UnresolvedReference {
            reference: shown(reference),
            remedy: format!("the client asks a person for it. Set the environment variable {name} instead"),
        });
    }
    let name = reference.strip_prefix("env:").unwrap_or(reference);
    match name.split_once(":-") {
        Some((name, default)) => {
            let found = (environment.variable)(name).filter(|value| !value.is_empty());
            Ok(found.unwrap_or_else(|| default.to_owned()))
        }
        None => variable(name, reference, environment),
    }
}

fn variable(name: &str, reference: &str, environment: &Environment<'_>) -> Result<String, UnresolvedReference> {
    if !is_variable_name(name) {
        return Err(UnresolvedReference {
            reference: shown(reference),
            remedy: "this kind of reference is not supported".to_owned(),
        });
    }
    (environment.variable)(name).ok_or_else(|| UnresolvedReference {
        reference: shown(reference),
        remedy: format!("set the environment variable {name}"),
    })
}

fn shown(reference: &str) -> String {
    crate::problem::shown(reference)
}

/// Parses an environment file: `NAME=value` on separate lines, comments after `#`, optional quotes. Between double
/// quotes, `\n` is a line break, as in dotenv.
pub fn env_file(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
        let value = match (quoted('"'), quoted('\'')) {
            (Some(value), _) => value.replace("\\n", "\n"),
            (_, Some(value)) => value.to_owned(),
            (None, None) => value.to_owned(),
        };
        is_variable_name(name).then(|| (name.to_owned(), value))
    };
    text.lines().filter(|text| !text.trim_start().starts_with('#')).filter_map(line).collect()
}

/// What is wrong with a line of an environment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidEnvLine {
    /// It sets no variable, so it is ignored.
    NotAVariable,
    /// Its value begins with a quote that is not closed, which becomes part of the value.
    UnclosedQuote,
}

/// The lines of an environment file that do not mean what somebody wrote, with their numbers.
pub fn invalid_env_lines(text: &str) -> Vec<(usize, InvalidEnvLine)> {
    let problem = |line: &str| {
        if env_file(line).is_empty() {
            return Some(InvalidEnvLine::NotAVariable);
        }
        let (_, value) = line.split_once('=')?;
        let is_unclosed = |quote: char| value.trim().strip_prefix(quote).is_some_and(|rest| !rest.ends_with(quote));
        (is_unclosed('"') || is_unclosed('\'')).then_some(InvalidEnvLine::UnclosedQuote)
    };
    let is_meant = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines = text.lines().zip(1..).filter(|(line, _)| is_meant(line));
    lines.filter_map(|(line, number)| Some((number, problem(line)?))).collect()
}

/// The line of an environment file that sets a variable to this value. `None` if the format cannot represent the value.
pub fn env_line(name: &str, value: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@+=,%".contains(c);
    let written = if !value.is_empty() && value.chars().all(is_plain) {
        value.to_owned()
    } else if value.contains('\n') || value.contains('\'') {
        format!("\"{}\"", value.replace('\n', "\\n"))
    } else {
        format!("'{value}'")
    };
    let line = format!("{name}={written}");
    let is_faithful = matches!(env_file(&line).as_slice(), [(_, read)] if read == value);
    is_faithful.then_some(line)
}

#[cfg(test)]
mod tests {
    use super::InvalidEnvLine::{NotAVariable, UnclosedQuote};
    use super::{env_file, env_line, invalid_env_lines};

    #[test]
    fn lines_that_set_nothing_or_not_what_was_meant_are_found() {
        let text = "# A comment\n\nA=1\nexport B='x y'\nE=\nF=\"\"\ngarbage line\nC D=e\nQ=\"unterminated\nR='\nS=it's";
        let expected = [(7, NotAVariable), (8, NotAVariable), (9, UnclosedQuote), (10, UnclosedQuote)];
        assert_eq!(invalid_env_lines(text), expected);
    }

    #[test]
    fn env_lines_are_read_back() {
        for value in [
            "x",
            "",
            " a b ",
            "it's",
            "\"q\"",
            "'",
            "a#b",
            "p\\nq",
            "-----BEGIN\nKEY\n-----",
            "$HOME ${X}",
            "日本",
            "a=b",
        ] {
            let line = env_line("NAME", value).unwrap_or_default();
            assert_eq!(line.lines().count(), 1, "{line}");
            assert_eq!(env_file(&line), [("NAME".to_owned(), value.to_owned())], "{line}");
        }
        // A line break, and the two characters `\n`.
        assert_eq!(env_line("NAME", "a\nb\\nc"), None);
        assert_eq!(env_line("not a name", "x"), None);
    }
}
