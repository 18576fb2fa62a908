//! `aquifer introspect`: shows the catalog to a person. It calls the same operation as a model does.

use std::fmt::Write as _;

use anyhow::bail;
use aquifer_discovery::redact;
use aquifer_protocol::introspect;
use aquifer_protocol::surface::Receiver;
use aquifer_sql::Target;
use serde_json::{Map, Value, json};

use super::table::columns;
use crate::CommandOutcome;
use crate::cli::IntrospectArgs;
use crate::config::Config;
use crate::safety::Safety;
use crate::setup::{self, SourceSelection};
use crate::sources::OnUnreachable;
use crate::system::quoted;
use crate::terminal;

pub(crate) async fn run(mut arguments: IntrospectArgs) -> anyhow::Result<CommandOutcome> {
    arguments.assign_positionals()?;
    let config = arguments.confirmation.apply_to(Config::read(arguments.config.as_deref())?);
    let wanted = SourceSelection { targets: &arguments.sources, upstream: &arguments.upstream, config: &config };
    let opened = wanted.open(OnUnreachable::ShowCached).await?;
    let safety = Safety::for_inspection(&config, &wanted.source_facts()?)?;
    let engine = setup::engine(&opened, &arguments.surface, &config, &safety)?;
    let is_old = setup::is_all_cached(&opened);
    let mut params = Map::new();
    params.insert("query".to_owned(), "operations".into());
    if let Some(name) = &arguments.name {
        params.insert("name".to_owned(), name.as_str().into());
    }
    if let Some(search) = &arguments.search {
        params.insert("search".to_owned(), search.as_str().into());
    }
    let ask = async |params: Map<String, Value>| {
        let request = Map::from_iter([
            ("operation".to_owned(), Value::from(introspect::NAME)),
            ("params".to_owned(), Value::Object(params)),
        ]);
        super::call::ask(&engine, &Receiver::Unified, request).await.into_value().0
    };
    let mut answer = ask(params.clone()).await;
    // The name may be that of a type.
    if answer.pointer("/data/operation").is_some_and(Value::is_null) {
        params.insert("query".to_owned(), "types".into());
        let of_type = ask(params).await;
        if of_type.pointer("/data/type").is_some_and(Value::is_null) {
            let name = arguments.name.unwrap_or_default();
            bail!("there is no operation or type '{name}'. Leave out the name to list them all, or use --search");
        }
        answer = of_type;
    }
    let failed = answer.get("success") != Some(&Value::Bool(true));
    let call = Invocation::new(&arguments);
    match arguments.json || failed {
        true => super::json::print(&answer.to_string())?,
        false => terminal::print_line(table(&answer, &call).trim_end())?,
    }
    Ok(if failed || is_old { CommandOutcome::Failure } else { CommandOutcome::Done })
}

fn table(answer: &Value, call: &Invocation) -> String {
    let data = &answer["data"];
    match (data.get("operations"), data.get("operation"), data.get("type")) {
        (Some(operations), _, _) => operations_table(operations, &data["_protocol"]),
        (_, Some(operation), _) => operation_text(operation, call),
        (_, _, Some(of_type)) => type_text(of_type),
        _ => answer.to_string(),
    }
}

fn operations_table(operations: &Value, protocol: &Value) -> String {
    let rows: Vec<[String; 3]> = operations
        .as_array()
        .into_iter()
        .flatten()
        .map(|operation| ["name", "endpoint", "description"].map(|field| text(&operation[field])))
        .collect();
    let mut out = columns(&["OPERATION", "ENDPOINT", "DESCRIPTION"], &rows);
    if protocol.pointer("/page/hasNextPage") == Some(&Value::Bool(true)) {
        let total = text(field(protocol, "/page/totalCount"));
        let _ = writeln!(out, "… {total} in total; use --search to narrow the list");
    }
    out
}

