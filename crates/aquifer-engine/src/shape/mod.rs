//! Shapes results between source and envelope (R-DIS-8).
//!
//! An operation with [`Shaping`](aquifer_protocol::operation::Shaping) has parameters that belong to the engine: the
//! controls. They are removed before the source is called, and applied to its result. If only a part of a result is
//! returned, the result is held, and later pages come from there without another call to the source. Without controls a
//! result is passed on unchanged, except that long text is paged. The source answers such an operation with the result
//! itself: a JSON value, or text as a JSON string.
//!
//! Controls are offered where they can apply (R-DIS-8a). What a first result of an operation looks like is told to its
//! source, which offers controls accordingly from then on. The names in a result are shown only to the caller who got it.
//!
//! A source may return a list page by page. Its further pages are fetched when the caller needs rows of them, up to a
//! number of pages for each call, and added to the held result.

mod budget;
mod held_results;
mod observations;
mod pages;
mod pass_through;

use std::sync::Arc;
use std::time::{Duration, Instant};

use aquifer_protocol::error::Failure;
use aquifer_protocol::exact_number;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::{Operation, RowPlace, Shaping as Offered};
use aquifer_protocol::response::{Attachment, Data};
use aquifer_protocol::warning::Warning;
use aquifer_query::shape::{
    Observation, ResultContent, ShapingRequest, refuse_without_rows, shape_object, take_controls, without_rows,
};
use aquifer_query::{Collection, CursorKey, Work, WorkLimits};
use serde_json::{Map, Value};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;

use crate::call::caller::Caller;
use crate::call::{Answer, Context, Outcome, PageRequest};
use crate::clock::SharedClock;
use crate::store::StateStore;
use held_results::HeldResults;
use observations::Observations;
use pages::{HeldPage, ListPage, ListProgress, SourcePage, exact_data};

pub use aquifer_query::shape::Controls;
pub use aquifer_query::shape::ResultShape;
pub use aquifer_query::shape::add_controls;
pub use aquifer_query::shape::add_observed_controls;
pub use aquifer_query::shape::control_parameters;
pub use aquifer_query::shape::declare_pages;
pub use aquifer_query::shape::set_default_fields;

/// The settings for shaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The maximum number of rows in a page.
    pub max_page_size: usize,
    /// Rows with more bytes are paged automatically.
    pub max_page_bytes: usize,
    /// Text with more bytes is paged automatically.
    pub max_text_bytes: usize,
    /// Results with more bytes in memory are not held.
    pub max_result_bytes: usize,
    /// The maximum number of bytes of all held results in memory.
    pub max_held_bytes: usize,
    /// The maximum number of held results.
    pub max_held: usize,
    /// Results with more bytes are held in this process only, not in the state store.
    pub max_stored_bytes: usize,
    /// The maximum number of pages of a list that one call fetches from a source that returns pages.
    pub max_source_pages: usize,
    /// How long a result is held.
    pub ttl: Duration,
    /// The token budget of an answer if the caller sets none. `None` means no limit.
    pub max_tokens: Option<usize>,
    /// What filters, order, aggregates and selected fields of one call may cost.
    pub work: WorkLimits,
}

impl Default for Settings {
    fn default() -> Self {
        const KIB: usize = 1_024;
        Self {
            max_page_size: 1_000,
            max_page_bytes: 64 * KIB,
            max_text_bytes: 64 * KIB,
            max_result_bytes: 32 * KIB * KIB,
            max_held_bytes: 128 * KIB * KIB,
            max_held: 256,
            max_stored_bytes: 256 * KIB,
            max_source_pages: 20,
            ttl: Duration::from_secs(10 * 60),
            max_tokens: None,
            work: WorkLimits::DEFAULT,
        }
    }
}

/// Shapes results and holds them for later pages.
pub(crate) struct Shaper {
    key: CursorKey,
    settings: Settings,
    limits: Limits,
    held: HeldResults,
    observations: Observations,
}

/// A call whose result is to be shaped.
pub(crate) struct Shaping {
    operation: Arc<Operation>,
    request: ShapingRequest,
    /// The binding of its cursors.
    binding: Vec<u8>,
    caller: Caller,
    /// Ends the work when the caller is gone.
    cancelled: CancellationToken,
    /// What is already known about the list.
    progress: Box<ListProgress>,
}

/// How a shaped call starts.
pub(crate) enum ShapingStart {
    /// Call the source, then shape its answer.
    CallSource(Shaping),
    /// Already answered.
    Answered(Outcome),
}

