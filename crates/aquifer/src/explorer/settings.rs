//! Shows the settings of this program: each value with its origin, and the problems of the configuration.

use std::path::Path;

use aquifer_discovery::{FileProblem, redact};
use aquifer_engine::Settings as EngineSettings;
use serde_json::{Map, Value, json};

use super::operator::OperatorContext;
use super::redacted_config::RedactedConfig;
use crate::config::{AuditSink, Config};
use crate::setup;
use crate::state::StoreSetting;
use crate::{reload, safety, state};

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueOrigin {
    Flag,
    Environment,
    File { line: u64 },
    Default,
}

struct Setting {
    key: String,
    value: Value,
    origin: ValueOrigin,
}

impl Setting {
    fn new(key: &str, value: impl Into<Value>, origin: ValueOrigin) -> Self {
        Self { key: key.to_owned(), value: value.into(), origin }
    }

    fn into_json(self) -> Value {
        let (origin, line) = match self.origin {
            ValueOrigin::Flag => ("flag", None),
            ValueOrigin::Environment => ("environment", None),
            ValueOrigin::File { line } => ("file", Some(line)),
            ValueOrigin::Default => ("default", None),
        };
        let mut shown = json!({ "key": self.key, "value": self.value, "origin": origin });
        if let (Some(shown), Some(line)) = (shown.as_object_mut(), line) {
            shown.insert("line".to_owned(), line.into());
        }
        shown
    }
}

/// Describes the settings for the page.
pub(super) fn describe(context: &OperatorContext) -> Value {
    let mut problems = Vec::new();
    let mut text = None;
    if let Some(path) = &context.path {
        match crate::files::read(path) {
            Ok(read) => {
                problems.extend(file_problems(context, path, &read));
                text = Some(read);
            }
            Err(error) => problems.push(problem(format!("The file cannot be read: {error}"), None, "error")),
        }
    }
    let redacted = text.as_deref().and_then(RedactedConfig::parse);
    let (shown, file) = match redacted {
        Some(RedactedConfig { text, values }) => (Some(text), values),
        None => (None, Vec::new()),
    };
    let file = file.into_iter().map(|one| Setting::new(&one.key, one.value, ValueOrigin::File { line: one.line }));
    let values: Vec<Value> = effective(context, file.collect()).into_iter().map(Setting::into_json).collect();
    json!({
        "config": { "path": context.path.as_ref().map(|path| path.display().to_string()), "text": shown },
        "values": values,
        "problems": problems,
        "state": state_place(&context.config),
        "audit": audit_place(&context.config),
    })
}

/// All values: flags override the environment, which overrides the file, which overrides defaults.
fn effective(context: &OperatorContext, file: Vec<Setting>) -> Vec<Setting> {
    let mut values = overriding(context);
    for setting in file.into_iter().chain(defaults(&context.config)) {
        if !values.iter().any(|known| known.key == setting.key) {
            values.push(setting);
        }
    }
    values
}

/// Values on the command line and in the environment.
fn overriding(context: &OperatorContext) -> Vec<Setting> {
    let mut values = Vec::new();
    let surface = &context.surface;
    for (key, flag, variable) in [
        ("surface.mode", &surface.mode, "MCP_AQL_ENDPOINT_MODE"),
        ("surface.profile", &surface.profile, "MCP_AQL_ENDPOINT_PROFILE"),
        ("surface.prefix", &surface.prefix, "MCP_AQL_TOOL_PREFIX"),
    ] {
        let environment = std::env::var(variable).ok().filter(|value| !value.is_empty());
        match (flag, environment) {
            (Some(flag), _) => values.push(Setting::new(key, flag.as_str(), ValueOrigin::Flag)),
            (None, Some(value)) => values.push(Setting::new(key, value, ValueOrigin::Environment)),
            (None, None) => {}
        }
    }
    if let Some(address) = context.http {
        values.push(Setting::new("http.address", address.to_string(), ValueOrigin::Flag));
    }
    if !context.targets.is_empty() {
        let targets: Vec<String> = context.targets.iter().map(|target| redact::url(target)).collect();
        values.push(Setting::new("source", targets, ValueOrigin::Flag));
    }
    let upstream = &context.upstream;
    if !upstream.command.is_empty() {
        values.push(Setting::new("source.command", redact::arguments(&upstream.command), ValueOrigin::Flag));
    }
    if upstream.read_only {
        values.push(Setting::new("source.read_only", true, ValueOrigin::Flag));
    }
    values
}

