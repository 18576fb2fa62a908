//! State shared by the tasks of one connection, and the handling of incoming messages.

use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use aquifer_engine::ProgressUpdate;
use aquifer_engine::source::{ClientCapability, ClientSide};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::message::{self, IncomingMessage};
use super::pending_calls::{CallOrigin, PendingCalls};
use super::question;
use super::roots::Roots;
use crate::client::http::transport::HttpTransport;
use crate::client::stdio::pipe::Pipe;
use crate::error::{Outage, RpcError, UpstreamError};
use crate::sanitize::{Sanitizer, truncated};

/// Maximum number of open questions of one upstream. Further questions are declined.
const MAX_QUESTIONS: usize = 8;

/// Maximum number of bytes of a log message that are passed on.
const MAX_LOG_DATA: usize = 16 * 1024;

/// Maximum number of bytes of the level and the logger of a log message. Longer ones are ignored.
const MAX_LOG_NAME: usize = 1024;

/// Where outgoing messages go.
pub(crate) enum Outbound {
    Pipe(Arc<Pipe>),
    Http(Arc<HttpTransport>),
}

/// State shared by the tasks of one connection.
pub(crate) struct SharedState {
    pub(crate) name: Arc<str>,
    pub(crate) sanitizer: Sanitizer,
    pub(crate) calls: PendingCalls,
    /// Cancelled when the connection has ended or must end.
    pub(crate) ended: CancellationToken,
    /// Counts the notifications that the tool list changed.
    pub(crate) tools_changed: watch::Sender<u64>,
    pub(crate) outbound: OnceLock<Outbound>,
    pub(crate) roots: Roots,
    /// Whether an invalid message was logged. Further ones are logged at debug level.
    pub(crate) has_logged_invalid: AtomicBool,
    questions: Arc<Semaphore>,
    recent: Mutex<RecentClient>,
}

/// The only client that has used the connection so far, if there is exactly one.
#[derive(Default)]
enum RecentClient {
    #[default]
    None,
    One(Arc<CallOrigin>),
    Several,
}

