//! The tables of `words` in the form that the index and the query need.
//!
//! Relations between words are keyed by stem. Words that reveal the form of a task (a request, a question) are keyed by
//! the word as written, because there the form matters: `delete` is a request, `deleted` is not.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::language::idiom::Idiom;
use crate::language::phrase::Phrase;
use crate::language::stem::stem;
use crate::language::words;
use crate::tuning::{CORE_TO_CORE, CORE_TO_FRINGE, FRINGE_TO_CORE, LIKELY, POSSIBLE};

/// The compiled tables.
pub(crate) struct Thesaurus {
    spellings: HashMap<&'static str, &'static str>,
    stopwords: HashSet<String>,
    hints: HashMap<String, Vec<String>>,
    past_hints: Vec<String>,
    related: HashMap<String, Vec<(String, f32)>>,
    actions: HashMap<String, u8>,
    /// Verbs as the tables spell them: the form of a request.
    verbs: HashSet<&'static str>,
    imperative_nouns: HashSet<&'static str>,
    fillers: HashSet<&'static str>,
    questions: HashSet<&'static str>,
    verbs_or_nouns: HashSet<&'static str>,
    determiners: HashSet<&'static str>,
    statement_openers: HashSet<&'static str>,
    copulas: HashSet<&'static str>,
    particles: HashSet<&'static str>,
    last_particles: HashSet<&'static str>,
    /// By first stem, longest phrase first.
    pub(crate) phrases: HashMap<String, Vec<Phrase<String>>>,
    /// Everyday expressions, by first stem, longest first.
    idioms: HashMap<String, Vec<Idiom>>,
}

/// Compiled once per process: the tables are constants.
pub(crate) static THESAURUS: LazyLock<Thesaurus> = LazyLock::new(Thesaurus::compile);

// Semantic categories as bits, because a verb may imply several.
pub(crate) const CREATE: u8 = 1;
pub(crate) const READ: u8 = 2;
pub(crate) const UPDATE: u8 = 4;
pub(crate) const DELETE: u8 = 8;
pub(crate) const EXECUTE: u8 = 16;

/// The bit of a semantic category; 0 for an unknown name.
pub(crate) fn category_bit(category: &str) -> u8 {
    [("CREATE", CREATE), ("READ", READ), ("UPDATE", UPDATE), ("DELETE", DELETE), ("EXECUTE", EXECUTE)]
        .iter()
        .find_map(|(name, bit)| category.eq_ignore_ascii_case(name).then_some(*bit))
        .unwrap_or(0)
}

impl Thesaurus {
    /// The stem of a lower-case word, the same for all its spellings.
    pub(crate) fn normalize(&self, word: &str) -> String {
        stem(self.spellings.get(word).copied().unwrap_or(word))
    }

    pub(crate) fn is_stopword(&self, stem: &str) -> bool {
        self.stopwords.contains(stem)
    }

    /// The words that a question word hints at.
    pub(crate) fn hints(&self, stem: &str) -> Option<&[String]> {
        self.hints.get(stem).map(Vec::as_slice)
    }

    /// The words that a question about who did something hints at.
    pub(crate) fn past_hints(&self) -> &[String] {
        &self.past_hints
    }

    pub(crate) fn is_imperative_noun(&self, surface: &str) -> bool {
        self.imperative_nouns.contains(surface)
    }

    /// Related words, each with its weight.
    pub(crate) fn related(&self, stem: &str) -> &[(String, f32)] {
        self.related.get(stem).map(Vec::as_slice).unwrap_or_default()
    }

    /// The semantic categories that a verb implies, as bits; none for a word that is not in the tables as a verb.
    pub(crate) fn action(&self, stem: &str) -> Option<u8> {
        self.actions.get(stem).copied()
    }

    /// A verb in the form of a request: `delete`, not `deleted`.
    pub(crate) fn is_request(&self, surface: &str) -> bool {
        self.verbs.contains(surface)
    }

    pub(crate) fn is_verb_or_noun(&self, surface: &str) -> bool {
        self.verbs_or_nouns.contains(surface)
    }

    pub(crate) fn is_determiner(&self, surface: &str) -> bool {
        self.determiners.contains(surface)
    }

    pub(crate) fn is_statement_opener(&self, surface: &str) -> bool {
        self.statement_openers.contains(surface)
    }

    pub(crate) fn is_copula(&self, surface: &str) -> bool {
        self.copulas.contains(surface)
    }

    /// Whether `surface` may be the particle of a preceding verb; `last` if it ends its clause.
    pub(crate) fn is_particle(&self, surface: &str, last: bool) -> bool {
        self.particles.contains(surface) || (last && self.last_particles.contains(surface))
    }

    /// Whether the two words are a phrase.
    pub(crate) fn is_pair(&self, first: &str, second: &str) -> bool {
        let phrases = self.phrases.get(&self.normalize(first)).map(Vec::as_slice).unwrap_or_default();
        let second = self.normalize(second);
        phrases.iter().any(|phrase| matches!(phrase.rest.as_slice(), [only] if *only == second))
            || self.idioms(&self.normalize(first)).iter().any(|idiom| idiom.is_pair_with(&second))
    }

