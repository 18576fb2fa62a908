//! Builds the settings of an MCP server from the configuration, a client's file or an adapter.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use aquifer_discovery::adapter::{AdapterAuth, KeyPlace, Target};
use aquifer_discovery::servers::{Environment, Server, ServerTransport, env_file};
use aquifer_discovery::{Adapter, DefinitionLimits, Overrides};
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::trust::Trust;
use aquifer_upstream::{AllowedRequests, BearerToken, Settings, Transport};

use super::super::{InvalidSource, Kind, Origin, Plan, adapter_file, naming, trust};
use crate::config::{AllowedRequest, SourceConfig, StateConfig, TrustSetting};
use crate::state::StateFiles;

/// Plans a server that the configuration or the command line describes.
pub(in crate::sources) fn plan(source: &SourceConfig, state_files: &StateFiles) -> Result<Plan, InvalidSource> {
    let name = source.name.clone().unwrap_or_else(|| default_name(source));
    try_plan(source, &name, state_files).map_err(|why| InvalidSource { name, why })
}

fn try_plan(source: &SourceConfig, name: &str, state_files: &StateFiles) -> Result<Plan, String> {
    let mut files = Vec::new();
    let adapter = match &source.adapter {
        Some(file) => {
            let (adapter, texts) = adapter_file::read(file)?;
            files.extend(texts);
            Some(adapter)
        }
        None => None,
    };
    let transport = match (&source.command, &source.url, &adapter) {
        (Some(_), Some(_), _) => return Err("it has both a command and a url".to_owned()),
        (Some(command), None, _) => started(source, command)?,
        (None, Some(url), adapter) => http_transport(source, &expand(source, url)?, adapter.as_ref())?,
        (None, None, Some(adapter)) => adapter_transport(source, adapter)?,
        (None, None, None) => return Err("it has neither a command nor a url".to_owned()),
    };
    let name = match (&source.name, &adapter) {
        (None, Some(adapter)) => adapter.name.clone(),
        _ => name.to_owned(),
    };
    let recorded = adapter.as_ref().and_then(|_| state_files.recorded_trust(files.iter().map(String::as_str)));
    let trust = trust::resolve(source.trust, adapter.as_ref(), recorded)?;
    let mut settings = Settings::new(&name, transport);
    if let Some(max) = adapter.as_ref().and_then(|adapter| adapter.rate_limits.max_concurrent) {
        settings.concurrency = max;
    }
    settings.adapter = adapter;
    // A level that the file itself claims does not count as the operator's decision.
    let level = match source.trust {
        Some(TrustSetting::Level(level)) => Some(level),
        Some(TrustSetting::File) => None,
        None => recorded.map(|level| level.min(trust)),
    };
    settings.is_adapter_settled = level.is_some_and(|level| level >= Trust::Accepted);
    finish(&mut settings, source, state_files, &mut files)?;
    let origin = Origin { config: source.clone(), server: None, files };
    let kind = Kind::Upstream(Box::new(settings));
    let (prefix, state) = (source.prefix.clone(), StateConfig::default());
    Ok(Plan { name, prefix, hidden: Vec::new(), trust, origin, kind, state })
}