/// How a shaped call continues after an answer from the source.
pub(crate) enum ShapingEnd {
    /// It is finished.
    Finished(Outcome),
    /// Rows are missing: call the source again for the next page of the list.
    NeedsNextPage(Shaping),
}

/// A page and its warnings.
type ShapedPage = Result<(Data, Vec<Warning>), Failure>;

impl Shaping {
    /// Whether the operation has this control.
    fn is_offered(&self, control: &str) -> bool {
        self.operation
            .capabilities
            .shaping
            .as_ref()
            .is_some_and(|shaping| shaping.controls.iter().any(|name| &**name == control))
    }

    /// The page of the list that the source is to return.
    pub(crate) fn page_request(&self) -> PageRequest {
        let shaping = self.operation.capabilities.shaping.as_ref();
        let fields = shaping.filter(|shaping| shaping.sends_fields).and_then(|_| self.request.fields_hint());
        let is_shaped = !self.request.is_empty();
        if !shaping.is_some_and(|shaping| shaping.is_paged) {
            return PageRequest { fields, is_shaped, ..PageRequest::default() };
        }
        let (resume, rows) = (self.progress.next_page.clone().map(Box::new), self.request.rows_hint());
        PageRequest { resume, rows, fields, is_shaped }
    }

    /// The session with which its held results end. Those of a principal outlive its sessions.
    fn session(&self) -> Option<Arc<str>> {
        self.caller.session.clone().filter(|_| self.caller.principal.is_none())
    }

    /// Where the rows are.
    fn rows(&self) -> &RowPlace {
        self.operation.capabilities.shaping.as_ref().map_or(&RowPlace::Unknown, |shaping| &shaping.rows)
    }
}

impl Shaper {
    pub(crate) fn new(
        key: CursorKey,
        settings: Settings,
        limits: Limits,
        clock: SharedClock,
        store: Arc<dyn StateStore>,
    ) -> Self {
        let held = HeldResults::new(clock, store, settings);
        Self { key, settings, limits, held, observations: Observations::default() }
    }

    /// What the results of a caller's own calls looked like, for introspection.
    pub(crate) fn observation(&self, caller: &Caller, operation: &str) -> Option<Value> {
        self.observations.get(caller, operation)
    }

    pub(crate) fn session_ended(&self, session: &str) {
        self.held.session_ended(session);
        self.observations.session_ended(session);
    }

    /// Removes the controls from the parameters of a call. `None` if the operation is not shaped.
    pub(crate) async fn begin(
        &self,
        operation: &Arc<Operation>,
        params: &mut Map<String, Value>,
        context: &Context,
        collection: Option<Arc<Collection>>,
        max_tokens: Option<usize>,
    ) -> Option<ShapingStart> {
        let offered = operation.capabilities.shaping.as_ref()?;
        let mut controls = take_controls(offered, params);
        let is_offered = |name: &str| offered.controls.iter().any(|control| &**control == name);
        if controls.contains_key("aggregate") && has_undeclared_param("include_items", operation, params) {
            // An operation that accepts any parameter would pass it to the source, where it has no effect.
            let problem = "is not offered here. Ask for the items in a call without 'aggregate'";
            return Some(ShapingStart::Answered(Outcome::Failed(Failure::invalid_value("include_items", problem))));
        }
        add_default_fields(offered, &mut controls);
        let request = match collection {
            Some(collection) => ShapingRequest::for_collection(controls, collection),
            None => ShapingRequest::new(controls, is_offered),
        };
        let request = match request {
            Ok(request) => request.within(max_tokens),
            Err(failure) => return Some(ShapingStart::Answered(Outcome::Failed(failure))),
        };
        let owner = context.caller.owner();
        let mut binding = request.cursor_binding(owner, &operation.name, params);
        if let Some(fields) = request.fields_hint().filter(|_| offered.sends_fields) {
            // Held rows have no other fields.
            fields.iter().for_each(|name| binding.extend(std::iter::once(0).chain(name.bytes())));
        }
        let (caller, cancelled, progress) = (context.caller.clone(), context.cancelled.clone(), Box::default());
        let mut shaping = Shaping { operation: operation.clone(), request, binding, caller, cancelled, progress };
        Some(match self.held_page(&shaping).await {
            HeldPage::Found(page) => ShapingStart::Answered(outcome(page, Vec::new(), Vec::new())),
            HeldPage::Continues(progress) => {
                shaping.progress = progress;
                ShapingStart::CallSource(shaping)
            }
            HeldPage::NotHeld => ShapingStart::CallSource(shaping),
        })
    }

