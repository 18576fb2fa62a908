//! A reviewer's decisions, applied last and recorded as such (R-DIS-5).
//!
//! The file is YAML like adapter files, because reviewers copy lines between them. Tool names contain dots and spaces,
//! which are awkward in TOML tables. The reader reports the line and column of every problem.

use std::collections::{HashMap, HashSet};

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::Code;
use aquifer_protocol::operation::{MAX_CHOSEN_NAME, RESERVED, is_snake_case};
use serde_json::{Map, Value};

use crate::bundle::{Bundle, NormalizedOperation, SCHEMA_VERSION};
use crate::classify::{self, Confidence, Inference, OwnPrefix};
use crate::digest::pin;
use crate::problem::{FileProblem, Findings, join, shown};
use crate::text::yaml::{self, Node};
use crate::tool::Tool;
use crate::warning::{self, BundleWarning};

/// The decisions of reviewers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// By the tool's exact name, in the order of the file.
    pub tools: Vec<(String, Override)>,
}

/// A reviewer's decision about one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Override {
    /// The definition that was reviewed. If it has changed since, the decision does not apply.
    pub digest: Option<String>,
    /// The operation's name.
    pub operation_name: Option<String>,
    /// The operation's description.
    pub description: Option<String>,
    /// Its category. Setting it completes the review.
    pub endpoint: Option<Category>,
    /// Its danger level.
    pub danger_level: Option<Danger>,
    /// Whether a reviewer accepted the tool as it is.
    pub reviewed: bool,
    /// Names and descriptions of parameters, by their original name.
    pub params: Vec<(String, ParameterOverride)>,
}

/// A reviewer's decision about one parameter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParameterOverride {
    /// Its name.
    pub name: Option<String>,
    /// Its description.
    pub description: Option<String>,
}

const FIELDS: &[&str] = &["digest", "operation_name", "description", "endpoint", "danger_level", "reviewed", "params"];

impl Overrides {
    /// Reads an overrides file. Reports all problems at once.
    pub fn read(text: &str) -> Result<Self, Vec<FileProblem>> {
        let mut findings = Findings::default();
        let mut overrides = Self::default();
        match yaml::read(text, 1) {
            Ok(node) => overrides.tools = tools(&node, &mut findings),
            Err(error) => findings.unreadable(&error),
        }
        if findings.problems.is_empty() { Ok(overrides) } else { Err(findings.problems) }
    }

    /// The text of an overrides file.
    pub fn write(&self) -> String {
        let tools: Map<String, Value> = self.tools.iter().map(|(tool, made)| (tool.clone(), made.to_json())).collect();
        yaml::write(&serde_json::json!({ "schema_version": SCHEMA_VERSION, "tools": tools }))
    }

    /// The decisions by tool.
    pub fn by_tool(&self) -> HashMap<&str, &Override> {
        self.tools.iter().map(|(tool, decided)| (tool.as_str(), decided)).collect()
    }

    /// The names that were chosen for operations, by tool.
    pub fn names(&self) -> HashMap<&str, &str> {
        self.tools
            .iter()
            .filter_map(|(tool, decided)| Some((tool.as_str(), decided.operation_name.as_deref()?)))
            .collect()
    }

    /// Applies the decisions to a bundle.
    pub fn apply(&self, bundle: &mut Bundle) {
        let tools = bundle.tools();
        self.apply_to_tools(bundle, &tools);
    }

