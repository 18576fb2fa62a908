//! The parameters of the ranking that were chosen by measuring.
//!
//! They were tuned on one half of the tasks written for captured servers, and checked on the other half and on servers
//! that were not used for tuning. The ranking is not sensitive to them: varying each from half to double its value
//! gained about one task in a hundred at most. What matters is their order. The weights of categories, services and
//! values came later; `crates/aquifer-engine/tests/search` measures all of them.

// The weight of a word by field. The first sentence of a description (the lead) says what an operation does; the rest
// gives advice, and parameters mention everything.
pub(crate) const NAME: f32 = 5.0;
pub(crate) const LEAD: f32 = 2.5;
pub(crate) const REST: f32 = 0.7;
pub(crate) const PARAMETER: f32 = 0.25;
pub(crate) const PARAMETER_TEXT: f32 = 0.1;
pub(crate) const PARAMETER_VALUE: f32 = 0.25;
/// One half of a compound word in a name, as a share of the name's weight.
pub(crate) const COMPOUND_HALF: f32 = 0.5;
/// A single word of a folded phrase, as a share: in a name ("request" of `merge_request`), and in text.
pub(crate) const PHRASE_PART_IN_NAME: f32 = 0.25;
pub(crate) const PHRASE_PART_IN_TEXT: f32 = 0.5;

// BM25: how quickly repetition saturates, and how much a field is discounted for being longer than usual.
pub(crate) const SATURATION: f32 = 3.0;
pub(crate) const NAME_LENGTH: f32 = 0.4;
pub(crate) const TEXT_LENGTH: f32 = 0.5;
pub(crate) const USUAL_NAME: f32 = 3.5;
pub(crate) const USUAL_LEAD: f32 = 12.0;
pub(crate) const USUAL_REST: f32 = 40.0;
pub(crate) const USUAL_PARAMETERS: f32 = 6.0;
/// The weight of an occurrence outside the name and the first sentence, when counting how common a word is.
pub(crate) const SIDE_MENTION: f32 = 0.3;

// The confidence that a word of the task means another one.
pub(crate) const CORE_TO_CORE: f32 = 0.7;
pub(crate) const FRINGE_TO_CORE: f32 = 0.55;
pub(crate) const CORE_TO_FRINGE: f32 = 0.4;
/// Technical terms for everyday expressions: the most likely meanings, and other possible ones.
pub(crate) const LIKELY: f32 = 0.8;
pub(crate) const POSSIBLE: f32 = 0.5;
pub(crate) const HINTED: f32 = 0.8;
pub(crate) const PREFIX: f32 = 0.7;
pub(crate) const TYPO: f32 = 0.8;
pub(crate) const JOINED: f32 = 0.8;
pub(crate) const COMPOUND_MATCH: f32 = 0.6;

// The weight of a word of the task, compared with 1 for a noun or for the verb of the request.
pub(crate) const HINT: f32 = 0.45;
pub(crate) const IMPLIED: f32 = 0.5;
pub(crate) const DESCRIBING_VERB: f32 = 0.7;
/// Synonyms of such a verb: "created" in a question hardly means `create`.
pub(crate) const DESCRIBING_SYNONYM: f32 = 0.5;

// How strongly the overall fit of an operation affects its score.
pub(crate) const NAME_COVERAGE: f32 = 0.4;
pub(crate) const QUERY_COVERAGE: f32 = 0.4;
pub(crate) const ADJACENT: f32 = 0.15;
pub(crate) const SAME_NUMBER: f32 = 0.05;
pub(crate) const CATEGORY_FITS: f32 = 0.15;
pub(crate) const CATEGORY_DIFFERS: f32 = 0.3;
/// An operation of a service that the task names.
pub(crate) const SERVICE_NAMED: f32 = 0.6;
pub(crate) const EXECUTE_FOR_READ: f32 = 0.15;

/// Hits below this share of the best are dropped, if the best reaches [`CONFIDENT`]. For a lower best the share shrinks
/// in proportion, because then the order says little.
pub(crate) const CUTOFF: f32 = 0.45;
pub(crate) const CONFIDENT: f32 = 0.45;
/// The cutoff if the query names an operation exactly.
pub(crate) const CUTOFF_BESIDE_NAMED: f32 = 0.6;
