//! Records the SQL that databases are sent.

use std::fmt::Debug;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::Context;

/// Records the SQL on this subscriber.
#[derive(Clone, Default)]
pub(crate) struct SqlLog(Arc<Mutex<Vec<String>>>);

impl SqlLog {
    /// Takes the matching statements. The others stay.
    pub(crate) fn take(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        self.0.lock().extract_if(.., |text| wanted(text)).collect()
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for SqlLog {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event.record(&mut Sql(self));
    }
}

struct Sql<'r>(&'r SqlLog);

impl Visit for Sql<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "sql" {
            self.0.0.lock().push(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
