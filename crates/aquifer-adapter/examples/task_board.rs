//! A task board: a complete adapter. Every method with `#[operation]` is an operation: its name, its doc comment and its
//! parameters are what callers see, and what is checked before it runs. Nothing is written twice.
use aquifer_adapter::{Answer, DryRun, Failure, Items, Patch, Progress, ServeError, adapter, serve_stdio};
use std::{collections::BTreeMap, time::Duration};

/// A task on the board.
#[derive(Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Task {
    id: u64,
    #[schemars(length(min = 1))]
    title: String,
    done: bool,
    #[serde(default)] // Merged key by key on update.
    notes: serde_json::Map<String, serde_json::Value>,
}
#[derive(Default)]
pub(crate) struct Board(tokio::sync::Mutex<BTreeMap<u64, Task>>);
#[adapter(name = "tasks")]
impl Board {
    /// Put a task on the board.
    #[operation]
    async fn create_task(&self, #[schemars(length(min = 1))] title: String, dry_run: DryRun) -> Answer<Task> {
        let mut tasks = self.0.lock().await;
        let id = tasks.keys().last().map_or(1, |last| last + 1);
        let task = Task { id, title, done: false, notes: Default::default() };
        dry_run.otherwise(|| tasks.insert(id, task.clone()));
        Ok(task)
    }
    /// Get one task.
    #[operation]
    async fn get_task(&self, id: u64) -> Answer<Task> {
        self.0.lock().await.get(&id).cloned().ok_or_else(|| Failure::not_found("task", id))
    }
    /// List tasks, all of them or only those done or not done.
    #[operation]
    async fn list_tasks(&self, done: Option<bool>) -> Answer<Items<Task>> {
        Ok(self.0.lock().await.values().filter(|task| done.is_none_or(|done| task.done == done)).cloned().collect())
    }
    /// Change a task.
    #[operation(idempotent)]
    async fn update_task(&self, id: u64, input: Patch<Task>, dry_run: DryRun) -> Answer<Task> {
        let mut tasks = self.0.lock().await;
        let task = input.apply(tasks.get(&id).ok_or_else(|| Failure::not_found("task", id))?)?;
        dry_run.otherwise(|| tasks.insert(id, task.clone()));
        Ok(task)
    }
    /// Take a task off the board.
    #[operation]
    async fn delete_task(&self, id: u64, dry_run: DryRun) -> Answer<Task> {
        let (task, mut tasks) = (self.get_task(id).await?, self.0.lock().await);
        dry_run.otherwise(|| tasks.remove(&id));
        Ok(task)
    }
    /// Do all open tasks, one after the other.
    #[operation(long_running)]
    async fn execute_tasks(&self, #[schemars(range(max = 60_000))] ms_each: u64, progress: Progress) -> Answer<usize> {
        let open = self.list_tasks(Some(false)).await?.items;
        for (index, task) in open.iter().enumerate() {
            tokio::time::sleep(Duration::from_millis(ms_each)).await;
            self.0.lock().await.entry(task.id).and_modify(|task| task.done = true);
            progress.report(index + 1, open.len(), format!("{} is done", task.title));
        }
        Ok(open.len())
    }
}
#[tokio::main]
async fn main() -> Result<(), ServeError> {
    serve_stdio(Board::default()).await
}
