//! A client of a gateway over HTTP: one request after the other on one connection.

use std::time::Duration;

use anyhow::Context;
use aquifer_bench::http::{Address, Http};
use aquifer_bench::mcp::{FIRST_ID, Prepared, Ready};
use serde_json::{Value, json};

/// Maximum time for any request here.
const TIMEOUT: Duration = Duration::from_secs(90);

pub(crate) struct GatewayClient {
    address: Address,
    /// Opened when needed, and dropped after a failure, so that a late answer is not taken for the next one.
    http: Option<Http>,
}

impl GatewayClient {
    pub(crate) fn new(address: &Address) -> Self {
        Self { address: address.clone(), http: None }
    }

    /// Returns the envelope of the answer, whether success or failure. Fails if the answer is not an envelope.
    pub(crate) fn call(&mut self, operation: &str, params: &Value) -> anyhow::Result<Value> {
        let mut http = match self.http.take() {
            Some(http) => http,
            None => Http::open(&self.address)?,
        };
        http.set_timeout(TIMEOUT)?;
        let arguments = json!({ "operation": operation, "params": params }).to_string();
        let mut request = Vec::new();
        let ready = Ready::over_http(&Prepared::call("mcp_aql", &arguments), &self.address);
        ready.write(&FIRST_ID.to_string(), &mut request);
        let answer: Value = serde_json::from_slice(http.exchange(&request)?).context("the answer is not JSON")?;
        let envelope = answer.pointer("/result/structuredContent").with_context(|| format!("no envelope: {answer}"))?;
        self.http = Some(http);
        Ok(envelope.clone())
    }
}

pub(crate) fn is_success(envelope: &Value) -> bool {
    envelope.get("success") == Some(&Value::Bool(true))
}

/// The code of a failure.
pub(crate) fn code(envelope: &Value) -> &str {
    envelope.pointer("/error/code").and_then(Value::as_str).unwrap_or_default()
}
