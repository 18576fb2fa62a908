//! Regular expressions from untrusted definitions, compiled on first use within a budget.
//!
//! A pattern of ten characters can compile to a megabyte, and a catalog may contain thousands. Reading a definition
//! therefore compiles nothing, all patterns of one document share a budget, and a large pattern is not run on a long
//! text. A pattern that exceeds a limit is not enforced here; the owner of the definition enforces it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

/// Size limits for compiled patterns in bytes, tried in this order. A pattern is charged with the limit it fits into.
const SIZES: [usize; 3] = [8 * 1024, 64 * 1024, 512 * 1024];

/// Maximum bytes of compiled patterns for one document.
const MAX_DOCUMENT_BYTES: usize = 2 * 1024 * 1024;

/// Maximum product of a pattern's compiled size and a text's length, which approximates the steps of the slowest
/// engine.
const MAX_SCAN: usize = 1 << 31;

/// The remaining budget for the patterns of one document.
#[derive(Debug)]
pub struct PatternBudget {
    bytes_left: AtomicUsize,
    /// The patterns of the document by source. A repeated pattern is compiled and charged once.
    known: Mutex<HashMap<Arc<str>, Compilation>>,
}

/// A compiled pattern of the document. `None` if it cannot be compiled.
type Compilation = Arc<OnceLock<Option<CompiledPattern>>>;

impl Default for PatternBudget {
    fn default() -> Self {
        Self { bytes_left: AtomicUsize::new(MAX_DOCUMENT_BYTES), known: Mutex::default() }
    }
}

/// A compiled pattern and the size it was charged with.
#[derive(Debug, Clone)]
struct CompiledPattern {
    regex: regex::Regex,
    size: usize,
}

impl PatternBudget {
    /// Compiles a pattern with the smallest sufficient size limit, if the budget allows it.
    fn compile(&self, source: &str) -> Option<CompiledPattern> {
        for size in SIZES {
            let take = |left: usize| left.checked_sub(size);
            self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
            match regex::RegexBuilder::new(source).size_limit(size).build() {
                Ok(regex) => return Some(CompiledPattern { regex, size }),
                // The failed attempt stays charged.
                Err(regex::Error::CompiledTooBig(_)) => {}
                // It is invalid, or uses features that the engine does not support.
                Err(_) => {
                    self.bytes_left.fetch_add(size, Ordering::Relaxed);
                    return None;
                }
            }
        }
        None
    }
}

impl CompiledPattern {
    /// Whether the text matches, or matching a text of this length could take too long.
    fn admits(&self, text: &str) -> bool {
        self.size.saturating_mul(text.len()) > MAX_SCAN || self.regex.is_match(text)
    }
}

/// A regular expression with its source.
///
/// Matching takes linear time, so untrusted patterns cannot cause long delays. Patterns that the engine does not
/// support (lookaround, backreferences) or that exceed a limit are shown to the caller, but not enforced here.
#[derive(Clone)]
pub struct Pattern {
    source: Arc<str>,
    budget: Arc<PatternBudget>,
    compiled: Compilation,
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.source)
    }
}

/// Patterns with the same source are equal.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Pattern {
    /// A pattern with its own budget.
    pub fn new(source: &str) -> Self {
        Self::within(source, &Arc::default())
    }

    /// A pattern that shares a budget with others. It is compiled on first use.
    pub fn within(source: &str, budget: &Arc<PatternBudget>) -> Self {
        let mut known = budget.known.lock();
        let (source, compiled) = match known.get_key_value(source) {
            Some((source, compiled)) => (source.clone(), compiled.clone()),
            None => {
                let source: Arc<str> = source.into();
                (source.clone(), known.entry(source).or_default().clone())
            }
        };
        Self { source, budget: budget.clone(), compiled }
    }

    /// The pattern as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the text matches, or the pattern is not enforced.
    pub fn admits(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| self.budget.compile(&self.source));
        compiled.as_ref().is_none_or(|compiled| compiled.admits(text))
    }

    /// Whether it was compiled, which happens on first use.
    pub fn is_compiled(&self) -> bool {
        matches!(self.compiled.get(), Some(Some(_)))
    }
}
