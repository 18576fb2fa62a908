//! The stages of a request and how long each took, for a person who follows one request. Without such a person nothing
//! is measured.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A stage of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The operation was found and its parameters were checked.
    Check,
    /// The gate decided.
    Gate,
    /// The source answered. Lists that are fetched page by page have one for each page.
    Source,
    /// The answer was filtered, sorted and cut.
    Shape,
}

impl Stage {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Stage::Check => "check",
            Stage::Gate => "gate",
            Stage::Source => "source",
            Stage::Shape => "shape",
        }
    }
}

/// Records when the stages of a request ended, if anybody wants to know.
#[derive(Debug, Clone, Default)]
pub struct Trace(Option<Arc<Recording>>);

#[derive(Debug)]
struct Recording {
    started: Instant,
    ends: Mutex<Vec<(Stage, Instant)>>,
}

/// More stages are not recorded. A list of very many pages has as many.
const MAX_STAGES: usize = 200;

impl Trace {
    /// A trace that records.
    pub fn recording() -> Self {
        Self(Some(Arc::new(Recording { started: Instant::now(), ends: Mutex::default() })))
    }

    /// Records that a stage has ended.
    pub(crate) fn end(&self, stage: Stage) {
        let Some(recording) = &self.0 else { return };
        let mut ends = recording.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if ends.len() < MAX_STAGES {
            ends.push((stage, Instant::now()));
        }
    }

    /// The stages in their order, and how long each took. The stages of the operations of a batch follow each other.
    pub fn stages(&self) -> Vec<(Stage, Duration)> {
        let Some(recording) = &self.0 else { return Vec::new() };
        let ends = recording.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = recording.started;
        let stages = ends.iter().map(|(stage, end)| {
            let took = end.saturating_duration_since(before);
            before = *end;
            (*stage, took)
        });
        stages.collect()
    }
}