fn operation_text(operation: &Value, call: &Invocation) -> String {
    let mut out = format!(
        "{} ({}, tool {})\n  {}\n\n",
        text(&operation["name"]),
        text(&operation["semantic_category"]),
        text(&operation["mcpTool"]),
        text(&operation["description"])
    );
    let rows: Vec<[String; 4]> = parameters(&operation["parameters"]);
    if rows.is_empty() {
        out.push_str("No parameters.\n");
    } else {
        out.push_str(&columns(&["PARAMETER", "TYPE", "", "DESCRIPTION"], &rows));
    }
    let _ = writeln!(
        out,
        "\nReturns {}: {}",
        text(field(operation, "/returns/name")),
        text(field(operation, "/returns/description"))
    );
    for example in operation["examples"].as_array().into_iter().flatten() {
        let params = field(example, "/request/params").as_object();
        let _ = writeln!(out, "\nExample: {}", call.line(&text(&operation["name"]), params));
    }
    out
}

/// A command line that calls an operation of the same sources.
struct Invocation {
    /// The arguments before the operation.
    before: Vec<String>,
    /// The arguments after the parameters.
    after: Vec<String>,
}

impl Invocation {
    fn new(arguments: &IntrospectArgs) -> Self {
        let IntrospectArgs { sources, config, upstream, .. } = arguments;
        let before = sources.iter().map(|source| Target::without_secrets(source)).collect();
        let mut after = Vec::new();
        let mut option = |name: &str, value: String| after.extend([format!("--{name}"), value]);
        if let Some(config) = config {
            option("config", config.display().to_string());
        }
        upstream.servers.iter().for_each(|server| option("server", server.clone()));
        upstream.env.iter().for_each(|name| option("env", name.clone()));
        // A value that the shell expanded may be a secret, so only references are shown.
        for header in upstream.headers.iter().filter(|header| header.contains("${")) {
            option("header", header.clone());
        }
        upstream.bearer_env.iter().for_each(|name| option("bearer-env", name.clone()));
        upstream.base_url.iter().for_each(|url| option("base-url", Target::without_secrets(url)));
        if upstream.read_only {
            after.push("--read-only".to_owned());
        }
        let mut option = |name: &str, value: String| after.extend([format!("--{name}"), value]);
        upstream.trust.iter().for_each(|trust| option("trust", trust.to_string()));
        if !upstream.command.is_empty() {
            after.push("--".to_owned());
            after.extend(redact::arguments(&upstream.command));
        }
        Self { before, after }
    }

    fn line(&self, operation: &str, params: Option<&Map<String, Value>>) -> String {
        let mut words = vec!["aquifer".to_owned(), "call".to_owned()];
        words.extend(self.before.iter().cloned());
        words.push(operation.to_owned());
        if let Some(params) = params.filter(|params| !params.is_empty()) {
            words.push(Value::Object(params.clone()).to_string());
        }
        words.extend(self.after.iter().cloned());
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

fn type_text(of_type: &Value) -> String {
    let mut out = format!("{} ({})\n", text(&of_type["name"]), text(&of_type["kind"]));
    if !of_type["description"].is_null() {
        let _ = writeln!(out, "  {}", text(&of_type["description"]));
    }
    out.push('\n');
    match (of_type.get("fields"), of_type.get("values").or_else(|| of_type.get("members"))) {
        (Some(fields), _) => out.push_str(&columns(&["FIELD", "TYPE", "", "DESCRIPTION"], &parameters(fields))),
        (_, Some(words)) => {
            for word in words.as_array().into_iter().flatten() {
                let _ = writeln!(out, "  {}", text(word));
            }
        }
        _ => {}
    }
    out
}

fn parameters(list: &Value) -> Vec<[String; 4]> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(|parameter| {
            let required = if parameter["required"] == json!(true) { "required" } else { "" };
            [text(&parameter["name"]), text(&parameter["type"]), required.to_owned(), constraints(parameter)]
        })
        .collect()
}

/// The description of a parameter, followed by its constraints.
fn constraints(parameter: &Value) -> String {
    let mut words = Vec::new();
    if !parameter["description"].is_null() {
        words.push(text(&parameter["description"]));
    }
    let shown = ["name", "type", "required", "description"];
    for (key, value) in parameter.as_object().into_iter().flatten().filter(|(key, _)| !shown.contains(&key.as_str())) {
        words.push(format!("[{key}: {}]", text(value)));
    }
    words.join(" ")
}

fn field<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
