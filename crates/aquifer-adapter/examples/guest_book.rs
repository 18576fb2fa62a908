//! A guest book with an extractor of its own: `Guest` is taken from the call, so that nobody signs for somebody else.
use aquifer_adapter::{
    Answer, CallParts, Caller, Code, DryRun, Failure, FromCall, ItemStream, Patch, ServeError, WithWarnings, adapter,
    serve_stdio,
};
use std::collections::BTreeMap;
use tokio::sync::Mutex;

/// The guest who calls.
pub(crate) struct Guest(String);

impl<S: Send + Sync> FromCall<S> for Guest {
    async fn from_call(call: &mut CallParts<S>) -> Answer<Self> {
        let Caller { principal, session } = call.caller();
        let name = principal.as_ref().or(session.as_ref()).map_or("a stranger", |name| name);
        Ok(Self(name.to_owned()))
    }
}

/// The type decides what is extracted, so another name for it works as well.
type Author = Guest;

/// An entry in the guest book.
#[derive(Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Entry {
    number: u64,
    #[schemars(extend("readOnly" = true))]
    guest: String,
    #[schemars(length(min = 1, max = 500))]
    text: String,
    stars: Option<u8>,
}

/// The guest book.
#[derive(Default)]
pub(crate) struct GuestBook(Mutex<BTreeMap<u64, Entry>>);

fn not_found(number: u64) -> Failure {
    Failure::not_found("entry", number)
}

#[adapter]
impl GuestBook {
    /// Write an entry.
    #[operation]
    async fn create_entry(
        &self,
        guest: Guest,
        #[schemars(length(min = 1, max = 500))] text: String,
        #[schemars(range(min = 1, max = 5))] stars: Option<u8>,
        dry_run: DryRun,
    ) -> Answer<WithWarnings<Entry>> {
        let mut entries = self.0.lock().await;
        let number = entries.keys().last().map_or(1, |last| last + 1);
        let entry = Entry { number, guest: guest.0, text, stars };
        dry_run.otherwise(|| entries.insert(number, entry.clone()));
        let answer = WithWarnings::new(entry);
        Ok(if stars.is_none() { answer.warn("NO_STARS", "The entry has no stars") } else { answer })
    }

    /// Get one entry.
    #[operation]
    async fn get_entry(&self, number: u64) -> Answer<Entry> {
        self.0.lock().await.get(&number).cloned().ok_or_else(|| not_found(number))
    }

    /// List entries.
    #[operation]
    async fn list_entries(&self) -> Answer<ItemStream<Entry>> {
        let entries: Vec<Entry> = self.0.lock().await.values().cloned().collect();
        Ok(ItemStream::new(futures::stream::iter(entries.into_iter().map(Ok))))
    }

    /// Change an entry of your own.
    #[operation]
    async fn update_entry(&self, number: u64, author: Author, input: Patch<Entry>, dry_run: DryRun) -> Answer<Entry> {
        let mut entries = self.0.lock().await;
        let current = entries.get(&number).ok_or_else(|| not_found(number))?;
        if current.guest != author.0 {
            return Err(Failure::new(Code::PermissionDenied, "Permission denied: somebody else wrote the entry"));
        }
        let entry = input.apply(current)?;
        dry_run.otherwise(|| entries.insert(number, entry.clone()));
        Ok(entry)
    }

    /// Remove an entry.
    #[operation]
    async fn delete_entry(&self, number: u64, dry_run: DryRun) -> Answer<Entry> {
        let entry = self.get_entry(number).await?;
        let mut entries = self.0.lock().await;
        dry_run.otherwise(|| entries.remove(&number));
        Ok(entry)
    }
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    serve_stdio(GuestBook::default()).await
}
