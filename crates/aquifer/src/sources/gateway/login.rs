//! Logins to remote MCP servers: where they are stored, and the command that a person runs to log in.

use std::path::Path;

use aquifer_discovery::redact;
use aquifer_upstream::{LoginSettings, Settings, Transport};

use super::super::{Kind, Plan, Plans};
use crate::state::StateFiles;
use crate::system::quoted;

impl Plans {
    /// Enables logins for every remote server that has no token or header configured. `config` is the file that the
    /// login command names.
    pub(crate) fn log_in(&mut self, config: Option<&Path>, state_files: &StateFiles) {
        let Some(folder) = state_files.logins() else { return };
        let is_configured = self.is_configured;
        for plan in &mut self.plans {
            let command = |shown: fn(&Path) -> String| command(plan, is_configured, config, shown);
            let (brief, full) = (command(name_only), command(|path| path.display().to_string()));
            let configured = plan.origin.config.login.clone().unwrap_or_default();
            let variables = &plan.origin.config.variables;
            let Kind::Upstream(settings) = &mut plan.kind else { continue };
            if !is_open(settings) {
                continue;
            }
            settings.login = Some(LoginSettings {
                folder: folder.clone(),
                command: brief,
                command_in_full: full,
                client_id: configured.client_id,
                client_secret: configured.client_secret_env.and_then(|name| variables.get(&name)),
                issuer: configured.issuer,
                client_document: configured.client_document,
                scopes: configured.scopes,
                port: configured.port,
            });
        }
    }
}

/// Whether no credential is configured that a login would conflict with.
fn is_open(settings: &Settings) -> bool {
    match &settings.transport {
        Transport::Http { headers, bearer, .. } => {
            bearer.is_none() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
        }
        Transport::Stdio { .. } => false,
    }
}

/// The command that a person runs to log in, with the server as it was named.
fn command(plan: &Plan, is_configured: bool, config: Option<&Path>, shown: fn(&Path) -> String) -> String {
    let mut words = vec!["aquifer".to_owned(), "login".to_owned()];
    let origin = &plan.origin;
    match (is_configured, &origin.server, plan.upstream().map(|settings| &settings.transport)) {
        (true, _, _) => words.push(plan.name.clone()),
        (false, Some(server), _) => {
            let file = origin.config.target.as_deref().unwrap_or_default();
            words.extend([shown(Path::new(file)), "--server".to_owned(), server.name.clone()]);
        }
        (false, None, Some(Transport::Http { url, .. })) => words.push(redact::url(url)),
        (false, None, _) => words.push(plan.name.clone()),
    }
    if let Some(path) = config {
        words.extend(["--config".to_owned(), shown(path)]);
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn name_only(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
