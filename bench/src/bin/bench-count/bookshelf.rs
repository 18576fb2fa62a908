//! A small adapter, to compare a call through the engine with a direct call of its method.

use aquifer_adapter::{Answer, Failure, adapter};
use serde_json::{Map, Value};

/// A book on the shelf.
#[derive(Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Book {
    id: u64,
    title: String,
    author: String,
    pages: u32,
    lent: bool,
}

pub(crate) struct Bookshelf(Vec<Book>);

impl Bookshelf {
    pub(crate) fn new() -> Self {
        let book = |id| Book {
            id,
            title: format!("Volume {id}"),
            author: "Nobody in particular".to_owned(),
            pages: 320,
            lent: false,
        };
        Self((1..=100).map(book).collect())
    }

    /// What a server without an engine would do: parse the parameters, call, serialize the answer. It validates nothing
    /// else.
    pub(crate) async fn by_hand(&self, params: Map<String, Value>) -> anyhow::Result<Value> {
        let params: GetBookByHand = serde_json::from_value(Value::Object(params))?;
        match self.get_book(params.id, params.lang).await {
            Ok(book) => Ok(serde_json::to_value(book)?),
            Err(failure) => anyhow::bail!("no book: {}", failure.code().as_str()),
        }
    }
}

#[derive(serde::Deserialize)]
struct GetBookByHand {
    id: u64,
    lang: Option<String>,
}

#[adapter]
impl Bookshelf {
    /// Get one book.
    #[operation]
    pub(crate) async fn get_book(
        &self,
        /// Which book.
        #[schemars(range(min = 1, max = 100))]
        id: u64,
        /// In which language.
        #[schemars(length(min = 2, max = 8))]
        lang: Option<String>,
    ) -> Answer<Book> {
        let found = self.0.iter().find(|book| book.id == id && lang.as_deref() != Some("none"));
        found.cloned().ok_or_else(|| Failure::not_found("book", id))
    }
}
