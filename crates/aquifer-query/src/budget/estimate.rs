//! Estimates how many tokens a text takes, byte by byte and without a vocabulary.
//!
//! The rules follow the way tokenizers split text before the vocabulary lookup: words, groups of up to three digits,
//! and runs of punctuation. Their costs were fitted to `o200k_base` over answers of real servers and are slightly too
//! high rather than too low. A test of the binary compares both.

use std::io::{self, Write};

use serde_json::Value;

/// The unit in which costs are counted: a sixteenth of a token.
const TOKEN: u64 = 16;

/// The kind of the last characters read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Start,
    /// Letters: whether the last one is in upper case, and how many there are.
    Word {
        upper: bool,
        length: u32,
    },
    Digits(u32),
    Punctuation {
        length: u32,
        last: u8,
    },
    Space,
    Newline,
    /// Letters and signs outside ASCII.
    Other,
}

/// Estimates the tokens of everything that is written to it.
#[derive(Debug, Clone)]
pub struct TokenEstimator {
    cost: u64,
    run: Run,
}

impl Default for TokenEstimator {
    fn default() -> Self {
        Self { cost: 0, run: Run::Start }
    }
}

impl TokenEstimator {
    /// The estimated number of tokens so far, rounded up.
    pub fn tokens(&self) -> usize {
        usize::try_from(self.cost.div_ceil(TOKEN)).unwrap_or(usize::MAX)
    }

    /// Reads more text.
    pub fn add(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.add_byte(*byte));
    }

    fn add_byte(&mut self, byte: u8) {
        let (cost, run) = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => self.add_letter(byte.is_ascii_uppercase()),
            b'0'..=b'9' => match self.run {
                Run::Digits(length) => (if length % 3 == 0 { TOKEN } else { 0 }, Run::Digits(length + 1)),
                Run::Word { .. } => (TOKEN, Run::Digits(1)),
                // A blank before a number is a token of its own.
                Run::Space => (2 * TOKEN, Run::Digits(1)),
                _ => (TOKEN, Run::Digits(1)),
            },
            b' ' | b'\t' => (if self.run == Run::Space { 1 } else { 0 }, Run::Space),
            b'\n' | b'\r' => (if self.run == Run::Newline { 4 } else { TOKEN }, Run::Newline),
            // The first byte of a character; most of its cost depends on the alphabet.
            0xc0..=0xdf => (10, Run::Other),
            // Mostly the alphabets of India and Thailand.
            0xe0 => (8, Run::Other),
            0xe1..=0xef => (TOKEN, Run::Other),
            0xf0..=0xff => (3 * TOKEN, Run::Other),
            0x80..=0xbf => (0, Run::Other),
            _ => match self.run {
                Run::Punctuation { length, last } => {
                    // Long runs of one sign are cheap, and so are the signs between two members of JSON.
                    let cost = if last == byte && length > 2 {
                        2
                    } else {
                        [0, 3, 5, 8].get(length as usize).copied().unwrap_or(TOKEN)
                    };
                    (
                        cost,
                        Run::Punctuation {
                            length: if length >= 4 && last != byte { 1 } else { length + 1 },
                            last: byte,
                        },
                    )
                }
                _ => (TOKEN, Run::Punctuation { length: 1, last: byte }),
            },
        };
        self.cost += cost;
        self.run = run;
    }

    fn add_letter(&mut self, upper: bool) -> (u64, Run) {
        match self.run {
            Run::Word { upper: before, length } if before || !upper => {
                let more = match (upper, length) {
                    // Abbreviations and codes in capitals are split often.
                    (true, _) => 10,
                    (false, 0..=3) => 0,
                    (false, 4..=6) => 1,
                    (false, _) => 3,
                };
                (more, Run::Word { upper, length: length + 1 })
            }
            // A capital inside a word, or a letter after a digit: a code rather than a word.
            Run::Word { .. } | Run::Digits(_) => (21, Run::Word { upper, length: 1 }),
            // A single sign often becomes part of the word that follows.
            Run::Punctuation { length: 1, last } if last != b'"' => (10, Run::Word { upper, length: 1 }),
            _ => (TOKEN, Run::Word { upper, length: 1 }),
        }
    }
}

impl Write for TokenEstimator {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The estimated number of tokens of a text.
pub fn estimate_text(text: &[u8]) -> usize {
    let mut estimator = TokenEstimator::default();
    estimator.add(text);
    estimator.tokens()
}

/// Stops writing once its limit is exceeded.
struct LimitedEstimator {
    estimator: TokenEstimator,
    max_tokens: usize,
}

impl Write for LimitedEstimator {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        /// Processes a long text in parts, so that it can stop early.
        const PART: usize = 4_096;
        let part = bytes.get(..PART).unwrap_or(bytes);
        self.estimator.add(part);
        if self.estimator.tokens() > self.max_tokens {
            return Err(io::Error::other("enough"));
        }
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Like [`estimate_value`], but stops reading a value once it takes more than `max_tokens`. The result then exceeds
/// `max_tokens`, but may be far below the actual number.
pub fn estimate_value_up_to(value: &Value, max_tokens: usize) -> usize {
    let mut limited = LimitedEstimator { estimator: TokenEstimator::default(), max_tokens };
    // Fails at the limit, which is expected.
    drop(serde_json::to_writer(&mut limited, value));
    limited.estimator.tokens()
}

/// The estimated number of tokens of a value as JSON text, which is not stored.
pub fn estimate_value(value: &Value) -> usize {
    let mut estimator = TokenEstimator::default();
    // Writing to an estimator cannot fail.
    drop(serde_json::to_writer(&mut estimator, value));
    estimator.tokens()
}