/// The defaults of the settings that matter most.
fn defaults(config: &Config) -> Vec<Setting> {
    let limits = config.limits.limits();
    let audit = &config.audit;
    let path = |path: Option<std::path::PathBuf>| path.map(|path| path.display().to_string());
    let all: [(&str, Value); 19] = [
        ("surface.mode", "semantic".into()),
        ("surface.profile", "crude".into()),
        ("surface.prefix", "".into()),
        ("batch.max_operations", EngineSettings::default().max_batch_size.into()),
        ("batch.on_confirmation", "halt".into()),
        ("batch.timeout_seconds", EngineSettings::default().batch_timeout.as_secs().into()),
        ("limits.max_request_size", limits.max_request_size.into()),
        ("limits.max_response_size", limits.max_response_size.into()),
        ("limits.max_string_length", limits.max_string_length.into()),
        ("limits.max_array_elements", limits.max_array_elements.into()),
        ("limits.max_nesting_depth", limits.max_nesting_depth.into()),
        ("gate.quarantine", "changed".into()),
        ("state.dir", path(state::directory_of(&config.state)).into()),
        ("audit.dir", path(safety::audit_directory(config)).into()),
        ("audit.max_file_bytes", audit.max_file_bytes.into()),
        ("audit.max_files", audit.max_files.into()),
        ("audit.required", audit.required.into()),
        ("lenient", config.lenient.into()),
        ("meta", config.meta.into()),
    ];
    all.into_iter().map(|(key, value)| Setting::new(key, value, ValueOrigin::Default)).collect()
}

/// The problems of the file, rules without effect, and what is not in effect yet.
fn file_problems(context: &OperatorContext, path: &Path, text: &str) -> Vec<Value> {
    let found = setup::configuration_problems(text);
    let mut problems: Vec<Value> = found.iter().map(|found| file_problem(found, "error")).collect();
    if !found.is_empty() {
        return problems;
    }
    let config = match Config::from_file_text(path, text) {
        Ok(config) => config,
        Err(error) => {
            problems.push(problem(format!("{error:#}"), None, "error"));
            return problems;
        }
    };
    let (unknown, planned) = plan_problems(context, &config);
    problems.extend(planned);
    let unused = safety::find_unused(&context.engine, &context.safety.gate_in_force(), &unknown);
    let unused = unused.iter().map(|unused| setup::unused_rule_problem(unused, text));
    problems.extend(unused.map(|unused| file_problem(&unused, "warning")));
    let waiting = reload::sections_to_restart(&config, &context.config);
    if !waiting.is_empty() {
        let message = format!("The file has changed in {waiting}, which takes effect after a restart");
        problems.push(problem(message, None, "warning"));
    }
    problems
}

/// The sources whose operations are not known, and why sources cannot be served.
fn plan_problems(context: &OperatorContext, config: &Config) -> (Vec<String>, Vec<Value>) {
    let plans = match context.selection(config).plan() {
        Ok(plans) => plans,
        Err(error) => return (Vec::new(), vec![problem(format!("{error:#}"), None, "error")]),
    };
    let snapshot = context.engine.snapshot();
    let is_served = |name: &String| {
        let catalogs = [snapshot.catalog(), snapshot.unlisted()];
        catalogs.iter().any(|catalog| catalog.sources().iter().any(|known| **known == **name))
    };
    let broken = plans.broken.iter().map(|broken| broken.name.clone());
    let unknown = plans.plans.iter().map(|plan| plan.name.clone()).chain(broken).filter(|name| !is_served(name));
    let invalid = plans.broken.iter().map(|broken| {
        let message = format!("Source '{}' cannot be served: {}", broken.name, broken.why);
        problem(message, None, "error")
    });
    let remarks = plans.remarks.iter().map(|remark| problem(remark.clone(), None, "warning"));
    (unknown.collect(), invalid.chain(remarks).collect())
}

fn file_problem(found: &FileProblem, severity: &str) -> Value {
    let suggestion = found.suggestion.as_ref().map(|words| format!(". {words}")).unwrap_or_default();
    problem(format!("{}{suggestion}", found.message), Some(found.line), severity)
}

/// Messages may quote names from files and servers.
fn problem(message: String, line: Option<u64>, severity: &str) -> Value {
    let message = aquifer_protocol::secrets::redact(&message).into_owned();
    let mut shown = Map::from_iter([("message".to_owned(), message.into()), ("severity".to_owned(), severity.into())]);
    shown.extend(line.map(|line| ("line".to_owned(), line.into())));
    Value::Object(shown)
}

/// Where state is kept.
fn state_place(config: &Config) -> Value {
    let directory = state::directory_of(&config.state);
    let in_directory = || directory.as_ref().map(|directory| directory.join("state.sqlite").display().to_string());
    let store = match StoreSetting::parse(&config.state) {
        Ok(Some(StoreSetting::Memory)) => Some("memory".to_owned()),
        Ok(Some(StoreSetting::Redis(url))) => Some(redact::url(&url)),
        Ok(Some(StoreSetting::File(Some(file)))) => Some(file.display().to_string()),
        Ok(Some(StoreSetting::File(None)) | None) => in_directory(),
        Err(_) => None,
    };
    json!({ "store": store, "directory": directory.map(|directory| directory.display().to_string()) })
}

/// Where the audit log is written.
fn audit_place(config: &Config) -> Value {
    let audit = &config.audit;
    let sinks = audit.to.clone().unwrap_or_else(|| vec![AuditSink::File]);
    let names = sinks.iter().map(|sink| match sink {
        AuditSink::File => "file",
        AuditSink::Stderr => "stderr",
        AuditSink::Store => "store",
    });
    let directory = safety::audit_directory(config).filter(|_| sinks.contains(&AuditSink::File));
    json!({
        "to": names.collect::<Vec<_>>(),
        "directory": directory.map(|directory| directory.display().to_string()),
        "max_file_bytes": audit.max_file_bytes,
        "max_files": audit.max_files,
        "required": audit.required,
    })
}
