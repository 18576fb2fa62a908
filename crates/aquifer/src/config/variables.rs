//! Resolves `${NAME}` in a configuration from its `env_file`, otherwise from the environment.
//!
//! The file takes precedence. It was written for this configuration, and a variable of the same name that happens to be
//! set in a shell must not send another credential to a server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, bail};
use aquifer_discovery::servers::{InvalidEnvLine, env_file, invalid_env_lines};

use crate::system;

/// The maximum number of lines that a message names.
const MAX_NAMED_LINES: usize = 10;

/// Describes the lines of an `env_file` that do not mean what somebody wrote. Their text is secret.
pub(crate) fn describe_invalid_lines(text: &str) -> Option<String> {
    let invalid = invalid_env_lines(text);
    let lines = |wanted: InvalidEnvLine| {
        let numbers = invalid.iter().filter(|(_, problem)| *problem == wanted).map(|(line, _)| line.to_string());
        let numbers: Vec<String> = numbers.take(MAX_NAMED_LINES).collect();
        (!numbers.is_empty()).then(|| numbers.join(", "))
    };
    let ignored =
        lines(InvalidEnvLine::NotAVariable).map(|lines| format!("ignored, because it is not NAME=VALUE: line {lines}"));
    let unclosed = lines(InvalidEnvLine::UnclosedQuote)
        .map(|lines| format!("the quote is not closed, so it is part of the value: line {lines}"));
    let parts: Vec<String> = ignored.into_iter().chain(unclosed).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The variables of an `env_file`, on top of the process environment.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Variables {
    from_file: BTreeMap<String, String>,
}

impl Variables {
    /// Reads an `env_file`. Warns if other users can read it.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = crate::files::read(path).with_context(|| format!("cannot read the env_file {shown}"))?;
        if system::is_open_to_others(path) {
            let advice = system::private_file_advice(path);
            tracing::warn!("{shown} holds credentials, but other users can read it. {advice}");
        }
        if let Some(message) = describe_invalid_lines(&text) {
            tracing::warn!("{shown}: {message}");
        }
        Ok(Self { from_file: env_file(&text).into_iter().collect() })
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.from_file.get(name).cloned().or_else(|| system::variable(name))
    }

    /// Keeps only the variables that occur in one of the texts, so that changes of other variables have no effect.
    pub(super) fn referenced_by<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> Self {
        let texts: Vec<&str> = texts.into_iter().collect();
        let is_named = |name: &str| texts.iter().any(|text| text.contains(name));
        let named = self.from_file.iter().filter(|(name, _)| is_named(name));
        Self { from_file: named.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    /// Expands references: `${VAR}` to the value of the variable, `${VAR:-default}` to the default if it is not set.
    /// `$${` is a literal `${`.
    pub(crate) fn expand(&self, text: &str) -> anyhow::Result<String> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            if let Some(before) = before.strip_suffix('$') {
                expanded.push_str(before);
                expanded.push_str("${");
                rest = after;
                continue;
            }
            let Some((reference, after)) = after.split_once('}') else {
                bail!("'${{' without '}}' in the configuration");
            };
            let (name, default) = reference.split_once(":-").map_or((reference, None), |(name, or)| (name, Some(or)));
            let value = self.get(name).or_else(|| default.map(str::to_owned));
            let value = value.with_context(|| {
                format!("the configuration refers to ${{{name}}}, which is not set in the environment or an env_file")
            })?;
            expanded.push_str(before);
            expanded.push_str(&value);
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}

impl Variables {
    /// The values of the variables that a text refers to. Defaults are not included: they are in the configuration.
    pub(crate) fn values_in(&self, text: &str) -> Vec<String> {
        let references = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
        let names = references.map(|(reference, _)| reference.split(":-").next().unwrap_or(reference));
        names.filter_map(|name| self.get(name)).collect()
    }

    /// The variables that a text refers to without a default, and that are not set.
    pub(crate) fn unset_in(&self, text: &str) -> Vec<String> {
        // `$${` is a literal `${`.
        let text = text.replace("$${", "");
        let references = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
        let names = references.map(|(reference, _)| reference).filter(|reference| !reference.contains(":-"));
        names.filter(|name| self.get(name).is_none()).map(str::to_owned).collect()
    }
}

/// Shows only names, because values are credentials.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.from_file.keys()).finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        Variables { from_file: pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect() }
    }

    #[test]
    fn references_are_replaced_once() {
        let variables = variables(&[("A", "one"), ("B", "${A}"), ("HOME", "elsewhere")]);
        for (text, expected) in [
            ("plain", "plain"),
            ("x${A}y", "xoney"),
            ("${B}", "${A}"),
            ("$${A}", "${A}"),
            ("${AQUIFER_TEST_UNSET:-two}", "two"),
            ("${HOME}", "elsewhere"),
        ] {
            assert_eq!(variables.expand(text).unwrap(), expected, "{text}");
        }
        for text in ["${AQUIFER_TEST_UNSET}", "${A"] {
            variables.expand(text).unwrap_err();
        }
        assert_ne!(Variables::default().expand("${HOME}").unwrap(), "elsewhere");
    }

    #[test]
    fn r_res_4_debug_output_names_variables_and_shows_no_value() {
        let shown = format!("{:?}", variables(&[("TOKEN", "hunter2")]));
        assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn only_what_is_named_is_kept() {
        let all = variables(&[("A_TOKEN", "1"), ("B_TOKEN", "2")]);
        assert_eq!(all.referenced_by(["Bearer ${A_TOKEN}"]), variables(&[("A_TOKEN", "1")]));
        assert_eq!(all.referenced_by(["B_TOKEN", "${A_TOKEN:-x}"]), all);
        assert_eq!(all.referenced_by([]), Variables::default());
    }
}
