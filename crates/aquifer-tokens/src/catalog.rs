//! What introspection says there is.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::aql::Aql;
use crate::count::Counts;
use crate::report::List;
use crate::server::{Server, Unanswered};
use crate::task::{self, Known};

/// Details that are looked at; of more, as many at even distances.
const MAX_DETAILS: usize = 500;

/// Operations that are searched for by their names, at even distances, too. Whatever the tasks are, it is the same figure.
const SEARCHES: usize = 10;

/// The parameter of operations that have to be confirmed.
const CONFIRMATION: &str = "confirmation_token";

/// What introspection says there is.
pub(crate) struct Catalogue {
    /// The operations and their semantic categories, as listed.
    pub(crate) operations: Vec<(String, String)>,
    /// Their details, as far as they were looked at.
    pub(crate) details: BTreeMap<String, Value>,
    /// What each of those costs.
    pub(crate) costs: Vec<(String, Counts)>,
    pub(crate) list: List,
}

impl Catalogue {
    pub(crate) async fn read<S: Server>(aql: &Aql<'_, S>) -> Result<Self, Unanswered> {
        let (listed, list) = aql.list().await?;
        let word = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let operations: Vec<(String, String)> =
            listed.iter().map(|one| (word(one, "name"), word(one, "semantic_category"))).collect();
        let every = operations.len().div_ceil(MAX_DETAILS).max(1);
        let looked_at: Vec<String> = operations.iter().step_by(every).map(|(name, _)| name.clone()).collect();
        let mut catalogue = Self { operations, details: BTreeMap::new(), costs: Vec::new(), list };
        for name in &looked_at {
            let cost = catalogue.look(aql, name).await?;
            catalogue.costs.extend(cost.map(|cost| (name.clone(), cost)));
        }
        Ok(catalogue)
    }

    /// Looks at one operation, if there is one of this name, and tells what that costs.
    pub(crate) async fn look<S: Server>(
        &mut self,
        aql: &Aql<'_, S>,
        operation: &str,
    ) -> Result<Option<Counts>, Unanswered> {
        let said = aql.detail(operation).await?;
        let detail = said.data().and_then(|data| data.get("operation"));
        if let Some(detail) = detail {
            self.details.insert(operation.to_owned(), detail.clone());
        }
        Ok(detail.map(|_| said.cost()))
    }

    /// What it costs to search for some of the operations by the words of their names.
    pub(crate) async fn searches<S: Server>(&self, aql: &Aql<'_, S>) -> Result<Vec<(String, Counts)>, Unanswered> {
        let every = self.operations.len().div_ceil(SEARCHES).max(1);
        let mut costs = Vec::new();
        for (name, _) in self.operations.iter().step_by(every) {
            let words = name.replace('_', " ");
            let (said, _) = aql.search(&words, name).await?;
            if said.data().is_some() {
                costs.push((words, said.cost()));
            }
        }
        Ok(costs)
    }

    pub(crate) fn known(&self) -> Vec<Known<'_>> {
        let known = |(name, _): &'_ (String, String)| self.details.get_key_value(name.as_str());
        self.operations
            .iter()
            .filter_map(known)
            .map(|(name, _)| Known { name, is_read: self.reads(name), parameters: self.parameters(name) })
            .collect()
    }

    /// Whether there is an operation of this name.
    pub(crate) fn has(&self, operation: &str) -> bool {
        self.operations.iter().any(|(name, _)| name == operation)
    }

    /// Whether an operation is known to read and nothing else: it was looked at, is READ, and nobody would have to confirm
    /// it. What is called READ and still asked about is not taken at its word.
    pub(crate) fn reads(&self, operation: &str) -> bool {
        let Some(detail) = self.detail(operation) else { return false };
        let listed = self.operations.iter().any(|(name, category)| name == operation && category == "READ");
        let permission = |name: &str| detail.pointer(&format!("/permissions/{name}")).and_then(Value::as_bool);
        let doubtful = permission("readOnly") == Some(false) || permission("destructive") == Some(true);
        listed && !doubtful && !task::takes(self.parameters(operation), CONFIRMATION)
    }

    /// Its detail, if it was looked at.
    pub(crate) fn detail(&self, operation: &str) -> Option<&Value> {
        self.details.get(operation)
    }

    /// The parameters it takes.
    pub(crate) fn parameters(&self, operation: &str) -> &[Value] {
        let parameters = self.detail(operation).and_then(|detail| detail.get("parameters"));
        parameters.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}
