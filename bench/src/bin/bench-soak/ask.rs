//! Requests to a gateway over HTTP, one after the other on one connection.

use std::time::Duration;

use anyhow::Context;
use aquifer_bench::http::{Address, Http};
use aquifer_bench::mcp::{FIRST_ID, Prepared, Ready};
use serde_json::{Value, json};

/// Nothing a gateway is asked here may take longer.
const TIMEOUT: Duration = Duration::from_secs(90);

pub(crate) struct Asker {
    http: Http,
    address: Address,
}

impl Asker {
    pub(crate) fn open(address: &Address) -> anyhow::Result<Self> {
        let http = Http::open(address)?;
        http.wait_at_most(TIMEOUT)?;
        Ok(Self { http, address: address.clone() })
    }

    /// The envelope of the answer, whether success or failure. What is no envelope is an error.
    pub(crate) fn ask(&mut self, operation: &str, params: &Value) -> anyhow::Result<Value> {
        let arguments = json!({ "operation": operation, "params": params }).to_string();
        let mut request = Vec::new();
        Ready::over_http(&Prepared::call("mcp_aql", &arguments), &self.address)
            .write(&FIRST_ID.to_string(), &mut request);
        let answer: Value = serde_json::from_slice(self.http.exchange(&request)?).context("the answer is not JSON")?;
        let envelope = answer.pointer("/result/structuredContent").with_context(|| format!("no envelope: {answer}"))?;
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