/// Plans a server from a client's file.
pub(in crate::sources) fn of_client(
    server: &Server,
    file: &str,
    environment: &Environment<'_>,
    source: &SourceConfig,
    state_files: &StateFiles,
) -> Result<Plan, InvalidSource> {
    let broken =
        |why: String| InvalidSource { name: server.name.clone(), why: format!("{file}:{}: {why}", server.line) };
    if let Some(problem) = naming::problem(&server.name) {
        return Err(broken(problem));
    }
    let resolved = server.resolved(environment).map_err(|unresolved| broken(unresolved.to_string()))?;
    let transport = match &resolved.transport {
        ServerTransport::Stdio { command, args, env, env_file: more, cwd } => {
            let mut all = match more {
                Some(more) => {
                    let text = crate::files::read(&Path::new(environment.folder).join(more));
                    env_file(&text.map_err(|error| broken(format!("cannot read its envFile: {error}")))?)
                }
                None => Vec::new(),
            };
            // Variables in the file itself take precedence.
            all.retain(|(name, _)| !env.iter().any(|(known, _)| known == name));
            all.extend(env.iter().cloned());
            Transport::Stdio {
                command: command.clone(),
                args: args.clone(),
                env: all,
                cwd: cwd.as_ref().map(Into::into),
            }
        }
        ServerTransport::Http { url, headers } => {
            Transport::Http { url: url.clone(), headers: headers.clone(), bearer: None }
        }
    };
    let mut settings = Settings::new(&server.name, transport);
    settings.named_in = Some(super::pins::identify(Some(Path::new(file))));
    let mut files = Vec::new();
    finish(&mut settings, source, state_files, &mut files).map_err(broken)?;
    let trust = trust::resolve(source.trust, None, None).map_err(broken)?;
    if let (Some(timeout), None) = (resolved.timeout, source.timeout_seconds) {
        settings.timeout = timeout;
    }
    Ok(Plan {
        name: server.name.clone(),
        prefix: None,
        hidden: resolved.hidden_tools.clone(),
        trust,
        origin: Origin { config: source.clone(), server: Some(resolved), files },
        kind: Kind::Upstream(Box::new(settings)),
        state: StateConfig::default(),
    })
}

/// Applies the settings that all kinds of servers share.
fn finish(
    settings: &mut Settings,
    source: &SourceConfig,
    state_files: &StateFiles,
    files: &mut Vec<String>,
) -> Result<(), String> {
    refuse_recursion(&settings.transport)?;
    if let Some((_, problem)) = source.unused_patterns() {
        return Err(problem.to_owned());
    }
    let seconds = |name: &str, value: Option<u64>, default: Duration| match value {
        Some(0) => Err(format!("{name} must be at least 1")),
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => Ok(default),
    };
    settings.timeout = seconds("timeout_seconds", source.timeout_seconds, settings.timeout)?;
    settings.start_timeout = seconds("start_timeout_seconds", source.start_timeout_seconds, settings.start_timeout)?;
    settings.concurrency = source.max_concurrent_calls.unwrap_or(settings.concurrency).clamp(1, 10_000);
    settings.max_answer_bytes = source.max_answer_bytes.unwrap_or(settings.max_answer_bytes).max(1024);
    settings.cache_dir = state_files.catalogs();
    settings.limits = limits(source)?;
    settings.allow = AllowedRequests {
        elicitation: source.allow.contains(&AllowedRequest::Elicitation),
        sampling: source.allow.contains(&AllowedRequest::Sampling),
    };
    shaped(settings, source)?;
    if let Some(file) = &source.overrides {
        let shown = file.display();
        let text = crate::files::read(file).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let overrides = Overrides::read(&text);
        let first = |problems: Vec<aquifer_discovery::FileProblem>| {
            format!("{shown}:{}", problems.first().map(ToString::to_string).unwrap_or_default())
        };
        settings.overrides = Some(overrides.map_err(first)?);
        files.push(text);
    }
    Ok(())
}

/// The limits of a server's definitions.
fn limits(source: &SourceConfig) -> Result<DefinitionLimits, String> {
    let default = DefinitionLimits::default();
    let limit = |name: &str, value: Option<usize>, default: usize, range: RangeInclusive<usize>| match value {
        Some(value) if !range.contains(&value) => {
            Err(format!("{name} is {value}; it must be from {} to {}", range.start(), range.end()))
        }
        value => Ok(value.unwrap_or(default)),
    };
    Ok(DefinitionLimits {
        max_tools: limit("max_tools", source.max_tools, default.max_tools, DefinitionLimits::TOOLS)?,
        max_tool_bytes: limit(
            "max_tool_bytes",
            source.max_tool_bytes,
            default.max_tool_bytes,
            DefinitionLimits::TOOL_BYTES,
        )?,
        max_schema_nodes: limit(
            "max_schema_nodes",
            source.max_schema_nodes,
            default.max_schema_nodes,
            DefinitionLimits::SCHEMA_NODES,
        )?,
    })
}

