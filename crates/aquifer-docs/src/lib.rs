//! The documentation as a website: the Markdown files of the repository, compiled in, become HTML pages with navigation,
//! a table of contents and a search index.
//!
//! The crate is pure. It reads no files and serves nothing: a [`Site`] is a set of finished files, which the explorer
//! serves at `/docs` and `cargo xtask docs-site` writes into a folder. Pages need no script; with one they can be searched.
//! They contain no inline script or style, so the content security policy of the explorer holds for them.

mod html;
mod layout;
mod link;
pub mod markdown;
mod page;
mod search_index;
mod site;

pub use link::LinkStyle;
pub use link::LinkTarget;
pub use link::resolve;
pub use page::Group;
pub use page::PAGES;
pub use page::Page;
pub use site::Site;
pub use site::SiteFile;