    /// The idioms that begin with a word, longest first.
    pub(crate) fn idioms(&self, stem: &str) -> &[Idiom] {
        self.idioms.get(stem).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn is_filler(&self, surface: &str) -> bool {
        self.fillers.contains(surface)
    }

    pub(crate) fn is_question(&self, surface: &str) -> bool {
        self.questions.contains(surface)
    }

    /// Whether the tables contain the word.
    pub(crate) fn knows(&self, stem: &str) -> bool {
        self.knows_alone(stem) || self.phrases.contains_key(stem)
    }

    /// Whether the tables contain the word only as a verb with a particle, such as "bring up".
    pub(crate) fn needs_particle(&self, stem: &str) -> bool {
        let phrases = self.phrases.get(stem).map(Vec::as_slice).unwrap_or_default();
        let is_verb = |rest: &[String]| matches!(rest, [particle] if self.is_particle(particle, true));
        !self.knows_alone(stem) && phrases.iter().any(|phrase| is_verb(&phrase.rest))
    }

    fn knows_alone(&self, stem: &str) -> bool {
        self.related.contains_key(stem) || self.stopwords.contains(stem) || self.hints.contains_key(stem)
    }

    /// Every verb in the form of a request.
    pub(crate) fn verbs(&self) -> impl Iterator<Item = &'static str> {
        self.verbs.iter().copied()
    }

    /// Every word of the tables, to match misspelled words.
    pub(crate) fn known_words(&self) -> impl Iterator<Item = &str> {
        self.related.keys().map(String::as_str)
    }

    fn compile() -> Self {
        let mut this = Self {
            spellings: words::spellings().collect(),
            stopwords: HashSet::new(),
            hints: HashMap::new(),
            past_hints: Vec::new(),
            related: HashMap::new(),
            actions: HashMap::new(),
            verbs: HashSet::new(),
            imperative_nouns: words::list("imperative_nouns").collect(),
            fillers: words::list("fillers").collect(),
            questions: words::list("questions").collect(),
            verbs_or_nouns: words::list("verb_or_noun").collect(),
            statement_openers: words::list("statement_openers").collect(),
            copulas: words::list("copulas").collect(),
            determiners: words::list("determiners").collect(),
            particles: words::list("particles").collect(),
            last_particles: words::list("last_particles").collect(),
            phrases: HashMap::new(),
            idioms: HashMap::new(),
        };
        let stems =
            |this: &Self, text: &str| -> Vec<String> { text.split_whitespace().map(|w| this.normalize(w)).collect() };

        this.stopwords = words::list("stopwords").map(|word| this.normalize(word)).collect();
        this.past_hints = words::list("past_hints").map(|word| this.normalize(word)).collect();
        for (word, to) in words::hints() {
            let to = stems(&this, to);
            this.hints.insert(this.normalize(word), to);
        }
        for (phrase, to, keeps_parts) in words::phrases() {
            let mut from = stems(&this, phrase).into_iter();
            let Some(first) = from.next() else { continue };
            let phrase = Phrase { rest: from.collect(), to: stems(&this, to), keeps_parts };
            this.phrases.entry(first).or_default().push(phrase);
        }
        for phrases in this.phrases.values_mut() {
            phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.rest.len()));
        }
        for (category, group) in words::verbs() {
            let (core, fringe) = group.split_once('|').unwrap_or((group, ""));
            let (fringe, cues) = fringe.split_once('|').unwrap_or((fringe, ""));
            for verb in core.split_whitespace().chain(fringe.split_whitespace()) {
                this.verbs.insert(verb);
                let stem = this.normalize(verb);
                *this.actions.entry(stem).or_default() |= category_bit(category);
            }
            this.relate(core, &format!("{fringe} {cues}"));
        }
        for group in words::nouns() {
            let (core, fringe) = group.split_once('|').unwrap_or((group, ""));
            this.relate(core, fringe);
        }
        for (category, expressions, meanings) in words::everyday() {
            for expression in expressions.split(',') {
                this.add_expression(category, expression.trim(), meanings);
            }
        }
        for idioms in this.idioms.values_mut() {
            idioms.sort_by_key(|idiom| std::cmp::Reverse(idiom.len()));
        }
        for related in this.related.values_mut() {
            related.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        }
        this
    }

    /// Adds an everyday expression for technical terms. A single word is related to them. Several words become an
    /// idiom, whose text represents it among the stems.
    fn add_expression(&mut self, category: &str, expression: &'static str, meanings: &str) {
        let (likely, possible) = meanings.split_once('|').unwrap_or((meanings, ""));
        let stem = match Idiom::parse(expression, |word| self.normalize(word)) {
            Some((first, idiom)) => {
                self.idioms.entry(first).or_default().push(idiom);
                expression.to_owned()
            }
            None => self.normalize(expression),
        };
        if category == words::HINT {
            let hints = meanings.split_whitespace().filter(|word| *word != "|").map(|word| self.normalize(word));
            let hints = hints.collect();
            self.hints.insert(stem, hints);
            return;
        }
        let categories = category.split_whitespace().fold(0, |bits, category| bits | category_bit(category));
        if categories != 0 {
            self.verbs.insert(expression);
            *self.actions.entry(stem.clone()).or_default() |= categories;
        }
        for (words, weight) in [(likely, LIKELY), (possible, POSSIBLE)] {
            for word in words.split_whitespace() {
                let to = self.normalize(word);
                self.relate_one(&stem, &to, weight);
            }
        }
    }

    fn relate(&mut self, core: &str, fringe: &str) {
        let core: Vec<String> = core.split_whitespace().map(|w| self.normalize(w)).collect();
        let fringe: Vec<String> = fringe.split_whitespace().map(|w| self.normalize(w)).collect();
        for from in &core {
            for to in &core {
                self.relate_one(from, to, CORE_TO_CORE);
            }
            for to in &fringe {
                self.relate_one(from, to, CORE_TO_FRINGE);
                self.relate_one(to, from, FRINGE_TO_CORE);
            }
        }
    }

    fn relate_one(&mut self, from: &str, to: &str, weight: f32) {
        if from == to {
            return;
        }
        let related = self.related.entry(from.to_owned()).or_default();
        match related.iter_mut().find(|(word, _)| word == to) {
            Some((_, existing)) => *existing = existing.max(weight),
            None => related.push((to.to_owned(), weight)),
        }
    }
}
