//! From documents to posting lists.
//!
//! Two passes: the first turns all text into terms, the second weighs them. Between them it is
//! known which words of names are two words run together.

use std::collections::HashMap;
use std::rc::Rc;

use super::compounds::compounds;
use super::lexicon::{Lexicon, TermId};
use super::names::Names;
use super::phrase::Folded;
use super::text;
use super::thesaurus::category_bit;
use super::tuning;
use super::{Document, Operation, Posting, SearchIndex, Term};

/// What is read of one document: enough for every description people write, and a bound for those
/// machines write.
const DESCRIPTION_CHARACTERS: usize = 2_000;
const PARAMETERS: usize = 64;
const PARAMETER_CHARACTERS: usize = 300;

/// A field of a document in terms.
type Terms = Vec<Folded<TermId>>;

/// A document in terms.
struct Draft {
    name: Terms,
    plural: Vec<bool>,
    lead: Terms,
    rest: Terms,
    /// Name and text. Shared between the many operations that take the same parameter.
    parameters: Vec<Rc<(Terms, Terms)>>,
    category: u8,
}

pub(super) fn build<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> SearchIndex {
    let mut lexicon = Lexicon::new();
    let mut names: Vec<String> = Vec::new();
    let mut name_words: Vec<Vec<String>> = Vec::new();
    let mut parameters: HashMap<(&'a str, &'a str), Rc<(Terms, Terms)>> = HashMap::new();
    let mut drafts = Vec::new();
    for document in documents {
        let (name, words) = lexicon.identifier(document.name);
        let (lead, rest) = text::first_sentence(text::clipped(document.description, DESCRIPTION_CHARACTERS));
        let mut parameter = |(name, about): &(&'a str, &'a str)| {
            let known = parameters.entry((*name, *about)).or_insert_with(|| {
                Rc::new((lexicon.identifier(name).0, lexicon.prose(text::clipped(about, PARAMETER_CHARACTERS))))
            });
            Rc::clone(known)
        };
        drafts.push(Draft {
            plural: name
                .iter()
                .map(|term| words.get(term.origin as usize).is_some_and(|word| text::is_plural(word)))
                .collect(),
            name,
            parameters: document.parameters.iter().take(PARAMETERS).map(&mut parameter).collect(),
            lead: lexicon.prose(lead),
            rest: lexicon.prose(&text::advice(rest)),
            category: category_bit(document.category),
        });
        names.push(text::squeezed(document.name));
        name_words.push(words);
    }
    let texts = drafts.iter().flat_map(|draft| [&draft.lead, &draft.rest, &draft.name]);
    let compounds = compounds(&lexicon, &name_words, texts.map(Vec::as_slice));
    weigh(lexicon, Names::new(names, &name_words), &drafts, compounds)
}

/// Adds up what each term of one document weighs over its fields.
struct Scale<'l> {
    lexicon: &'l Lexicon,
    weights: Vec<f32>,
    touched: Vec<TermId>,
}

impl Scale<'_> {
    fn add(&mut self, term: TermId, weight: f32) {
        if let Some(sum) = self.weights.get_mut(term as usize) {
            if *sum == 0.0 {
                self.touched.push(term);
            }
            *sum += weight;
        }
    }

    fn add_all(&mut self, terms: &Terms, weight: f32) {
        for term in terms.iter().filter(|term| !self.lexicon.is_stopword(term.word)) {
            self.add(term.word, if term.kept { weight * tuning::KEPT_IN_TEXT } else { weight });
        }
    }
}

/// A field's weight, less for a long one: a word among few says more.
fn per_length(weight: f32, length: usize, usual: f32, strength: f32) -> f32 {
    weight / (1.0 - strength + strength * length as f32 / usual)
}