    /// Like [`apply`](Self::apply), for the parsed tools of the bundle.
    pub fn apply_to_tools(&self, bundle: &mut Bundle, tools: &[Tool]) {
        let by_name: HashMap<&str, &Tool> = tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        let server_name = bundle.source.server.as_ref().and_then(|server| server.name.as_deref());
        let listed = tools.iter().map(|tool| tool.name.as_str());
        let prefix = OwnPrefix::of_server(&bundle.source.name, server_name, listed);
        let normalized = &mut bundle.normalized_bundle;
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut names: HashMap<String, usize> = HashMap::new();
        for (index, operation) in normalized.operations.iter().enumerate() {
            places.insert(operation.source_tool_name.clone(), index);
            *names.entry(operation.operation_name.clone()).or_default() += 1;
        }
        let mut settled: HashSet<&str> = HashSet::new();
        for (name, decided) in &self.tools {
            let Some(tool) = by_name.get(name.as_str()).copied() else {
                let message = "An override names a tool that does not exist.";
                normalized.warnings.push(BundleWarning::new(warning::OVERRIDE_UNUSED, message).tool(name));
                continue;
            };
            if decided.digest.as_ref().is_some_and(|digest| *digest != pin(tool).digest) {
                let message = "The tool has changed since the override was written; it does not apply.";
                normalized.warnings.push(BundleWarning::new(warning::OVERRIDE_OUTDATED, message).tool(name));
                continue;
            }
            let mut warnings = Vec::new();
            if let Some(operation) = places.get(name).and_then(|index| normalized.operations.get_mut(*index)) {
                let own = operation.operation_name.clone();
                let is_taken = |wanted: &String| *wanted != own && names.get(wanted).is_some_and(|count| *count > 0);
                let taken = decided.operation_name.as_ref().is_some_and(is_taken);
                if taken {
                    let message = "An override gives an operation the name of another; the name stays.";
                    warnings.push(BundleWarning::new(warning::NAME_COLLISION, message).tool(name));
                }
                decided.apply(operation, tool, &prefix, taken, &mut warnings);
                if operation.operation_name != own {
                    names.entry(own).and_modify(|count| *count -= 1);
                    *names.entry(operation.operation_name.clone()).or_default() += 1;
                }
                if !operation.needs_review {
                    settled.insert(name);
                }
            }
            normalized.warnings.extend(warnings);
        }
        let is_settled = |known: &BundleWarning| known.tool.as_deref().is_some_and(|tool| settled.contains(tool));
        normalized.warnings.retain(|known| known.code != warning::NEEDS_REVIEW || !is_settled(known));
    }
}

impl Override {
    fn apply(
        &self,
        operation: &mut NormalizedOperation,
        tool: &Tool,
        prefix: &OwnPrefix,
        taken: bool,
        warnings: &mut Vec<BundleWarning>,
    ) {
        let sources = operation.provenance.inference_sources.as_mut();
        let mut recorded = sources.map(|sources| *sources);
        let mut record = |pick: fn(&mut crate::bundle::InferenceSources) -> &mut Inference| {
            if let Some(recorded) = recorded.as_mut() {
                *pick(recorded) = Inference::ManualOverride;
            }
        };
        if let Some(name) = self.operation_name.as_ref().filter(|_| !taken) {
            operation.operation_name.clone_from(name);
            record(|sources| &mut sources.operation_name);
        }
        if let Some(description) = &self.description {
            operation.description.clone_from(description);
            record(|sources| &mut sources.description);
        }
        if let Some(endpoint) = self.endpoint {
            operation.endpoint = endpoint;
            operation.endpoint_confidence = Confidence::High;
            record(|sources| &mut sources.endpoint);
        }
        if self.reviewed || self.endpoint.is_some() {
            operation.needs_review = false;
            operation.review_reasons.clear();
            let (danger, from) = classify::danger_of_tool(tool, &operation.operation_name, operation.endpoint, prefix);
            operation.danger_level = danger;
            if let Some(recorded) = recorded.as_mut() {
                recorded.danger_level = from;
            }
        }
        if let Some(danger) = self.danger_level {
            operation.danger_level = danger;
            if let Some(recorded) = recorded.as_mut() {
                recorded.danger_level = Inference::ManualOverride;
            }
        }
        operation.provenance.inference_sources = recorded;
        for (original, decided) in &self.params {
            decided.apply(original, operation, tool, warnings);
        }
    }

    fn to_json(&self) -> Value {
        let mut written = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                written.insert(key.to_owned(), value);
            }
        };
        put("digest", self.digest.clone().map(Value::from));
        put("operation_name", self.operation_name.clone().map(Value::from));
        put("description", self.description.clone().map(Value::from));
        put("endpoint", self.endpoint.map(|endpoint| endpoint.as_str().into()));
        put("danger_level", self.danger_level.map(|danger| danger.as_str().into()));
        put("reviewed", self.reviewed.then_some(Value::Bool(true)));
        let params: Map<String, Value> = self
            .params
            .iter()
            .map(|(original, decided)| {
                let fields = [("name", &decided.name), ("description", &decided.description)];
                let fields =
                    fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?.into())));
                (original.clone(), Value::Object(fields.collect()))
            })
            .collect();
        put("params", (!params.is_empty()).then_some(Value::Object(params)));
        Value::Object(written)
    }
}

