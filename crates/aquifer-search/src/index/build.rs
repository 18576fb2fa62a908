//! Builds the index: from documents to posting lists.
//!
//! The first pass turns all text into terms. The second weighs them; it needs the compound words that only the whole
//! first pass reveals.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::index::compounds::find_compounds;
use crate::index::lexicon::{Lexicon, TermId};
use crate::index::names::NameIndex;
use crate::index::search_index::{Document, DocumentParameter, IndexedOperation, Posting, SearchIndex, Term};
use crate::index::services::Services;
use crate::language::phrase::FoldedWord;
use crate::language::text;
use crate::language::thesaurus::{THESAURUS, category_bit};
use crate::tuning;

// How much of one document is indexed: enough for every description a person writes, and a bound for generated ones.
const MAX_DESCRIPTION_CHARS: usize = 2_000;
const MAX_PARAMETERS: usize = 64;
const MAX_PARAMETER_CHARS: usize = 300;
const MAX_VALUES: usize = 24;

/// The terms of one field.
type Terms = Vec<FoldedWord<TermId>>;

/// A document as terms.
struct Draft {
    name: Terms,
    plural: Vec<bool>,
    lead: Terms,
    rest: Terms,
    /// Shared by the operations that take the same parameter.
    parameters: Vec<Rc<ParameterTerms>>,
    category: u8,
}

/// A parameter as terms.
struct ParameterTerms {
    name: Terms,
    text: Terms,
    values: Terms,
}

impl ParameterTerms {
    fn new(parameter: &DocumentParameter<'_>, lexicon: &mut Lexicon) -> Self {
        let values = parameter.values.iter().take(MAX_VALUES);
        Self {
            name: lexicon.identifier(parameter.name).0,
            text: lexicon.prose(text::truncate_chars(parameter.description, MAX_PARAMETER_CHARS)),
            values: values.flat_map(|value| lexicon.identifier(value).0).collect(),
        }
    }
}

pub(crate) fn build<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> SearchIndex {
    let mut lexicon = Lexicon::new();
    let mut names: Vec<String> = Vec::new();
    let mut name_words: Vec<Vec<String>> = Vec::new();
    let mut parameters: HashMap<DocumentParameter<'a>, Rc<ParameterTerms>> = HashMap::new();
    let mut services = Services::default();
    let mut drafts = Vec::new();
    for document in documents {
        let (name, words) = lexicon.identifier(document.name);
        services.add(&document, &words, &mut lexicon);
        let (lead, rest) =
            text::split_first_sentence(text::truncate_chars(document.description, MAX_DESCRIPTION_CHARS));
        let mut parameter = |parameter: &DocumentParameter<'a>| match parameters.get(parameter) {
            Some(terms) => Rc::clone(terms),
            None => {
                let terms = Rc::new(ParameterTerms::new(parameter, &mut lexicon));
                parameters.insert(parameter.clone(), Rc::clone(&terms));
                terms
            }
        };
        drafts.push(Draft {
            plural: name
                .iter()
                .map(|term| words.get(term.origin as usize).is_some_and(|word| text::is_plural(word)))
                .collect(),
            name,
            parameters: document.parameters.iter().take(MAX_PARAMETERS).map(&mut parameter).collect(),
            lead: lexicon.prose(lead),
            rest: lexicon.prose(&text::relevant_sentences(rest)),
            category: category_bit(document.category),
        });
        names.push(text::squash_name(document.name));
        name_words.push(words);
    }
    let texts = drafts.iter().flat_map(|draft| [&draft.lead, &draft.rest, &draft.name]);
    let compounds = find_compounds(&lexicon, &name_words, texts.map(Vec::as_slice));
    let opposites = find_opposites(&lexicon, &name_words);
    let mut index = assemble(lexicon, NameIndex::new(names, &name_words), &drafts, compounds, &opposites);
    services.assign(&mut index);
    index
}

/// Verbs such as `unassign` that undo another verb. They are also found by that verb together with "undo".
fn find_opposites(lexicon: &Lexicon, names: &[Vec<String>]) -> HashMap<TermId, Vec<TermId>> {
    let mut opposites = HashMap::new();
    for word in names.iter().flatten() {
        // The tables take precedence if they contain the word.
        let undone = word.strip_prefix("un").filter(|_| !THESAURUS.knows(&THESAURUS.normalize(word)));
        let Some(verb) = undone.filter(|verb| THESAURUS.action(&THESAURUS.normalize(verb)).is_some()) else { continue };
        if let Some(term) = lexicon.find(word) {
            let parts = ["undo", verb].into_iter().filter_map(|part| lexicon.find(part));
            opposites.entry(term).or_insert_with(|| parts.collect());
        }
    }
    opposites
}

/// Sums the weight of each term of one document over its fields.
struct TermWeights<'l> {
    lexicon: &'l Lexicon,
    sums: Vec<f32>,
    touched: Vec<TermId>,
}

