//! Reads the lines of a file one at a time, with a bounded buffer.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};

use super::line::MAX_LINE_BYTES;

/// The text up to the next newline.
pub(super) enum Line<'a> {
    /// A line, without its newline.
    Whole(&'a [u8]),
    /// Longer than any valid line; skipped.
    TooLong,
    /// The file ends without a newline.
    Unfinished,
}

pub(super) struct Lines {
    file: BufReader<File>,
    text: Vec<u8>,
}

impl Lines {
    pub(super) fn new(file: File) -> Self {
        Self { file: BufReader::with_capacity(MAX_LINE_BYTES, file), text: Vec::new() }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.text.clear();
        let (mut length, mut ended) = (0_usize, false);
        while !ended {
            let there = match self.file.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if there.is_empty() {
                return Ok((length > 0).then_some(Line::Unfinished));
            }
            let part = match there.iter().position(|byte| *byte == b'\n') {
                Some(end) => there.get(..end).unwrap_or_default(),
                None => there,
            };
            ended = part.len() < there.len();
            length = length.saturating_add(part.len().max(usize::from(!ended)));
            if length <= MAX_LINE_BYTES {
                self.text.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(ended);
            self.file.consume(taken);
        }
        Ok(Some(if length <= MAX_LINE_BYTES { Line::Whole(&self.text) } else { Line::TooLong }))
    }
}
