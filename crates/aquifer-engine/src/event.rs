//! The events of the engine, for logs and metrics.

use std::time::Duration;

use aquifer_protocol::error::{Code, Fault};

use crate::call::Context;

/// Who made a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallerLabel<'a> {
    /// The authenticated principal.
    pub principal: Option<&'a str>,
    /// What the client calls itself. Nobody has verified it.
    pub client_name: Option<&'a str>,
}

impl<'a> From<&'a Context> for CallerLabel<'a> {
    fn from(context: &'a Context) -> Self {
        Self { principal: context.caller.principal.as_deref(), client_name: context.client_name.as_deref() }
    }
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A request was answered with success.
    Answered {
        /// The request.
        request_id: &'a str,
        /// Its operation.
        operation: &'a str,
        /// How long it took.
        took: Duration,
        /// Who made it.
        caller: CallerLabel<'a>,
    },
    /// A request was refused or failed.
    Failed {
        /// The request.
        request_id: &'a str,
        /// Its operation, if one was recognised.
        operation: &'a str,
        /// The code the caller sees.
        code: Code,
        /// What the caller must not see.
        cause: Option<&'a str>,
        /// Who made it.
        caller: CallerLabel<'a>,
    },
    /// A handler panicked. The caller sees an internal error.
    Panicked {
        /// The request.
        request_id: &'a str,
        /// Its operation.
        operation: &'a str,
        /// The panic message.
        message: &'a str,
        /// Who made it.
        caller: CallerLabel<'a>,
    },
    /// The caller cancelled.
    Cancelled {
        /// The request.
        request_id: &'a str,
        /// Its operation.
        operation: &'a str,
        /// Who made it.
        caller: CallerLabel<'a>,
    },
    /// The catalog was replaced.
    CatalogChanged {
        /// The number of operations.
        operations: usize,
    },
}

/// Receives all events. Must not block.
pub trait Observer: Send + Sync + 'static {
    /// Handles an event.
    fn observe(&self, event: Event<'_>);
}

/// Names are truncated in the log, because an unknown name can be any text from a caller.
const MAX_LOGGED_CHARS: usize = 100;

fn shorten(name: &str) -> &str {
    name.char_indices().nth(MAX_LOGGED_CHARS).and_then(|(end, _)| name.get(..end)).unwrap_or(name)
}

/// Writes events to the log: one line for each call at `info`, failures caused by the server at `error`.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogObserver;

impl Observer for LogObserver {
    fn observe(&self, event: Event<'_>) {
        match event {
            Event::Answered { request_id, operation, took, .. } => {
                tracing::info!(operation, took_us = took.as_micros(), request_id, "answered");
            }
            Event::Failed { request_id, operation, code, cause, .. } => {
                let operation = shorten(operation);
                if code.info().fault == Fault::Us {
                    tracing::error!(operation, code = code.as_str(), cause, request_id, "failed");
                } else {
                    tracing::info!(operation, code = code.as_str(), cause, request_id, "refused");
                }
            }
            Event::Panicked { request_id, operation, message, .. } => {
                tracing::error!(request_id, operation, message, "handler panicked");
            }
            Event::Cancelled { request_id, operation, .. } => tracing::info!(operation, request_id, "cancelled"),
            Event::CatalogChanged { operations } => tracing::info!(operations, "catalog changed"),
        }
    }
}
