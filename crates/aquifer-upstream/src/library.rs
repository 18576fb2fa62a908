//! What an upstream has beside tools: documents and prompts, passed on as they are.

use std::sync::Arc;

use aquifer_engine::source::{Context, Fetch, Shelves};
use aquifer_protocol::error::Failure;
use serde_json::{Map, Value, json};

use crate::calls::Companion;
use crate::interrogate::pages;
use crate::keeper::Upkeep;
use crate::link::Link;
use crate::message::Json;
use crate::trouble::Trouble;

/// Of a server nobody has asked yet nothing can be ruled out.
pub(crate) const UNKNOWN: Shelves = Shelves { resources: true, prompts: true, completions: true };

/// What a server says it has.
pub(crate) fn shelves(capabilities: &Value) -> Shelves {
    let has = |name: &str| capabilities.get(name).is_some_and(Value::is_object);
    Shelves { resources: has("resources"), prompts: has("prompts"), completions: has("completions") }
}

/// Gets something beside tools.
pub(crate) async fn fetch(upkeep: &Upkeep, wanted: Fetch, context: Context) -> Result<Value, Failure> {
    let settings = &upkeep.settings;
    let told = |trouble: Trouble| trouble.into_failure(&settings.name, &upkeep.words, settings.largest_answer);
    for attempt in 0..2 {
        let link = upkeep.live().await?;
        if !upkeep.shelves.load().has(&wanted) {
            return Ok(json!([]));
        }
        match ask(upkeep, &link, &wanted, &context).await {
            // Reading twice does no harm.
            Err(Trouble::Unsent(_) | Trouble::SessionLost | Trouble::Broke(_)) if attempt == 0 => {}
            answered => return answered.map_err(told),
        }
    }
    Err(Failure::internal("a third attempt of two"))
}

async fn ask(upkeep: &Upkeep, link: &Link, wanted: &Fetch, context: &Context) -> Result<Value, Trouble> {
    let (method, entries) = match wanted {
        Fetch::Resources => ("resources/list", "resources"),
        Fetch::ResourceTemplates => ("resources/templates/list", "resourceTemplates"),
        Fetch::Prompts => ("prompts/list", "prompts"),
        Fetch::Resource(uri) => return one(upkeep, link, "resources/read", uri, json!({ "uri": uri }), context).await,
        Fetch::Prompt { name, arguments } => {
            let mut params = json!({ "name": name });
            if let (Some(arguments), Some(fields)) = (arguments, params.as_object_mut()) {
                fields.insert("arguments".to_owned(), Value::Object(arguments.clone()));
            }
            return one(upkeep, link, "prompts/get", name, params, context).await;
        }
        Fetch::Completion { of, by_address, params } => {
            let mut params = params.clone();
            let reference = if *by_address {
                json!({ "type": "ref/resource", "uri": of })
            } else {
                json!({ "type": "ref/prompt", "name": of })
            };
            params.insert("ref".to_owned(), reference);
            return one(upkeep, link, "completion/complete", of, Value::Object(params), context).await;
        }
    };
    let mut all = Vec::new();
    for page in pages(link, &upkeep.settings, method).await? {
        let mut page: Map<String, Value> = read(&page)?;
        if let Some(Value::Array(entries)) = page.remove(entries) {
            all.extend(entries);
        }
    }
    Ok(Value::Array(all))
}

async fn one(
    upkeep: &Upkeep,
    link: &Link,
    method: &str,
    name: &str,
    mut params: Value,
    context: &Context,
) -> Result<Value, Trouble> {
    let session = context.caller.owner().map(Into::into);
    let companion = Arc::new(Companion::new(context.progress.clone(), context.client.clone(), session));
    if let (Some(meta), Some(fields)) = (link.meta(None), params.as_object_mut()) {
        fields.insert("_meta".to_owned(), meta);
    }
    let answer = link.request(method, Some(name), companion, upkeep.settings.timeout, |_| &params).await?;
    read(&answer)
}

fn read<T: serde::de::DeserializeOwned>(answer: &Json) -> Result<T, Trouble> {
    serde_json::from_str(answer.text()).map_err(|cause| Trouble::Unintelligible(cause.to_string()))
}
