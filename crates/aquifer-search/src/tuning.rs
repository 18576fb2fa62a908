//! Every number of the ranking that was chosen by measuring.
//!
//! They were set on one half of the tasks written for captured servers and checked on the other
//! half and on servers never looked at. The ranking is not sensitive to them: trying each from half
//! to double its value gained no more than about one task in a hundred. What matters is their order.

// How much a word weighs by where it stands. The description's first sentence says what an
// operation does; the rest of it gives advice, and parameters mention everything.
pub(super) const NAME: f32 = 5.0;
pub(super) const LEAD: f32 = 2.5;
pub(super) const REST: f32 = 0.7;
pub(super) const PARAMETER: f32 = 0.25;
pub(super) const PARAMETER_TEXT: f32 = 0.1;
/// Half of a run-together word of a name, as a share of the name's weight.
pub(super) const COMPOUND_HALF: f32 = 0.5;
/// A single word of a folded phrase, as a share: in a name ("request" of `merge_request`), and in
/// text.
pub(super) const KEPT_IN_NAME: f32 = 0.25;
pub(super) const KEPT_IN_TEXT: f32 = 0.5;

// BM25: how soon repetition stops to count, and how much a long field is discounted against one of
// usual length.
pub(super) const SATURATION: f32 = 3.0;
pub(super) const NAME_LENGTH: f32 = 0.4;
pub(super) const TEXT_LENGTH: f32 = 0.5;
pub(super) const USUAL_NAME: f32 = 3.5;
pub(super) const USUAL_LEAD: f32 = 12.0;
pub(super) const USUAL_REST: f32 = 40.0;
pub(super) const USUAL_PARAMETERS: f32 = 6.0;
/// An occurrence outside name and first sentence, when counting how common a word is.
pub(super) const IN_PASSING: f32 = 0.3;

// How surely a word of the task means another one.
pub(super) const CORE_TO_CORE: f32 = 0.7;
pub(super) const FRINGE_TO_CORE: f32 = 0.55;
pub(super) const CORE_TO_FRINGE: f32 = 0.4;
pub(super) const HINTED: f32 = 0.8;
pub(super) const PREFIX: f32 = 0.7;
pub(super) const TYPO: f32 = 0.8;
pub(super) const JOINED: f32 = 0.8;
pub(super) const COMPOUND_MATCH: f32 = 0.6;

// How much of the ranking hangs on a word of the task, against 1 for a thing or the verb that was
// asked for.
pub(super) const HINT: f32 = 0.45;
pub(super) const IMPLIED: f32 = 0.5;
pub(super) const DESCRIBING_VERB: f32 = 0.7;
/// Synonyms of such a verb: "created" in a question hardly means `create`.
pub(super) const DESCRIBING_SYNONYM: f32 = 0.5;

// How far an operation's score is moved by how it fits as a whole.
pub(super) const NAME_COVERAGE: f32 = 0.4;
pub(super) const QUERY_COVERAGE: f32 = 0.4;
pub(super) const ADJACENT: f32 = 0.15;
pub(super) const SAME_NUMBER: f32 = 0.05;
pub(super) const CATEGORY_FITS: f32 = 0.15;
pub(super) const CATEGORY_DIFFERS: f32 = 0.15;
pub(super) const EXECUTE_FOR_READ: f32 = 0.06;

/// Hits below this share of the best are dropped, if the best reaches [`SURE`]; below it the share
/// shrinks in proportion, because then the order says little.
pub(super) const CUTOFF: f32 = 0.45;
pub(super) const SURE: f32 = 0.45;
/// The same beside an operation that the query names exactly.
pub(super) const CUTOFF_BESIDE_NAMED: f32 = 0.6;
