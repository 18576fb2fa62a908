//! Jobs of the demo shop: a long export that can be watched and cancelled, and a newsletter that needs an approval.
//! Nothing leaves the process: the export is counted and dropped, and no mail is sent.

use std::sync::Arc;
use std::time::Duration;

use aquifer_adapter::{AdapterErrors, Answer, DryRun, Failure, IntoAdapter as _, Progress, Source, adapter};
use aquifer_engine::rehearsal::{ChangeKind, Preview, Reached, RehearsalResult, RowCount};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

/// Maximum number of rows between two progress reports.
const MAX_ROWS_PER_STEP: usize = 500;

/// The operation that can be rehearsed.
pub(super) const NEWSLETTER: &str = "execute_newsletter";

/// The shop's jobs, on the in-memory database.
#[derive(Clone)]
pub(super) struct Jobs {
    memory: String,
}

/// A table that can be exported.
#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ExportedTable {
    Customers,
    #[default]
    Orders,
    Products,
    Tickets,
}

/// The result of an export.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Export {
    table: ExportedTable,
    rows: usize,
    /// The size of all rows as JSON lines.
    bytes: usize,
}

/// The tier of a customer.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CustomerTier {
    Bronze,
    Silver,
    Gold,
}

/// The result of a newsletter.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Newsletter {
    subject: String,
    /// How many customers get it.
    recipients: u64,
    /// Whether it was sent. False after a dry run.
    sent: bool,
}

fn default_speed() -> usize {
    400
}

#[adapter]
impl Jobs {
    /// Export a table as JSON lines, row by row. Watch it with get_execution, stop it with cancel_execution; it ends with
    /// the server.
    #[operation(long_running, example("Export all orders in the background", { "table": "orders" }))]
    async fn execute_export(
        &self,
        /// The table to export.
        #[serde(default)]
        table: ExportedTable,
        /// How fast the receiving side takes rows.
        #[serde(default = "default_speed")]
        #[schemars(range(min = 1, max = 100_000))]
        rows_per_second: usize,
        progress: Progress,
    ) -> Answer<Export> {
        let lines = self.read(move |connection| json_lines(connection, table)).await?;
        let (total, mut rows, mut bytes) = (lines.len(), 0, 0);
        // About two reports per second, at any speed.
        let step = (rows_per_second / 2).clamp(1, MAX_ROWS_PER_STEP);
        let pause = Duration::from_secs(1).mul_f64(step as f64 / rows_per_second as f64);
        for chunk in lines.chunks(step) {
            tokio::time::sleep(pause).await;
            rows += chunk.len();
            bytes += chunk.iter().map(|line| line.len() + 1).sum::<usize>();
            progress.report(rows, total, format!("{rows} of {total} rows are exported"));
        }
        Ok(Export { table, rows, bytes })
    }

    /// Send a newsletter to customers. It cannot be called back, so a person has to agree first.
    #[operation(
        danger = Destructive,
        example("Who would get it?", {
            "subject": "Tents for less", "body": "All week.", "country": "Germany", "dry_run": true
        })
    )]
    async fn execute_newsletter(
        &self,
        /// The subject of the mail.
        #[schemars(length(min = 1, max = 200))]
        subject: String,
        /// The text of the mail.
        #[schemars(length(min = 1, max = 10_000))]
        body: String,
        /// Only customers in this country.
        country: Option<String>,
        /// Only customers of this tier.
        tier: Option<CustomerTier>,
        dry_run: DryRun,
    ) -> Answer<Newsletter> {
        let recipients = self.read(move |connection| count_recipients(connection, country, tier)).await?;
        let mut sent = false;
        // The demo has no mail server, so sending only writes to the log.
        dry_run.otherwise(|| {
            sent = true;
            tracing::info!(recipients, length = body.len(), "the newsletter would be sent now");
        });
        Ok(Newsletter { subject, recipients, sent })
    }
}

impl Jobs {
    pub(super) fn new(memory: &str) -> Self {
        Self { memory: aquifer_sql::memory_name(memory) }
    }

    pub(super) fn into_source(self, name: &str) -> Result<Arc<dyn Source>, AdapterErrors> {
        self.into_adapter().named(name).build()
    }

    /// Counts the recipients of a newsletter before somebody is asked about it.
    pub(super) async fn rehearse_newsletter(&self, params: &Map<String, Value>) -> RehearsalResult {
        let country = params.get("country").and_then(Value::as_str).map(str::to_owned);
        let tier = params.get("tier").and_then(|tier| serde_json::from_value(tier.clone()).ok());
        let Ok(recipients) = self.read(move |connection| count_recipients(connection, country, tier)).await else {
            return RehearsalResult::Unknown;
        };
        let reached = Reached {
            singular: "customer".to_owned(),
            plural: "customers".to_owned(),
            count: RowCount::Exactly(recipients),
        };
        let preview = Preview { change: ChangeKind::Run, reached: Some(reached), ..Preview::default() };
        RehearsalResult::WouldDo(Box::new(preview))
    }

    /// Reads from the sample database on a blocking thread.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Answer<T> {
        let memory = self.memory.clone();
        let read = tokio::task::spawn_blocking(move || {
            let connection = Connection::open(memory)?;
            // A writer may hold a lock for a moment.
            connection.busy_timeout(Duration::from_secs(5))?;
            connection.pragma_update(None, "query_only", true)?;
            read(&connection)
        });
        read.await.map_err(Failure::from_error)?.map_err(Failure::from_error)
    }
}

/// Every row of a table as JSON.
fn json_lines(connection: &Connection, table: ExportedTable) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(match table {
        ExportedTable::Customers => "SELECT * FROM customers ORDER BY id",
        ExportedTable::Orders => "SELECT * FROM orders ORDER BY id",
        ExportedTable::Products => "SELECT * FROM products ORDER BY id",
        ExportedTable::Tickets => "SELECT * FROM tickets ORDER BY id",
    })?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let rows = statement.query_map([], |row| {
        let mut fields = Map::new();
        for (index, name) in names.iter().enumerate() {
            let value = match row.get_ref(index)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => number.into(),
                ValueRef::Real(number) => number.into(),
                ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned().into(),
            };
            fields.insert(name.clone(), value);
        }
        Ok(Value::Object(fields).to_string())
    })?;
    rows.collect()
}

fn count_recipients(
    connection: &Connection,
    country: Option<String>,
    tier: Option<CustomerTier>,
) -> rusqlite::Result<u64> {
    let tier = tier.map(|tier| match tier {
        CustomerTier::Bronze => "bronze",
        CustomerTier::Silver => "silver",
        CustomerTier::Gold => "gold",
    });
    let sql = "SELECT count(*) FROM customers WHERE (?1 IS NULL OR country = ?1) AND (?2 IS NULL OR tier = ?2)";
    connection.query_row(sql, (country, tier), |row| row.get(0))
}
