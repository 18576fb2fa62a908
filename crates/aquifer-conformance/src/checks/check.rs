//! The definition of a check.

use futures::future::BoxFuture;

use super::feature::Feature;
use crate::context::CheckContext;
use crate::report::{Category, Tally};

/// The function of a check. It examines the server and records the results in the tally.
type CheckFunction = for<'a> fn(&'a mut CheckContext<'_>, &'a mut Tally) -> BoxFuture<'a, ()>;

/// A check.
pub struct Check {
    /// The stable name, for scripts: `parameters.required`.
    pub id: &'static str,
    /// What it verifies, as shown in the report.
    pub name: &'static str,
    /// The category in the report.
    pub category: Category,
    /// Other checks whose failures may make this one fail as well.
    pub depends_on: &'static [&'static str],
    /// Whether it needs permission to write.
    pub writes: bool,
    /// The unit of the count, in the plural.
    pub(crate) unit: &'static str,
    /// The optional feature it belongs to. Without the feature, the check is omitted.
    pub(crate) feature: Option<Feature>,
    /// What it applies to. If the server has nothing of the kind, the check is a SKIP that affects no level.
    pub(crate) subject: Option<Feature>,
    /// Whether it says something only where the stored data allow it. If they do not, the SKIP affects no level.
    pub(crate) where_observable: bool,
    /// The reason given if there is nothing to examine.
    pub(crate) skip_reason: &'static str,
    pub(crate) run: CheckFunction,
}

impl Check {
    pub(super) const fn new(
        id: &'static str,
        name: &'static str,
        category: Category,
        unit: &'static str,
        skip_reason: &'static str,
        run: CheckFunction,
    ) -> Self {
        Self {
            id,
            name,
            category,
            depends_on: &[],
            writes: false,
            unit,
            feature: None,
            subject: None,
            where_observable: false,
            skip_reason,
            run,
        }
    }

    pub(super) const fn depends_on(mut self, depends_on: &'static [&'static str]) -> Self {
        self.depends_on = depends_on;
        self
    }

    pub(super) const fn writes(mut self) -> Self {
        self.writes = true;
        self
    }

    /// For checks that a level needs, unless there is nothing that they could apply to.
    pub(super) const fn applies_to(mut self, subject: Feature) -> Self {
        self.subject = Some(subject);
        self
    }

    /// For checks of what cannot be seen in every state of a server.
    pub(super) const fn where_observable(mut self) -> Self {
        self.where_observable = true;
        self
    }

    pub(super) const fn for_feature(mut self, feature: Feature) -> Self {
        self.feature = Some(feature);
        self
    }
}
