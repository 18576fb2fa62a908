//! The operations of a server, as listed and described by introspection.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::aql::{AqlServer, CONFIRMATION};
use crate::count::TokenCounts;
use crate::report::ListCost;
use crate::server::{Server, ServerError};
use crate::task::{self, OperationSummary};

/// Details are fetched for at most this many operations, evenly spaced.
const MAX_DETAILS: usize = 500;

/// Number of operations that are searched for by name, evenly spaced. Independent of the tasks.
const MAX_SEARCHES: usize = 10;

/// The operations of a server.
pub(crate) struct Catalog {
    /// Names and semantic categories, in list order.
    pub(crate) operations: Vec<(String, String)>,
    /// The details that were fetched, by operation.
    pub(crate) details: BTreeMap<String, Value>,
    /// The cost of each fetched detail.
    pub(crate) costs: Vec<(String, TokenCounts)>,
    pub(crate) list: ListCost,
}

impl Catalog {
    pub(crate) async fn fetch<S: Server>(aql: &AqlServer<'_, S>) -> Result<Self, ServerError> {
        let (listed, list) = aql.list_operations().await?;
        let word = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let operations: Vec<(String, String)> =
            listed.iter().map(|one| (word(one, "name"), word(one, "semantic_category"))).collect();
        let every = operations.len().div_ceil(MAX_DETAILS).max(1);
        let sampled: Vec<String> = operations.iter().step_by(every).map(|(name, _)| name.clone()).collect();
        let mut catalog = Self { operations, details: BTreeMap::new(), costs: Vec::new(), list };
        for name in &sampled {
            let cost = catalog.fetch_detail(aql, name).await?;
            catalog.costs.extend(cost.map(|cost| (name.clone(), cost)));
        }
        Ok(catalog)
    }

    /// Fetches the details of an operation and returns the cost; `None` if there is no such operation.
    pub(crate) async fn fetch_detail<S: Server>(
        &mut self,
        aql: &AqlServer<'_, S>,
        operation: &str,
    ) -> Result<Option<TokenCounts>, ServerError> {
        let reply = aql.detail(operation).await?;
        let detail = reply.data().and_then(|data| data.get("operation"));
        if let Some(detail) = detail {
            self.details.insert(operation.to_owned(), detail.clone());
        }
        Ok(detail.map(|_| reply.cost()))
    }

    /// Searches for some operations by the words of their names, and returns the costs.
    pub(crate) async fn measure_searches<S: Server>(
        &self,
        aql: &AqlServer<'_, S>,
    ) -> Result<Vec<(String, TokenCounts)>, ServerError> {
        let every = self.operations.len().div_ceil(MAX_SEARCHES).max(1);
        let mut costs = Vec::new();
        for (name, _) in self.operations.iter().step_by(every) {
            let words = name.replace('_', " ");
            let (reply, _) = aql.search(&words, name).await?;
            if reply.data().is_some() {
                costs.push((words, reply.cost()));
            }
        }
        Ok(costs)
    }

    pub(crate) fn summaries(&self) -> Vec<OperationSummary<'_>> {
        let known = |(name, _): &'_ (String, String)| self.details.get_key_value(name.as_str());
        self.operations
            .iter()
            .filter_map(known)
            .map(|(name, _)| OperationSummary {
                name,
                is_read: self.is_read_only(name),
                parameters: self.parameters(name),
            })
            .collect()
    }

    /// Whether the server lists an operation with this name.
    pub(crate) fn has_operation(&self, operation: &str) -> bool {
        self.operations.iter().any(|(name, _)| name == operation)
    }

    /// Whether an operation is known to only read: its details were fetched, its category is READ, and it takes no
    /// confirmation. An operation that claims READ but may ask for confirmation is not trusted.
    pub(crate) fn is_read_only(&self, operation: &str) -> bool {
        let Some(detail) = self.detail(operation) else { return false };
        let listed = self.operations.iter().any(|(name, category)| name == operation && category == "READ");
        let permission = |name: &str| detail.pointer(&format!("/permissions/{name}")).and_then(Value::as_bool);
        let doubtful = permission("readOnly") == Some(false) || permission("destructive") == Some(true);
        listed && !doubtful && !task::has_parameter(self.parameters(operation), CONFIRMATION)
    }

    /// The details of an operation, if they were fetched.
    pub(crate) fn detail(&self, operation: &str) -> Option<&Value> {
        self.details.get(operation)
    }

    /// The parameters of an operation.
    pub(crate) fn parameters(&self, operation: &str) -> &[Value] {
        let parameters = self.detail(operation).and_then(|detail| detail.get("parameters"));
        parameters.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}