    /// Shapes the answer of the source. `on_observed` receives the shape of a result that is seen for the first time, and
    /// says whether the operation has controls for rows from now on.
    pub(crate) async fn finish(
        &self,
        mut shaping: Shaping,
        answer: Answer,
        on_observed: &(dyn Fn(&ResultShape) -> bool + Sync),
    ) -> ShapingEnd {
        let is_whole = answer.next_page.is_none() && shaping.progress.is_at_start();
        if is_whole && shaping.request.is_empty() && self.fits(&shaping, &answer) {
            return ShapingEnd::Finished(self.pass_through(&shaping, answer, on_observed).await);
        }
        let Answer { data, mut warnings, attachments, next_page, is_partial, .. } = answer;
        let next_page = next_page.map(|next| *next);
        let (is_long, may_hold_exact) = (is_large(&data), may_hold_exact(&data));
        if shaping.request.collection().is_some() {
            return match into_value(data).and_then(into_items) {
                Ok(rows) => {
                    let envelope = Value::Null;
                    shaping.progress.add(SourcePage {
                        rows,
                        envelope,
                        warnings,
                        next_page,
                        is_partial,
                        may_hold_exact,
                    });
                    self.list_page(shaping, attachments).await
                }
                Err(failure) => ShapingEnd::Finished(Outcome::Failed(failure)),
            };
        }
        let parse = || Ok(ResultContent::new(into_value(data)?, shaping.rows(), shaping.request.controls()));
        let content = match run_blocking(is_long, parse) {
            Ok(content) => content,
            Err(failure) => return ShapingEnd::Finished(Outcome::Failed(failure)),
        };
        let name = &shaping.operation.name;
        if !shaping.progress.is_at_start() && !matches!(content, ResultContent::Rows { .. }) {
            let is_empty = matches!(content, ResultContent::One(Value::Null) | ResultContent::NoRows(Value::Null));
            shaping.progress.end_without_rows(warnings, is_partial, is_empty);
            return self.list_page(shaping, attachments).await;
        }
        if !matches!(content, ResultContent::Rows { .. })
            && let Some(failure) = refuse_without_rows(shaping.request.controls(), shaping.rows())
        {
            return ShapingEnd::Finished(Outcome::Failed(failure));
        }
        if next_page.is_some() && !matches!(content, ResultContent::Rows { .. }) {
            warnings.push(continues_warning());
        }
        let shaped = match content {
            ResultContent::Rows { rows, envelope, location } => {
                self.observations.record(&shaping.caller, name, Observation::from_rows(&rows, &location), 0);
                shaping.progress.add(SourcePage { rows, envelope, warnings, next_page, is_partial, may_hold_exact });
                return self.list_page(shaping, attachments).await;
            }
            ResultContent::One(value) => {
                self.observations.record(&shaping.caller, name, Observation::from_object(&value), 0);
                let shape = |work: &Work<'_>| shape_object(value, &shaping.request, work);
                let shaped = self
                    .within_limits(&shaping, is_long, shape)
                    .map(|(value, more)| (exact_data(value, may_hold_exact), more));
                let shaped = outcome(shaped, warnings, attachments);
                return ShapingEnd::Finished(self.within_budget(&shaping, shaped));
            }
            ResultContent::NoRows(value) => {
                let (value, more) = without_rows(value, &shaping.request);
                let shaped = outcome(Ok((exact_data(value, may_hold_exact), more)), warnings, attachments);
                return ShapingEnd::Finished(self.within_budget(&shaping, shaped));
            }
            ResultContent::Text(text) => self.first_text(&shaping, text).await,
        };
        ShapingEnd::Finished(outcome(shaped, warnings, attachments))
    }