impl SharedState {
    pub(crate) fn new(name: &str, sanitizer: Sanitizer) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            sanitizer,
            calls: PendingCalls::default(),
            ended: CancellationToken::new(),
            tools_changed: watch::Sender::new(0),
            outbound: OnceLock::new(),
            roots: Roots::default(),
            has_logged_invalid: AtomicBool::new(false),
            questions: Arc::new(Semaphore::new(MAX_QUESTIONS)),
            recent: Mutex::default(),
        })
    }

    /// Closes the connection.
    pub(crate) fn close(&self, outage: &Outage) {
        self.calls.close(outage);
        self.ended.cancel();
    }

    /// Records the client behind a call. Messages that belong to no call go to it, as long as it is the only one.
    pub(crate) fn record_client(&self, call_origin: &Arc<CallOrigin>) {
        if call_origin.client.is_none() {
            return;
        }
        let mut recent = self.recent.lock();
        *recent = match std::mem::take(&mut *recent) {
            RecentClient::One(known) if known.session != call_origin.session => RecentClient::Several,
            RecentClient::Several => RecentClient::Several,
            _ => RecentClient::One(call_origin.clone()),
        };
    }

    fn client_for(&self, origin: Option<&Arc<CallOrigin>>) -> Option<(Arc<CallOrigin>, Arc<dyn ClientSide>)> {
        let recent = || match &*self.recent.lock() {
            RecentClient::One(call_origin) => Some(call_origin.clone()),
            _ => None,
        };
        let call_origin = origin.cloned().or_else(|| self.calls.sole_client()).or_else(recent)?;
        let client = call_origin.client.clone()?;
        Some((call_origin, client))
    }

    /// Sends a message without waiting. A failure ends the connection.
    pub(crate) fn send(self: &Arc<Self>, message: Vec<u8>) {
        match self.outbound.get() {
            Some(Outbound::Pipe(pipe)) => {
                if let Err(outage) = pipe.send(message)
                    && !pipe.is_broken()
                {
                    self.close(&outage);
                }
            }
            Some(Outbound::Http(http)) => http.send_later(self, message),
            None => {}
        }
    }

    /// Handles one message. `origin` is the call on whose stream it arrived, if known.
    pub(crate) fn handle_message(
        self: &Arc<Self>,
        text: &Bytes,
        message: &IncomingMessage<'_>,
        origin: Option<&Arc<CallOrigin>>,
    ) {
        let Some(method) = message.method.as_deref() else {
            if let Some(id) = message.answered_id() {
                self.calls.settle(id, message.outcome(text).map_err(UpstreamError::Refused));
            }
            return;
        };
        let params = message.params.map_or("{}", RawValue::get);
        match message.id {
            Some(id) => self.answer_request(id, method, params, origin),
            None => self.handle_notification(method, params, origin),
        }
    }

    fn handle_notification(&self, method: &str, params: &str, origin: Option<&Arc<CallOrigin>>) {
        match method {
            "notifications/progress" => self.handle_progress(params),
            "notifications/message" => self.handle_log(params, origin),
            "notifications/tools/list_changed" => self.tools_changed.send_modify(|count| *count += 1),
            _ => {}
        }
    }

    /// Passes a log message on, with the members it consists of and no others. The rest of `params` is not parsed: it
    /// may be large.
    fn handle_log(&self, params: &str, origin: Option<&Arc<CallOrigin>>) {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, default)]
            level: Option<&'a RawValue>,
            #[serde(borrow, default)]
            logger: Option<&'a RawValue>,
            #[serde(borrow)]
            data: &'a RawValue,
        }
        let Ok(params) = serde_json::from_str::<Params<'_>>(params) else { return };
        let name = |raw: Option<&RawValue>| {
            let raw = raw.map(RawValue::get).filter(|raw| raw.len() <= MAX_LOG_NAME)?;
            serde_json::from_str::<String>(raw).ok().map(|text| self.sanitizer.for_log(&text))
        };
        let level = name(params.level).unwrap_or_else(|| "info".to_owned());
        let data = self.clean_log_data(params.data.get());
        if tracing::enabled!(tracing::Level::DEBUG) {
            let text = self.sanitizer.for_log(&data.to_string());
            tracing::debug!(source = &*self.name, level, "log message of the upstream: {text}");
        }
        let Some((_, client)) = self.client_for(origin) else { return };
        let logger = match name(params.logger) {
            Some(logger) => format!("{}/{logger}", self.name),
            None => self.name.to_string(),
        };
        client.log(Map::from_iter([
            ("level".to_owned(), level.into()),
            ("logger".to_owned(), logger.into()),
            ("data".to_owned(), data),
        ]));
    }

    /// Sanitizes the data of a log message. Long data becomes the beginning of its text.
    fn clean_log_data(&self, data: &str) -> Value {
        // Cut behind what is shown, so that a secret at the cut is not shown in part.
        let text = if data.len() > 2 * MAX_LOG_DATA {
            self.sanitizer.presentable(&truncated(data, 2 * MAX_LOG_DATA))
        } else {
            let data = self.sanitizer.clean_json(serde_json::from_str(data).unwrap_or_default());
            let text = data.to_string();
            if text.len() <= MAX_LOG_DATA {
                return data;
            }
            text
        };
        truncated(&text, MAX_LOG_DATA).into()
    }

    fn handle_progress(&self, params: &str) {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, rename = "progressToken")]
            token: &'a RawValue,
            progress: f64,
            total: Option<f64>,
            #[serde(borrow)]
            message: Option<Cow<'a, str>>,
        }
        let Ok(params) = serde_json::from_str::<Params<'_>>(params) else { return };
        let token = params.token.get().trim_matches('"').parse().ok();
        let Some(call_origin) = token.and_then(|id| self.calls.call_origin(id)) else { return };
        call_origin.record_activity();
        let message = params.message.map(|text| self.sanitizer.for_caller(&text));
        call_origin.progress.report(ProgressUpdate { current: params.progress, total: params.total, message });
    }

    /// Sends a response that the upstream can request as often as it likes. Over HTTP, responses beyond a limit are
    /// dropped; a pipe has a limit of its own.
    fn reply(self: &Arc<Self>, response: Vec<u8>) {
        match self.outbound.get() {
            Some(Outbound::Http(http)) => http.reply_later(self, response),
            _ => self.send(response),
        }
    }

    /// Answers a request of the upstream.
    fn answer_request(self: &Arc<Self>, id: &RawValue, method: &str, params: &str, origin: Option<&Arc<CallOrigin>>) {
        let capability = match method {
            "ping" => return self.reply(message::response(id, Ok(json!({})))),
            "elicitation/create" => ClientCapability::Elicitation,
            "sampling/createMessage" => ClientCapability::Sampling,
            "roots/list" => {
                self.roots.mark_requested();
                ClientCapability::Roots
            }
            _ => return self.reply(message::response(id, Err((-32601, "Method not found")))),
        };
        // Prepared before a client is looked for, so that a request that is not allowed is logged even without a
        // client.
        let question = serde_json::from_str(params)
            .ok()
            .and_then(|params| question::prepare_question(&self.sanitizer, capability, params));
        let recipient = self.client_for(origin).filter(|(_, client)| {
            client.can(capability) && question.as_ref().is_none_or(|question| question.fits(&**client))
        });
        let permit = self.questions.clone().try_acquire_owned();
        let recipient = recipient.filter(|(call_origin, _)| {
            question.is_none() || permit.is_err() || capability == ClientCapability::Roots || call_origin.may_ask()
        });
        let (Some((call_origin, client)), Ok(permit), Some(mut question)) = (recipient, permit, question) else {
            let cause = "it is not allowed, there are too many questions, or no client can answer";
            tracing::debug!(source = &*self.name, method, cause, "declined a question");
            return self.decline(id, capability);
        };
        let (shared, id) = (self.clone(), id.to_owned());
        tokio::spawn(async move {
            let _permit = permit;
            let open_question = call_origin.begin_question();
            let params = std::mem::take(&mut question.params);
            let ended = shared.ended.clone();
            let answer = tokio::select! {
                () = ended.cancelled() => return,
                answer = client.ask(capability, params) => answer,
            };
            drop(open_question);
            match answer {
                Ok(result) => shared.send(message::response(&id, Ok(question.translate(result)))),
                Err(failure) => {
                    tracing::debug!(source = &*shared.name, cause = failure.cause(), "the client did not answer");
                    shared.decline(&id, capability);
                }
            }
        });
    }

    /// Answers a request that no client can handle.
    fn decline(self: &Arc<Self>, id: &RawValue, capability: ClientCapability) {
        self.reply(match capability {
            ClientCapability::Elicitation => message::response(id, Ok(json!({ "action": "decline" }))),
            ClientCapability::Sampling => message::response(
                id,
                Err((-32601, "The client behind this call offers no sampling, or none with tools")),
            ),
            ClientCapability::Roots => message::response(id, Ok(self.roots.list())),
        });
    }
}

/// A JSON-RPC error as log text.
pub(crate) fn describe_rpc_error(error: &RpcError) -> String {
    format!("error {}: {}", error.code, error.message)
}