fn weigh(lexicon: Lexicon, names: Names, drafts: &[Draft], compounds: HashMap<TermId, [TermId; 2]>) -> SearchIndex {
    let mut scale = Scale { lexicon: &lexicon, weights: vec![0.0; lexicon.len()], touched: Vec::new() };
    let mut terms = vec![Term::default(); lexicon.len()];
    let mut strong: Vec<(TermId, Posting)> = Vec::new();
    let mut weak: Vec<(TermId, Posting)> = Vec::new();
    let mut operations = Vec::with_capacity(drafts.len());
    for (position, draft) in (0_u32..).zip(drafts) {
        let weight = per_length(tuning::NAME, draft.name.len(), tuning::USUAL_NAME, tuning::NAME_LENGTH);
        for term in &draft.name {
            scale.add(term.word, if term.kept { weight * tuning::KEPT_IN_NAME } else { weight });
            for part in compounds.get(&term.word).into_iter().flatten() {
                scale.add(*part, weight * tuning::COMPOUND_HALF);
            }
            if let Some(term) = terms.get_mut(term.word as usize) {
                term.in_names = true;
            }
        }
        scale.add_all(&draft.lead, per_length(tuning::LEAD, draft.lead.len(), tuning::USUAL_LEAD, tuning::TEXT_LENGTH));
        let told = scale.touched.len();
        scale.add_all(&draft.rest, per_length(tuning::REST, draft.rest.len(), tuning::USUAL_REST, tuning::TEXT_LENGTH));
        let described = scale.touched.len();
        for parameter in &draft.parameters {
            let several = draft.parameters.len();
            scale.add_all(
                &parameter.0,
                per_length(tuning::PARAMETER, several, tuning::USUAL_PARAMETERS, tuning::TEXT_LENGTH),
            );
            scale.add_all(
                &parameter.1,
                per_length(tuning::PARAMETER_TEXT, several, tuning::USUAL_PARAMETERS, tuning::TEXT_LENGTH),
            );
        }
        for (nth, term) in scale.touched.drain(..).enumerate() {
            let weight = scale.weights.get_mut(term as usize).map(std::mem::take).unwrap_or_default();
            let posting = Posting { position, impact: weight / (weight + tuning::SATURATION) };
            if nth < described {
                strong.push((term, posting))
            } else {
                weak.push((term, posting))
            }
            if let Some(term) = terms.get_mut(term as usize) {
                // What is said in passing makes a word less common than what is said first.
                term.frequency += if nth < told { 1.0 } else { tuning::IN_PASSING };
            }
        }
        let name = draft.name.iter().zip(&draft.plural).filter(|(term, _)| !term.kept);
        operations.push(Operation {
            name: name.map(|(term, plural)| (term.word, *plural)).collect(),
            category: draft.category,
        });
    }

    let (ids, texts) = lexicon.into_parts();
    for (term, text) in terms.iter_mut().zip(texts) {
        term.letters = text::Letters::of(&text);
        term.text = text;
    }
    let postings = lay_out(&mut terms, &strong, &weak);
    let mut sorted: Vec<TermId> = (0..).take(terms.len()).collect();
    let text = |id: &TermId| terms.get(*id as usize).map(|term| &term.text);
    sorted.sort_by(|a, b| text(a).cmp(&text(b)));
    SearchIndex { ids, terms, postings, sorted, operations, compounds, names }
}

/// Puts the postings of each term side by side, the strong before the weak, and tells the terms
/// where.
fn lay_out(terms: &mut [Term], strong: &[(TermId, Posting)], weak: &[(TermId, Posting)]) -> Vec<Posting> {
    for (term, _) in strong {
        if let Some(term) = terms.get_mut(*term as usize) {
            term.strong += 1;
        }
    }
    for (term, _) in weak {
        if let Some(term) = terms.get_mut(*term as usize) {
            term.weak += 1;
        }
    }
    let mut start = 0;
    let mut next = Vec::with_capacity(terms.len());
    for term in terms {
        term.start = start;
        next.push(start);
        start += term.strong + term.weak;
    }
    let mut postings = vec![Posting::default(); start];
    for (term, posting) in strong.iter().chain(weak) {
        if let Some(next) = next.get_mut(*term as usize) {
            if let Some(place) = postings.get_mut(*next) {
                *place = *posting;
            }
            *next += 1;
        }
    }
    postings
}