    /// Does work on a result within the limits, until the caller is gone or has waited too long.
    fn within_limits<T>(&self, shaping: &Shaping, takes_long: bool, work: impl FnOnce(&Work<'_>) -> T) -> T {
        let deadline = Instant::now() + MAX_WORK_TIME;
        let must_stop = || shaping.cancelled.is_cancelled() || Instant::now() > deadline;
        run_blocking(takes_long, || work(&Work::new(self.settings.work, &must_stop)))
    }

    fn within_budget(&self, shaping: &Shaping, shaped: Outcome) -> Outcome {
        match (shaped, shaping.request.max_tokens()) {
            (Outcome::Done(answer), Some(max_tokens)) => self.keep_budget(&shaping.operation, answer, max_tokens),
            (shaped, _) => shaped,
        }
    }

    /// The page of a list whose further rows must not be fetched.
    pub(crate) async fn finish_early(&self, mut shaping: Shaping) -> Outcome {
        shaping.progress.is_limited = true;
        match self.list_page(shaping, Vec::new()).await {
            ShapingEnd::Finished(outcome) => outcome,
            ShapingEnd::NeedsNextPage(_) => Outcome::Failed(Failure::internal("a finished list asks for another page")),
        }
    }

    /// The page of a list, or the request for more rows of it.
    async fn list_page(&self, shaping: Shaping, attachments: Vec<Attachment>) -> ShapingEnd {
        match self.rows_page(shaping).await {
            ListPage::Ready(page) => ShapingEnd::Finished(outcome(page, Vec::new(), attachments)),
            ListPage::NeedsMore(shaping) => ShapingEnd::NeedsNextPage(shaping),
        }
    }
}

/// Parsing longer text takes a millisecond or more.
const LARGE_TEXT_BYTES: usize = 256 * 1_024;

fn is_large(data: &Data) -> bool {
    match data {
        Data::Text(text) => text.get().len() > LARGE_TEXT_BYTES,
        Data::Value(value) => value.as_str().is_some_and(|text| text.len() > LARGE_TEXT_BYTES),
    }
}

/// Work on one result ends after this time. On a machine with free processors the number of steps ends it earlier.
const MAX_WORK_TIME: Duration = Duration::from_secs(10);

/// Sorting and aggregating more rows takes a millisecond or more.
const MANY_ROWS: usize = 2_000;

/// Runs CPU-bound work without blocking other tasks of the runtime.
fn run_blocking<T>(takes_long: bool, work: impl FnOnce() -> T) -> T {
    let is_multi_thread =
        Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if takes_long && is_multi_thread { tokio::task::block_in_place(work) } else { work() }
}

fn outcome(shaped: ShapedPage, mut warnings: Vec<Warning>, attachments: Vec<Attachment>) -> Outcome {
    match shaped {
        Ok((data, more)) => {
            warnings.extend(more);
            Outcome::Done(Answer { warnings, attachments, ..Answer::new(data) })
        }
        Err(failure) => Outcome::Failed(failure),
    }
}

/// Whether shaping may have to keep numbers with more digits than a double has, in JSON or in text that contains JSON.
fn may_hold_exact(data: &Data) -> bool {
    match data {
        Data::Text(text) => exact_number::may_occur(text.get()),
        Data::Value(value) => exact_number::may_occur_in(value),
    }
}

/// The warning for a result without rows whose source says that it continues.
fn continues_warning() -> Warning {
    Warning::new("RESULT_INCOMPLETE", "The source returned only the first page of this result").before_data()
}

fn into_value(data: Data) -> Result<Value, Failure> {
    match data {
        Data::Value(value) => Ok(value),
        Data::Text(text) => exact_number::parse(text.get())
            .map_err(|cause| Failure::internal(format!("a source's text is not JSON: {cause}"))),
    }
}

/// The items of a list with a known collection.
fn into_items(answer: Value) -> Result<Vec<Value>, Failure> {
    let list = match answer {
        Value::Object(mut object) => object.remove("items").unwrap_or_default(),
        list => list,
    };
    match list {
        Value::Array(items) => Ok(items),
        _ => Err(Failure::internal("the source declares a list but did not return one")),
    }
}

/// Adds the fields that are returned if the caller asks for none. They are those of an object, or of its rows, not of both.
fn add_default_fields(offered: &Offered, controls: &mut Map<String, Value>) {
    let asks = ["fields", "preset", "aggregate"].iter().any(|name| controls.contains_key(*name))
        || (offered.rows.is_part() && !controls.is_empty());
    let may_ask = offered.controls.iter().any(|control| &**control == "fields");
    if may_ask && !asks && !offered.default_fields.is_empty() {
        let fields = offered.default_fields.iter().map(|name| Value::from(&**name)).collect();
        controls.insert("fields".to_owned(), Value::Array(fields));
    }
}

/// Whether the call has this parameter although the operation does not declare it.
fn has_undeclared_param(name: &str, operation: &Operation, params: &Map<String, Value>) -> bool {
    params.contains_key(name) && operation.parameter(name).is_none()
}
