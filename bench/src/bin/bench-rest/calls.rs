//! The same question to the API: through the engine, from arguments to the text of the answer, and with the bare HTTP client.

use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail, ensure};
use aquifer_engine::{Caller, Context, Engine, Reply};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::response::Response;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::{RestSettings, RestSource};
use reqwest::header::ACCEPT;
use reqwest::redirect::Policy;
use serde_json::{Map, Value, json};

use crate::api::{self, ROWS};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// One pet.
    Get,
    /// All pets, three fields of each.
    List,
}

impl Question {
    pub(crate) fn read(name: &str) -> anyhow::Result<Self> {
        match name {
            "get" => Ok(Self::Get),
            "list" => Ok(Self::List),
            other => bail!("'{other}' is neither get nor list"),
        }
    }

    /// The arguments of a tool call.
    pub(crate) fn arguments(self) -> Map<String, Value> {
        let (operation, params) = match self {
            Self::Get => ("get_pet", json!({ "id": 7 })),
            Self::List => ("list_pets", json!({ "fields": ["id", "name", "status"], "first": ROWS })),
        };
        Map::from_iter([("operation".to_owned(), operation.into()), ("params".to_owned(), params)])
    }

    fn path(self) -> &'static str {
        match self {
            Self::Get => "/pets/7",
            Self::List => "/pets",
        }
    }
}

/// The source behind an engine.
pub(crate) struct Ours(Engine);

impl Ours {
    pub(crate) fn open(url: &str) -> anyhow::Result<Self> {
        let options = ReadOptions { source: "pets".to_owned(), ..ReadOptions::default() };
        let mut settings = RestSettings::new("pets", openapi::read(&api::description(), &options)?);
        url.clone_into(&mut settings.client.base_url);
        let profile = Profile::known("crude").context("there is no profile crude")?;
        let surface = Surface::new(Mode::Single, profile, "")?;
        let source = RestSource::new(settings, |_| None)
            .map_err(|error| anyhow!(error.into_failure("pets").message().to_owned()))?;
        Ok(Self(Engine::builder(surface).dangerously_let_everything_pass().source(Arc::new(source)).build()?))
    }

    /// The text of the answer. A refusal must not pass for one.
    pub(crate) async fn ask(&self, arguments: Map<String, Value>) -> anyhow::Result<String> {
        let context = Context::new(Caller::anonymous(), "req");
        match self.0.handle(&Receiver::Unified, arguments, context).await {
            Reply::Response(response @ Response::Success(_)) => Ok(response.render(&Limits::default()).text),
            Reply::Response(refusal) => bail!("refused: {}", refusal.render(&Limits::default()).text),
            Reply::NeedsInput(_) => bail!("it asks back"),
        }
    }
}

/// The HTTP client that the source uses, set up alike, and nothing else.
pub(crate) struct Bare {
    client: reqwest::Client,
    url: String,
}

impl Bare {
    pub(crate) fn open(url: &str) -> anyhow::Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder().redirect(Policy::none()).tcp_nodelay(true).no_proxy();
        Ok(Self { client: builder.user_agent("bench").build()?, url: url.to_owned() })
    }

    /// Sends the request, reads the body and parses it. The text is the parsed value's, made by the caller who needs it.
    pub(crate) async fn ask(&self, question: Question) -> anyhow::Result<Value> {
        let request = self.client.get(format!("{}{}", self.url, question.path())).header(ACCEPT, "application/json");
        let response = request.send().await?.error_for_status()?;
        Ok(serde_json::from_slice(&response.bytes().await?)?)
    }
}

/// Both answers must hold the same pets.
pub(crate) async fn ensure_alike(ours: &Ours, bare: &Bare, question: Question) -> anyhow::Result<()> {
    let answer: Value = serde_json::from_str(&ours.ask(question.arguments()).await?)?;
    let same = bare.ask(question).await?;
    let (mut shown, mut expected) = (Vec::new(), Vec::new());
    collect_names(&answer, &mut shown);
    collect_names(&same, &mut expected);
    let count = if question == Question::List { ROWS as usize } else { 1 };
    ensure!(shown == expected && shown.len() == count, "not alike: {answer} and {same}");
    Ok(())
}

/// The names of all pets in an answer.
fn collect_names<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, found)),
        Value::Object(members) => match members.get("name").and_then(Value::as_str) {
            Some(name) => found.push(name),
            None => members.values().for_each(|member| collect_names(member, found)),
        },
        _ => {}
    }
}
