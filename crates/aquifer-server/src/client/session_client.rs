//! Lets sources reach the client of a session: request a form, a completion or its roots during a call, and send it log
//! messages.
//!
//! The SDK ties a question to a request through the task that asks it. Sources therefore send questions through a
//! channel, and the task that handles the request asks them.

#![expect(deprecated, reason = "deprecated in the newest revision, alive in the older ones that have sessions")]

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::source::{ClientCapability, ClientSide};
use aquifer_protocol::error::{Code, Failure};
use futures::FutureExt;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ListRootsRequest, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::client::call_context::CallContext;
use crate::client::question;
use crate::log_forwarder::LogForwarder;

/// Maximum number of questions that may wait per request.
const MAX_QUESTIONS: usize = 8;

/// A person or model that has not answered within this time counts as having refused.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A question on its way to the client.
pub(crate) struct Question {
    capability: ClientCapability,
    params: Map<String, Value>,
    answer: oneshot::Sender<Result<Value, Failure>>,
}

/// The client behind one request.
pub(crate) struct SessionClient {
    peer: Peer<RoleServer>,
    can: [bool; 3],
    can_sample_with_tools: bool,
    questions: mpsc::Sender<Question>,
    log_forwarder: Arc<LogForwarder>,
}

impl std::fmt::Debug for SessionClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionClient").field("can", &self.can).finish_non_exhaustive()
    }
}

impl SessionClient {
    /// The client behind a request. `None` if it cannot be sent requests, as in the newest revision.
    pub(crate) fn from_context(
        context: &CallContext,
        log_forwarder: &Arc<LogForwarder>,
    ) -> Option<(Arc<dyn ClientSide>, mpsc::Receiver<Question>)> {
        if context.protocol_version.is_none() || context.is_newest() {
            return None;
        }
        let capabilities = context.capabilities.as_ref()?;
        let shows_forms = capabilities.elicitation.as_ref().is_some_and(question::shows_forms);
        let can = [shows_forms, capabilities.sampling.is_some(), capabilities.roots.is_some()];
        let can_sample_with_tools = capabilities.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some());
        let (questions, receiver) = mpsc::channel(MAX_QUESTIONS);
        let log_forwarder = log_forwarder.clone();
        let client = Self { peer: context.peer.clone(), can, can_sample_with_tools, questions, log_forwarder };
        Some((Arc::new(client), receiver))
    }
}

impl ClientSide for SessionClient {
    fn can(&self, capability: ClientCapability) -> bool {
        let [elicitation, sampling, roots] = self.can;
        match capability {
            ClientCapability::Elicitation => elicitation,
            ClientCapability::Sampling => sampling,
            ClientCapability::Roots => roots,
        }
    }

    fn can_sample_with_tools(&self) -> bool {
        self.can_sample_with_tools
    }

    fn ask(&self, capability: ClientCapability, params: Map<String, Value>) -> BoxFuture<'_, Result<Value, Failure>> {
        let (answer, answered) = oneshot::channel();
        let question = Question { capability, params, answer };
        async move {
            self.questions
                .try_send(question)
                .map_err(|_| refused("the request has ended, or too many questions are waiting"))?;
            answered.await.map_err(|_| refused("the request has ended"))?
        }
        .boxed()
    }

    fn log(&self, params: Map<String, Value>) {
        self.log_forwarder.forward(params, &self.peer);
    }
}

/// Runs a call, and meanwhile asks the client the questions that come up.
pub(crate) async fn run_answering_questions<T>(
    call: impl Future<Output = T>,
    mut questions: mpsc::Receiver<Question>,
    peer: &Peer<RoleServer>,
) -> T {
    let mut call = std::pin::pin!(call);
    // Boxed, because the set keeps room for one more, and there is a set for every call.
    let mut asked: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            reply = &mut call => return reply,
            Some(question) = questions.recv() => asked.push(ask(peer, question).boxed()),
            Some(()) = asked.next(), if !asked.is_empty() => {}
        }
    }
}

async fn ask(peer: &Peer<RoleServer>, question: Question) {
    let answer = match request(question.capability, question.params) {
        Ok(request) => {
            let mut options = PeerRequestOptions::no_options();
            options.timeout = Some(TIMEOUT);
            let sent = peer.send_request_with_option(request, options).await;
            match sent {
                Ok(handle) => handle.await_response().await.map_err(refused).and_then(result),
                Err(cause) => Err(refused(cause)),
            }
        }
        Err(failure) => Err(failure),
    };
    // The receiver may have stopped waiting.
    let _ = question.answer.send(answer);
}

fn request(capability: ClientCapability, params: Map<String, Value>) -> Result<ServerRequest, Failure> {
    let params = Value::Object(params);
    let unreadable = |cause: serde_json::Error| refused(format!("the SDK cannot parse the question: {cause}"));
    Ok(match capability {
        ClientCapability::Elicitation => {
            let params: ElicitRequestParams = serde_json::from_value(params).map_err(unreadable)?;
            ServerRequest::ElicitRequest(ElicitRequest::new(params))
        }
        ClientCapability::Sampling => {
            let params: CreateMessageRequestParams = serde_json::from_value(params).map_err(unreadable)?;
            ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params))
        }
        ClientCapability::Roots => ServerRequest::ListRootsRequest(ListRootsRequest::default()),
    })
}

fn result(result: ClientResult) -> Result<Value, Failure> {
    serde_json::to_value(result).map_err(refused)
}

fn refused(cause: impl std::fmt::Display) -> Failure {
    Failure::new(Code::UpstreamError, "The client did not answer").because(cause)
}
