//! What an upstream asks of the client behind a call, and what it logs.

use std::sync::{Arc, Mutex};

use aquifer_engine::source::{ClientSide, Favour};
use aquifer_engine::{Caller, Context};
use aquifer_protocol::error::{Code, Failure};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::support::{Served, Stage, context, fake, until};

#[derive(Debug, Default)]
struct Client {
    name: &'static str,
    can: Vec<Favour>,
    logged: Mutex<Vec<Value>>,
}

impl ClientSide for Client {
    fn can(&self, favour: Favour) -> bool {
        self.can.contains(&favour)
    }

    fn ask(&self, favour: Favour, params: Map<String, Value>) -> BoxFuture<'_, Result<Value, Failure>> {
        let answer = match favour {
            Favour::Elicitation => {
                assert_eq!(params["message"], "Which?");
                Ok(json!({ "action": "accept", "content": { "which": self.name } }))
            }
            Favour::Sampling => {
                Ok(json!({ "role": "assistant", "content": { "type": "text", "text": self.name }, "model": "m" }))
            }
            Favour::Roots => Err(Failure::new(Code::InternalError, "no")),
        };
        std::future::ready(answer).boxed()
    }

    fn log(&self, params: Map<String, Value>) {
        self.logged.lock().unwrap().push(Value::Object(params));
    }
}

fn of(client: &Arc<Client>) -> Context {
    Context { client: Some(client.clone()), ..Context::new(Caller::session(client.name), "req") }
}

#[tokio::test]
async fn questions_reach_the_client_that_can_and_are_declined_otherwise() {
    let able = Arc::new(Client { name: "able", can: vec![Favour::Elicitation, Favour::Sampling], ..Client::default() });
    let unable = Arc::new(Client { name: "unable", ..Client::default() });
    let server = Served::start(0, &["--events"]);
    for settings in [fake(&[]), server.settings()] {
        let stage = Stage::up(settings).await;
        let answer = stage.ask_as("elicit", json!({}), of(&able)).await;
        assert_eq!(answer["data"], json!({ "action": "accept", "content": { "which": "able" } }));
        let answer = stage.ask_as("sample", json!({}), of(&able)).await;
        assert_eq!(answer["data"]["content"]["text"], "able");
        for context in [of(&unable), context()] {
            let answer = stage.ask_as("elicit", json!({}), context.clone()).await;
            assert_eq!(answer["data"], json!({ "action": "decline" }), "{answer}");
            let answer = stage.ask_as("sample", json!({}), context.clone()).await;
            assert!(answer["data"]["error"]["message"].as_str().unwrap().contains("sampling"), "{answer}");
            let answer = stage.ask_as("roots", json!({}), context).await;
            assert_eq!(answer["data"], json!({ "roots": [] }));
        }
    }
}

#[tokio::test]
async fn an_upstream_that_may_not_ask_back_is_called_again_with_the_answer() {
    let able = Arc::new(Client { name: "able", can: vec![Favour::Elicitation], ..Client::default() });
    let stage = Stage::up(fake(&["--stateless"])).await;
    let answer = stage.ask_as("elicit", json!({}), of(&able)).await;
    assert_eq!(answer["data"], json!({ "action": "accept", "content": { "which": "able" } }));
    assert_eq!(stage.get("elicit", json!({})).await, json!({ "action": "decline" }));
    let answer = stage.ask_as("sample", json!({}), of(&able)).await;
    assert_eq!(answer["error"]["code"], "UPSTREAM_ERROR");
    assert!(answer["error"]["details"]["upstream_error"].as_str().unwrap().contains("sampling"), "{answer}");
}

#[tokio::test]
async fn two_clients_are_never_mixed_up() {
    let clients =
        ["one", "two"].map(|name| Arc::new(Client { name, can: vec![Favour::Elicitation], ..Client::default() }));
    let stage = Arc::new(Stage::up(fake(&[])).await);
    let calls = (0..20).map(|index| {
        let (stage, client) = (stage.clone(), clients[index % 2].clone());
        tokio::spawn(async move {
            let answer = stage.ask_as("elicit", json!({}), of(&client)).await;
            // On one pipe nobody can tell whose question it is: asked is the right one or nobody.
            let which = answer["data"]["content"]["which"].clone();
            assert!(which == client.name || answer["data"]["action"] == "decline", "{answer}");
        })
    });
    for call in futures::future::join_all(calls).await {
        call.unwrap();
    }
}

#[tokio::test]
async fn logs_reach_the_client() {
    let client = Arc::new(Client { name: "reader", ..Client::default() });
    let stage = Stage::up(fake(&[])).await;
    assert_eq!(stage.ask_as("log", json!({}), of(&client)).await["data"], "logged");
    until("the log is there", async || !client.logged.lock().unwrap().is_empty()).await;
    let logged = client.logged.lock().unwrap().clone();
    assert_eq!(logged, [json!({ "level": "warning", "logger": "server", "data": { "said": "something" } })]);
}
