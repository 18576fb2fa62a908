//! Finds the tool that an argument refers to. Servers choose the names of their tools, so an ambiguous argument is
//! refused, and the commands that a review prints contain the digest of the definition.

use std::collections::HashMap;

use anyhow::bail;
use aquifer_discovery::{Bundle, escape_name};
use aquifer_upstream::Finding;

/// Minimum number of digits of a digest on the command line.
const MIN_DIGITS: usize = 16;

/// A tool that the command line refers to.
#[derive(Debug)]
pub(super) struct SelectedTool {
    /// Its exact name.
    pub(super) tool: String,
    /// Whether the argument contains a digest. It is then that of the current definition.
    pub(super) has_digest: bool,
}

/// Finds the tool that an argument refers to by the name of the tool or of its operation, optionally with `@` and the
/// beginning of a digest. `None` if there is no such tool.
pub(super) fn select_tool(bundle: &Bundle, findings: &[Finding], word: &str) -> anyhow::Result<Option<SelectedTool>> {
    let shown = escape_name(word);
    let whole = tools_named(bundle, findings, word);
    let split = split(word).map(|(name, digest)| (name, tools_named(bundle, findings, name), digest));
    match (whole.as_slice(), split.filter(|(_, tools, _)| !tools.is_empty())) {
        ([], None) => Ok(None),
        ([one], None) => Ok(Some(SelectedTool { tool: one.clone(), has_digest: false })),
        (_, None) => bail!(
            "several tools or their operations are called '{shown}'. Add @ and the digest of the definition, as printed by \
             aquifer review"
        ),
        ([], Some((_, _, digest))) if digest.len() < MIN_DIGITS => {
            bail!("the digest in '{shown}' is too short: use at least {MIN_DIGITS} digits")
        }
        ([], Some((name, tools, digest))) => {
            let digests: HashMap<String, String> =
                bundle.pins().into_iter().map(|pin| (pin.tool, pin.digest)).collect();
            let is_meant = |tool: &&String| digests.get(*tool).is_some_and(|known| plain(known).starts_with(digest));
            let meant: Vec<&String> = tools.iter().filter(is_meant).collect();
            match meant.as_slice() {
                [] => bail!("the definition of '{}' no longer has this digest. Review it again", escape_name(name)),
                [one] => Ok(Some(SelectedTool { tool: (*one).clone(), has_digest: true })),
                _ => bail!("several tools are called '{shown}' and have the same definition"),
            }
        }
        (_, Some(_)) => {
            bail!("'{shown}' is the name of a tool and could also mean a definition of another. Add more of the digest")
        }
    }
}

/// The shortest argument that refers to exactly this definition and is not the name of another tool.
pub(super) fn word_for(bundle: &Bundle, finding: &Finding) -> String {
    let digest = plain(&finding.digest);
    let word = |digits: usize| {
        let digits: String = digest.chars().take(digits).collect();
        format!("{}@{digits}", escape_name(&finding.tool))
    };
    let is_free = |word: &String| tools_named(bundle, &[], word).is_empty();
    (MIN_DIGITS..=digest.len()).map(word).find(is_free).unwrap_or_else(|| word(digest.len()))
}

/// The tools with this name or with an operation of this name.
fn tools_named(bundle: &Bundle, findings: &[Finding], name: &str) -> Vec<String> {
    let made = bundle.normalized_bundle.operations.iter();
    let made = made.map(|made| (&made.source_tool_name, &made.operation_name));
    let quarantined = findings.iter().map(|finding| (&finding.tool, &finding.operation));
    let is_named =
        |(tool, operation): &(&String, &String)| *tool == name || *operation == name || escape_name(tool) == name;
    let mut tools: Vec<String> = made.chain(quarantined).filter(is_named).map(|(tool, _)| tool.clone()).collect();
    tools.sort_unstable();
    tools.dedup();
    tools
}

fn split(word: &str) -> Option<(&str, &str)> {
    let (name, digest) = word.rsplit_once('@')?;
    let digest = plain(digest);
    (!digest.is_empty() && digest.chars().all(|digit| digit.is_ascii_hexdigit())).then_some((name, digest))
}

fn plain(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}
