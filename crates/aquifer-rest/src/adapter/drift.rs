//! Compares a description with the one that was reviewed (R-DIS-7a).

use std::collections::BTreeMap;

use aquifer_protocol::operation::Operation;

use crate::api::Api;

const CHANGED: &str =
    "its definition changed since it was reviewed. An operator can build its adapter file again and review it.";

const GONE: &str = "it is gone from the description of its API. An operator can build its adapter file again.";

impl Api {
    /// Quarantines the operations whose definitions have changed since they were reviewed. `current` contains the
    /// digests of the current definitions. New operations are not served, and a note tells the operator about them.
    pub fn compare_definitions(&mut self, current: &BTreeMap<String, String>) {
        if self.reviewed_digests.is_empty() {
            self.notes.push(
                "The adapter file was not built from a description, so nothing is compared with 'openapi'.".to_owned(),
            );
            return;
        }
        for operation in &mut self.operations {
            let Some(place) = self.described_at.get(&operation.name) else { continue };
            match (current.get(&**place), self.reviewed_digests.get(&**place)) {
                (None, _) => *operation = stub(operation, GONE),
                (Some(now), Some(reviewed)) if now == reviewed => {}
                _ => *operation = stub(operation, CHANGED),
            }
        }
        let mut new = current.keys().filter(|place| !self.reviewed_digests.contains_key(*place)).peekable();
        let Some(first) = new.peek().map(|place| aquifer_discovery::visible_name(place)) else { return };
        let count = new.count();
        let operations = if count == 1 { "operation is" } else { "operations are" };
        self.notes.push(format!(
            "{count} {operations} new in the description since it was reviewed, and not served. The first is {first}. \
             Build the adapter file again."
        ));
    }
}

/// A quarantined operation as it is listed: with the reason why it cannot be called, and without its definition.
fn stub(operation: &Operation, cause: &str) -> Operation {
    let mut quarantined = Operation::new(&operation.name, operation.category, &format!("Quarantined: {cause}"));
    quarantined.safety.danger = operation.safety.danger;
    quarantined.safety.danger_evidence = operation.safety.danger_evidence.clone();
    quarantined.safety.effects = operation.safety.effects.clone();
    quarantined.origin.source = operation.origin.source.clone();
    quarantined.origin.place = operation.origin.place.clone();
    quarantined.origin.trust = operation.origin.trust;
    quarantined.origin.native = false;
    quarantined.safety.quarantine = Some(cause.into());
    quarantined
}