/// Applies the settings for shaping results, by the name of an operation or of its tool.
fn shaped(settings: &mut Settings, source: &SourceConfig) -> Result<(), String> {
    settings.controls = source.controls.map_or(settings.controls, Into::into);
    for (name, overrides) in &source.operations {
        if let Some(problem) = overrides.problem() {
            return Err(format!("operation '{name}': {problem}"));
        }
        let operation = snake_identifier(name);
        settings.rows.extend(overrides.rows.clone().map(|rows| (operation.clone(), rows)));
        settings.safety_overrides.extend(overrides.safety().map(|said| (operation.clone(), said)));
        settings.operation_controls.extend(overrides.controls.map(|controls| (operation, controls.into())));
    }
    Ok(())
}

/// Refuses a server that leads back to this process, before anything is started.
fn refuse_recursion(transport: &Transport) -> Result<(), String> {
    match aquifer_upstream::recursion(transport) {
        Some(recursion) => Err(format!("it cannot be started: {recursion}. {}", recursion.advice())),
        None => Ok(()),
    }
}

fn started(source: &SourceConfig, command: &str) -> Result<Transport, String> {
    let env = source.env.iter().map(|(name, value)| Ok((name.clone(), expand(source, value)?)));
    Ok(Transport::Stdio {
        command: expand(source, command)?,
        args: source.args.iter().map(|word| expand(source, word)).collect::<Result<_, _>>()?,
        env: env.collect::<Result<_, String>>()?,
        cwd: source.cwd.clone(),
    })
}

fn http_transport(source: &SourceConfig, url: &str, adapter: Option<&Adapter>) -> Result<Transport, String> {
    let headers = source.headers.iter().map(|(name, value)| Ok((name.clone(), expand(source, value)?)));
    let mut headers: Vec<(String, String)> = headers.collect::<Result<_, String>>()?;
    let mut bearer = match &source.bearer_env {
        Some(env) => Some(BearerToken { token: variable(source, env)?, env: Some(env.clone()) }),
        None => None,
    };
    if bearer.is_none() && headers.is_empty() {
        match adapter.map(|adapter| &adapter.auth) {
            Some(AdapterAuth::Bearer { token_env: Some(env), header, prefix }) => {
                let token = variable(source, env)?;
                if header.eq_ignore_ascii_case("authorization") && prefix == "Bearer " {
                    bearer = Some(BearerToken { token, env: Some(env.clone()) });
                } else {
                    headers.push((header.clone(), format!("{prefix}{token}")));
                }
            }
            Some(AdapterAuth::ApiKey { key_env: Some(env), header, place: KeyPlace::Header }) => {
                headers.push((header.clone(), variable(source, env)?))
            }
            _ => {}
        }
    }
    Ok(Transport::Http { url: url.to_owned(), headers, bearer })
}

fn adapter_transport(source: &SourceConfig, adapter: &Adapter) -> Result<Transport, String> {
    match &adapter.target {
        Target::McpHttp { url } => http_transport(source, url, Some(adapter)),
        Target::McpStdio { name } => Err(format!(
            "its MCP server '{name}' is started by a command, which the file does not contain. Give the command after --, or \
             as 'command' beside 'adapter' in the configuration"
        )),
        Target::Rest { .. } => Err("its target is a REST API, which this version does not serve".to_owned()),
    }
}

fn default_name(source: &SourceConfig) -> String {
    match (&source.command, &source.url, &source.adapter) {
        (Some(command), _, _) => {
            let words: Vec<String> = [std::slice::from_ref(command), &source.args].concat();
            naming::name_from_command(&words)
        }
        (_, Some(url), _) => naming::name_from_url(url),
        (_, _, Some(file)) => {
            let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            stem.strip_suffix("-adapter").unwrap_or(&stem).to_owned()
        }
        _ => "mcp".to_owned(),
    }
}

fn expand(source: &SourceConfig, text: &str) -> Result<String, String> {
    source.variables.expand(text).map_err(|error| error.to_string())
}

fn variable(source: &SourceConfig, name: &str) -> Result<String, String> {
    let value = source.variables.get(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| format!("set the environment variable {name}, which holds its credential"))
}
