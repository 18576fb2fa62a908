//! Reads the configuration file of an MCP client. Each server in it becomes a source.

use std::path::Path;

use anyhow::{Context, bail};
use aquifer_discovery::Servers;
use aquifer_discovery::servers::{Environment, Server};
use serde_json::{Map, Value};

use super::{InvalidSource, Plans, gateway, is_aquifer};
use crate::config::SourceConfig;
use crate::state::StateFiles;

/// Plans all servers of the file that are not disabled.
pub(super) fn add(
    file: &str,
    source: &SourceConfig,
    state_files: &StateFiles,
    plans: &mut Plans,
) -> anyhow::Result<()> {
    let path = Path::new(file);
    let text = crate::files::read(path).with_context(|| format!("cannot read {file}"))?;
    let listed = match Servers::read(&text) {
        Ok(listed) => listed,
        Err(_) if is_api_description(&text) => {
            bail!("{file} is an OpenAPI description, not a list of MCP servers. Serve it as openapi:{file}")
        }
        Err(problems) => {
            let problems: Vec<String> = problems.iter().map(|problem| format!("{file}:{problem}")).collect();
            bail!("{}", problems.join("\n"));
        }
    };
    let wanted = |name: &str| source.servers.is_empty() || source.servers.iter().any(|one| one == name);
    for name in &source.servers {
        let is_named = |server: &Server| &server.name == name;
        if !listed.servers.iter().any(is_named) && !listed.invalid.iter().any(|broken| &broken.name == name) {
            let names: Vec<&str> = listed.servers.iter().map(|server| server.name.as_str()).collect();
            bail!("{file} has no server '{name}'. It has: {}", names.join(", "));
        }
    }
    plans.remarks.extend(listed.warnings.iter().map(|warning| format!("{file}:{warning}")));
    let extensions = listed.extensions.iter();
    plans.remarks.extend(extensions.map(|name| format!("{file}: skipping '{name}', which an extension of Zed starts")));
    for broken in listed.invalid.iter().filter(|broken| wanted(&broken.name)) {
        let why: Vec<String> = broken.problems.iter().map(|problem| format!("{file}:{problem}")).collect();
        plans.broken.push(InvalidSource { name: broken.name.clone(), why: why.join("; ") });
    }
    let folder = path.canonicalize().ok().and_then(|path| Some(path.parent()?.display().to_string()));
    let environment =
        Environment { variable: &|name| source.variables.get(name), folder: folder.as_deref().unwrap_or(".") };
    let used = listed.servers.iter().filter(|server| wanted(&server.name));
    for server in used.filter(|server| !server.disabled || source.servers.contains(&server.name)) {
        if is_aquifer(server) {
            plans.remarks.push(format!("{file}: skipping '{}', which is Aquifer itself", server.name));
            continue;
        }
        plans.push(gateway::of_client(server, file, &environment, source, state_files));
    }
    if plans.plans.is_empty() && plans.broken.is_empty() {
        bail!("{file} has no MCP server that is enabled");
    }
    Ok(())
}

/// Whether a file describes an HTTP API.
fn is_api_description(text: &str) -> bool {
    let parsed: Option<Map<String, Value>> = serde_json::from_str(text).ok();
    parsed.is_some_and(|members| members.contains_key("openapi") || members.contains_key("swagger"))
}