impl ParameterOverride {
    fn apply(
        &self,
        original: &str,
        operation: &mut NormalizedOperation,
        tool: &Tool,
        warnings: &mut Vec<BundleWarning>,
    ) {
        let taken = self.name.as_ref().is_some_and(|name| {
            operation.params.iter().any(|other| &other.name == name && other.original_name != original)
        });
        if taken {
            let message = "An override gives a parameter the name of another; the name stays.";
            warnings.push(BundleWarning::new(warning::NAME_COLLISION, message).tool(&tool.name).field(original));
        }
        let Some(parameter) = operation.params.iter_mut().find(|parameter| parameter.original_name == original) else {
            let message = "An override names a parameter that does not exist.";
            warnings.push(BundleWarning::new(warning::OVERRIDE_UNUSED, message).tool(&tool.name).field(original));
            return;
        };
        if let Some(name) = self.name.as_ref().filter(|_| !taken) {
            parameter.name.clone_from(name);
        }
        if let Some(description) = &self.description {
            parameter.description = Some(description.clone());
        }
    }
}

fn tools(node: &Node, findings: &mut Findings) -> Vec<(String, Override)> {
    if !findings.object(node, "", &["schema_version", "tools"]) {
        return Vec::new();
    }
    if let Some(version) = node.get("schema_version").filter(|version| version.as_str() != Some(SCHEMA_VERSION)) {
        let message = "Unsupported version in 'schema_version'".to_owned();
        let suggestion = Some(format!("Use \"{SCHEMA_VERSION}\""));
        findings.add_with(Code::SchemaVersionUnsupported, "schema_version", version.at, message, suggestion);
    }
    let Some(tools) = findings.required(node, "tools", "") else { return Vec::new() };
    let Some(entries) = tools.entries() else {
        findings.wrong_type(tools, "tools", "object");
        return Vec::new();
    };
    entries
        .iter()
        .map(|entry| (entry.key.clone(), decision(&entry.value, &join("tools", &entry.key), findings)))
        .collect()
}

fn decision(node: &Node, path: &str, findings: &mut Findings) -> Override {
    if !findings.object(node, path, FIELDS) {
        return Override::default();
    }
    let categories = Category::ALL.map(Category::as_str);
    let endpoint = node
        .get("endpoint")
        .and_then(|found| findings.one_of(found, &join(path, "endpoint"), &categories, Code::SchemaInvalidType))
        .and_then(|word| Category::ALL.into_iter().find(|category| category.as_str() == word));
    let dangers = [Danger::Safe, Danger::Reversible, Danger::Destructive, Danger::Dangerous, Danger::Forbidden];
    let words = dangers.map(Danger::as_str);
    let danger_level = node
        .get("danger_level")
        .and_then(|found| findings.one_of(found, &join(path, "danger_level"), &words, Code::SchemaInvalidType))
        .and_then(|word| dangers.into_iter().find(|danger| danger.as_str() == word));
    let params = node.get("params").map(|found| parameters(found, &join(path, "params"), findings)).unwrap_or_default();
    Override {
        digest: findings.optional_text(node, "digest", path),
        operation_name: name(node, "operation_name", path, MAX_CHOSEN_NAME, findings),
        description: findings.optional_text(node, "description", path),
        endpoint,
        danger_level,
        reviewed: findings.flag(node, "reviewed", path).unwrap_or(false),
        params,
    }
}

fn parameters(node: &Node, path: &str, findings: &mut Findings) -> Vec<(String, ParameterOverride)> {
    let Some(entries) = node.entries() else {
        findings.wrong_type(node, path, "object");
        return Vec::new();
    };
    entries
        .iter()
        .map(|entry| {
            let path = join(path, &entry.key);
            findings.object(&entry.value, &path, &["name", "description"]);
            let decided = ParameterOverride {
                name: name(&entry.value, "name", &path, 64, findings),
                description: findings.optional_text(&entry.value, "description", &path),
            };
            (entry.key.clone(), decided)
        })
        .collect()
}

fn name(node: &Node, key: &str, path: &str, max_len: usize, findings: &mut Findings) -> Option<String> {
    let name = findings.optional_text(node, key, path)?;
    if !is_snake_case(&name) || name.len() > max_len || RESERVED.contains(&name.as_str()) {
        let path = join(path, key);
        let message = format!("Invalid name '{}' in '{path}'", shown(&name));
        let better = crate::name::fit(&snake_identifier(&name), max_len);
        let suggestion = (is_snake_case(&better) && better != name).then(|| format!("Try '{better}'"));
        let at = node.get(key).map_or(node.at, |found| found.at);
        findings.add_with(Code::SchemaInvalidName, &path, at, message, suggestion);
    }
    Some(name)
}
