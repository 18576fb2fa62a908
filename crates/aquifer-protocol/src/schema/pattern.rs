//! Regular expressions from untrusted definitions: compiled at first use, within a budget.
//!
//! A pattern of ten characters can compile to a megabyte, and a catalog may hold thousands of them. Reading a definition
//! therefore compiles nothing, all patterns of one document share a budget, and a large pattern is not run over a long
//! text. A pattern that exceeds a limit is not enforced here; whoever owns the definition enforces it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Sizes of compiled patterns in bytes, tried in this order. A pattern is charged with the size it fits into.
const SIZES: [usize; 3] = [8 * 1024, 64 * 1024, 512 * 1024];

/// Bytes of compiled patterns that one document may have.
const MAX_DOCUMENT_BYTES: usize = 2 * 1024 * 1024;

/// Size of a compiled pattern times length of a text: the steps that the slowest engine would take, roughly.
const MAX_SCAN: usize = 1 << 31;

/// How much the patterns of one document may still take.
#[derive(Debug)]
pub struct PatternBudget {
    bytes_left: AtomicUsize,
    /// The patterns of the document by their sources: one that is repeated is compiled and charged once.
    known: Mutex<HashMap<Arc<str>, Compilation>>,
}

/// A pattern of the document, once it is compiled. `None` if it cannot be.
type Compilation = Arc<OnceLock<Option<CompiledPattern<regex::Regex>>>>;

impl Default for PatternBudget {
    fn default() -> Self {
        Self { bytes_left: AtomicUsize::new(MAX_DOCUMENT_BYTES), known: Mutex::default() }
    }
}

/// Why a pattern cannot be compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternError {
    /// It exceeds the size in bytes it was given.
    TooLarge,
    /// It is invalid, or needs what the engine does not have.
    Unsupported,
}

/// A compiled pattern and the size it was charged with.
#[derive(Debug, Clone)]
pub struct CompiledPattern<T> {
    matcher: T,
    size: usize,
}

impl PatternBudget {
    /// Compiles a pattern with the smallest limit that suffices, if the budget still has that much.
    pub fn compile<T>(&self, build: impl Fn(usize) -> Result<T, PatternError>) -> Option<CompiledPattern<T>> {
        for size in SIZES {
            let take = |left: usize| left.checked_sub(size);
            self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
            match build(size) {
                Ok(matcher) => return Some(CompiledPattern { matcher, size }),
                // The work was done in vain, so it stays charged.
                Err(PatternError::TooLarge) => {}
                Err(PatternError::Unsupported) => {
                    self.bytes_left.fetch_add(size, Ordering::Relaxed);
                    return None;
                }
            }
        }
        None
    }
}

impl<T> CompiledPattern<T> {
    /// The matcher, unless running it over a text of this length could take too long.
    pub fn for_text(&self, text: &str) -> Option<&T> {
        (self.size.saturating_mul(text.len()) <= MAX_SCAN).then_some(&self.matcher)
    }
}

/// A regular expression with its source.
///
/// Matching takes linear time, so no pattern from outside can stall us. Patterns this engine cannot express
/// (look-around, back-references) stay as words for the caller and are not enforced here, nor are those that exceed a
/// limit.
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
    /// A pattern with a budget of its own.
    pub fn new(source: &str) -> Self {
        Self::within(source, &Arc::default())
    }

    /// A pattern that shares a budget with others. It is compiled when a text is first held against it.
    pub fn within(source: &str, budget: &Arc<PatternBudget>) -> Self {
        let mut known = budget.known.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Whether the text may pass.
    pub fn admits(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| self.budget.compile(|size| compile(&self.source, size)));
        compiled.as_ref().and_then(|compiled| compiled.for_text(text)).is_none_or(|regex| regex.is_match(text))
    }

    /// Whether it was compiled, which takes place when a text is first held against it.
    pub fn is_compiled(&self) -> bool {
        matches!(self.compiled.get(), Some(Some(_)))
    }
}

fn compile(source: &str, size: usize) -> Result<regex::Regex, PatternError> {
    regex::RegexBuilder::new(source).size_limit(size).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
        _ => PatternError::Unsupported,
    })
}
