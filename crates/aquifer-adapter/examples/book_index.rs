//! A library whose catalog is an index: `Index` executes queries itself, so a list reads no more books than its page needs.
//! Books have versions: `_etag` in answers, `if_match` to change only what has not changed since.
use aquifer_adapter::plan::{Filter, Page as RequestedPage, Plan, Test};
use aquifer_adapter::{
    Answer, Collection, DryRun, Etag, Failure, IfMatch, Page, Patch, Scan, ServeError, VersionedQuery, adapter,
    serve_stdio,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokio::sync::RwLock;

/// A book of the library.
#[derive(Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema, Etag)]
pub(crate) struct Book {
    id: u64,
    #[schemars(length(min = 1, max = 200))]
    title: String,
    #[schemars(length(min = 1, max = 100))]
    author: String,
    /// The year it appeared.
    #[schemars(range(min = 0, max = 9999))]
    year: u16,
    /// What it is about.
    summary: Option<String>,
}

/// All books by their number, and the numbers of each author's books.
#[derive(Default)]
struct Index {
    books: BTreeMap<u64, Book>,
    by_author: HashMap<String, BTreeSet<u64>>,
}

impl Index {
    fn insert(&mut self, book: Book) {
        self.remove(book.id);
        self.by_author.entry(book.author.clone()).or_default().insert(book.id);
        self.books.insert(book.id, book);
    }

    fn remove(&mut self, id: u64) {
        let Some(book) = self.books.remove(&id) else { return };
        if let Some(numbers) = self.by_author.get_mut(&book.author) {
            numbers.remove(&id);
        }
    }

    fn get(&self, id: u64) -> Answer<&Book> {
        self.books.get(&id).ok_or_else(|| Failure::not_found("book", id))
    }
}

/// The author that a filter asks for, if it asks for one.
fn author(filter: &Filter) -> Option<&str> {
    match filter {
        Filter::Test { path, test: Test::Eq(value), .. } if &*path.name == "author" => value.as_str(),
        Filter::And(filters) => filters.iter().find_map(author),
        _ => None,
    }
}

impl Collection for Index {
    type Item = Book;

    async fn scan<'a>(&'a self, plan: &'a Plan) -> Answer<Scan<'a, Book>> {
        if let Some(author) = plan.filter.as_ref().and_then(author) {
            let numbers = self.by_author.get(author).into_iter().flatten();
            return Ok(Scan::new(numbers.filter_map(|id| self.books.get(id).cloned())));
        }
        // Without sort criteria the order is that of the numbers, and a cursor is the last number of the page before.
        let after = match &plan.page {
            RequestedPage::Forward { after: Some(position), .. } if plan.sort.is_empty() => {
                position.first().and_then(|number| number.as_u64())
            }
            _ => None,
        };
        let books = self.books.range(after.map_or(0, |last| last + 1)..).map(|(_, book)| book.clone());
        Ok(if plan.sort.is_empty() { Scan::new(books).sorted() } else { Scan::new(books) })
    }
}

/// A library.
#[derive(Default)]
pub(crate) struct Library(RwLock<Index>);

#[adapter]
impl Library {
    /// Add a book.
    #[operation]
    async fn create_book(
        &self,
        #[schemars(length(min = 1, max = 200))] title: String,
        #[schemars(length(min = 1, max = 100))] author: String,
        #[schemars(range(min = 0, max = 9999))] year: u16,
        summary: Option<String>,
        dry_run: DryRun,
    ) -> Answer<Book> {
        let mut index = self.0.write().await;
        let id = index.books.keys().last().map_or(1, |last| last + 1);
        let book = Book { id, title, author, year, summary };
        dry_run.otherwise(|| index.insert(book.clone()));
        Ok(book)
    }

    /// Get one book.
    #[operation]
    async fn get_book(&self, id: u64) -> Answer<Book> {
        self.0.read().await.get(id).cloned()
    }

    /// List books.
    #[operation]
    async fn list_books(&self, query: VersionedQuery<Book>) -> Answer<Page<Book>> {
        query.run(&*self.0.read().await).await
    }

    /// Correct a book.
    #[operation(idempotent)]
    async fn update_book(&self, id: u64, input: Patch<Book>, if_match: IfMatch, dry_run: DryRun) -> Answer<Book> {
        let mut index = self.0.write().await;
        let current = index.get(id)?;
        if_match.check(current)?;
        let book = input.apply(current)?;
        dry_run.otherwise(|| index.insert(book.clone()));
        Ok(book)
    }

    /// Remove a book for good.
    #[operation(confirm = "Remove book {id} from the library?")]
    async fn delete_book(&self, id: u64, if_match: IfMatch, dry_run: DryRun) -> Answer<Book> {
        let mut index = self.0.write().await;
        let book = index.get(id)?.clone();
        if_match.check(&book)?;
        dry_run.otherwise(|| index.remove(id));
        Ok(book)
    }
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    serve_stdio(Library::default()).await
}