impl TermWeights<'_> {
    fn add(&mut self, term: TermId, weight: f32) {
        if let Some(sum) = self.sums.get_mut(term as usize) {
            if *sum == 0.0 {
                self.touched.push(term);
            }
            *sum += weight;
        }
    }

    fn add_all(&mut self, terms: &Terms, weight: f32) {
        for term in terms.iter().filter(|term| !self.lexicon.is_stopword(term.word)) {
            self.add(term.word, if term.is_part { weight * tuning::PHRASE_PART_IN_TEXT } else { weight });
        }
    }
}

/// The weight of a field, discounted by its length: a word among few says more.
fn per_length(weight: f32, length: usize, usual: f32, strength: f32) -> f32 {
    weight / (1.0 - strength + strength * length as f32 / usual)
}

fn assemble(
    lexicon: Lexicon,
    names: NameIndex,
    drafts: &[Draft],
    compounds: HashMap<TermId, [TermId; 2]>,
    opposites: &HashMap<TermId, Vec<TermId>>,
) -> SearchIndex {
    let mut weights = TermWeights { lexicon: &lexicon, sums: vec![0.0; lexicon.len()], touched: Vec::new() };
    let mut terms = vec![Term::default(); lexicon.len()];
    let mut strong: Vec<(TermId, Posting)> = Vec::new();
    let mut weak: Vec<(TermId, Posting)> = Vec::new();
    let mut operations = Vec::with_capacity(drafts.len());
    for (position, draft) in (0_u32..).zip(drafts) {
        let weight = per_length(tuning::NAME, draft.name.len(), tuning::USUAL_NAME, tuning::NAME_LENGTH);
        for term in &draft.name {
            weights.add(term.word, if term.is_part { weight * tuning::PHRASE_PART_IN_NAME } else { weight });
            for part in compounds.get(&term.word).into_iter().flatten() {
                weights.add(*part, weight * tuning::COMPOUND_HALF);
            }
            for part in opposites.get(&term.word).into_iter().flatten() {
                weights.add(*part, weight * tuning::COMPOUND_HALF);
            }
            if let Some(term) = terms.get_mut(term.word as usize) {
                term.in_names = true;
            }
        }
        weights
            .add_all(&draft.lead, per_length(tuning::LEAD, draft.lead.len(), tuning::USUAL_LEAD, tuning::TEXT_LENGTH));
        let lead_end = weights.touched.len();
        weights
            .add_all(&draft.rest, per_length(tuning::REST, draft.rest.len(), tuning::USUAL_REST, tuning::TEXT_LENGTH));
        let description_end = weights.touched.len();
        for parameter in &draft.parameters {
            let several = draft.parameters.len();
            let fields = [
                (&parameter.name, tuning::PARAMETER),
                (&parameter.text, tuning::PARAMETER_TEXT),
                (&parameter.values, tuning::PARAMETER_VALUE),
            ];
            for (terms, weight) in fields {
                let weight = per_length(weight, several, tuning::USUAL_PARAMETERS, tuning::TEXT_LENGTH);
                weights.add_all(terms, weight);
            }
        }
        for (nth, term) in weights.touched.drain(..).enumerate() {
            let weight = weights.sums.get_mut(term as usize).map(std::mem::take).unwrap_or_default();
            let posting = Posting { position, impact: weight / (weight + tuning::SATURATION) };
            if nth < description_end {
                strong.push((term, posting))
            } else {
                weak.push((term, posting))
            }
            if let Some(term) = terms.get_mut(term as usize) {
                // A side mention makes a word less common than a mention in the name or the lead.
                term.frequency += if nth < lead_end { 1.0 } else { tuning::SIDE_MENTION };
            }
        }
        let name = draft.name.iter().zip(&draft.plural).filter(|(term, _)| !term.is_part);
        operations.push(IndexedOperation {
            name: name.map(|(term, plural)| (term.word, *plural)).collect(),
            category: draft.category,
            services: Box::default(),
        });
    }

    let (ids, texts) = lexicon.into_parts();
    for (term, text) in terms.iter_mut().zip(texts) {
        term.letters = text::LetterCounts::new(&text);
        term.text = text;
    }
    let postings = group_by_term(&mut terms, &strong, &weak);
    let mut sorted: Vec<TermId> = (0..).take(terms.len()).collect();
    let text = |id: &TermId| terms.get(*id as usize).map(|term| &term.text);
    sorted.sort_by(|a, b| text(a).cmp(&text(b)));
    SearchIndex { ids, terms, postings, sorted, operations, compounds, names, sole_source: HashSet::new() }
}

/// Orders the postings by term, the strong before the weak, and records their ranges in the terms.
fn group_by_term(terms: &mut [Term], strong: &[(TermId, Posting)], weak: &[(TermId, Posting)]) -> Vec<Posting> {
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
