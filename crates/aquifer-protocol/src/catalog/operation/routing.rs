//! Which other operations the requests of an operation lead to.

use std::sync::Arc;

/// Which other operations of its source a request leads to, all by their own names.
#[derive(Debug, Clone, Default)]
pub struct Routing {
    /// The source's generic operation that can be requested instead: `update_record` for `update_order`.
    pub generic_name: Option<Arc<str>>,
    /// Whether its source has to resolve a request before policy can decide: the parameters name the table, possibly by
    /// an alias.
    pub is_indirect: bool,
    /// Operations of its source that a request may need in addition, because it reads or changes the same data. If
    /// policy restricts one of them, the source determines which of them a request needs.
    pub may_need: Vec<Arc<str>>,
    /// Further operations that a request may need, shared by many operations: those that read what its reference paths
    /// lead to.
    pub may_reach: Arc<[Arc<str>]>,
    /// The operation whose request its source sends before its own: it reads what is replaced. That request counts
    /// against limits as well.
    pub reads_first: Option<Arc<str>>,
}
