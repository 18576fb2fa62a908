//! Reads the lines of a file from its end to its beginning, with a bounded buffer.
//!
//! The file is opened for every block, because there may be more files than a process can keep open.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::audit::line::MAX_LINE_BYTES;

/// Size of a block.
const BLOCK_BYTES: u64 = 16 * 1024;

/// The lines of a file, last first. Lines longer than any valid one are skipped.
pub(super) struct BackwardLines {
    path: PathBuf,
    /// The offset of `text` in the file.
    begin: u64,
    /// What was read and not returned yet.
    text: Vec<u8>,
    /// Whether the end of a line that is too long was dropped.
    is_skipping: bool,
}

impl BackwardLines {
    /// The lines before this offset, which is the end of the file or the beginning of a line.
    pub(super) fn before(path: &Path, offset: u64) -> Self {
        Self { path: path.to_owned(), begin: offset, text: Vec::new(), is_skipping: false }
    }

    /// Whether text is kept in memory.
    pub(super) fn is_buffering(&self) -> bool {
        self.text.capacity() > 0
    }

    /// Gives back the memory. The text is read again when it is needed.
    pub(super) fn release(&mut self) {
        self.begin = self.begin.saturating_add(self.text.len() as u64);
        self.text = Vec::new();
    }

    /// The next line without its newline, and its offset. A file that was dropped in the meantime has no more lines.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        loop {
            let newline = self.text.iter().rposition(|byte| *byte == b'\n');
            let is_first = newline.is_none() && self.begin == 0;
            if newline.is_some() || is_first {
                let start = newline.map_or(0, |newline| newline + 1);
                let line = self.text.split_off(start);
                self.text.pop();
                let is_skipped = std::mem::take(&mut self.is_skipping) || line.is_empty();
                if !is_skipped {
                    return Ok(Some((self.begin.saturating_add(start as u64), line)));
                }
                if is_first {
                    return Ok(None);
                }
                continue;
            }
            if self.text.len() > MAX_LINE_BYTES {
                self.text.clear();
                self.is_skipping = true;
            }
            match self.read_block() {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => {
                    (self.begin, self.is_skipping) = (0, true);
                    self.text.clear();
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Puts the block before the text in front of it.
    fn read_block(&mut self) -> io::Result<()> {
        let begin = self.begin.saturating_sub(BLOCK_BYTES);
        let length = usize::try_from(self.begin - begin).unwrap_or_default();
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(begin))?;
        let mut block = vec![0; length];
        block.reserve(self.text.len());
        file.read_exact(&mut block)?;
        block.append(&mut self.text);
        (self.begin, self.text) = (begin, block);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn lines_backward(content: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let path = std::env::temp_dir().join(format!("aquifer-backward-{}-{:p}", std::process::id(), &content));
        std::fs::write(&path, content).unwrap();
        let mut lines = BackwardLines::before(&path, content.len() as u64);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(line);
        }
        std::fs::remove_file(&path).unwrap();
        found
    }

    /// The same lines, read from the beginning.
    fn lines_forward(content: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut offset = 0;
        let mut found = Vec::new();
        for line in content.split(|byte| *byte == b'\n') {
            if !line.is_empty() && line.len() <= MAX_LINE_BYTES {
                found.push((offset, line.to_vec()));
            }
            offset += line.len() as u64 + 1;
        }
        found.reverse();
        found
    }

    #[test]
    fn lines_are_the_same_backwards_for_every_length() {
        let block = usize::try_from(BLOCK_BYTES).unwrap();
        let line = |length: usize, letter: u8| [vec![letter; length], vec![b'\n']].concat();
        let contents = [
            Vec::new(),
            b"\n".to_vec(),
            b"\n\n".to_vec(),
            b"a".to_vec(),
            b"a\nb".to_vec(),
            b"\na\n\nb\n".to_vec(),
            line(block - 1, b'a'),
            [line(block, b'a'), line(block - 1, b'b'), line(1, b'c')].concat(),
            [line(3, b'a'), line(MAX_LINE_BYTES, b'b'), line(2, b'c')].concat(),
            [line(3, b'a'), line(5 * MAX_LINE_BYTES, b'b'), line(2, b'c')].concat(),
            line(5 * MAX_LINE_BYTES, b'b'),
            (0..5_000).flat_map(|length| line(length % 97, b'a')).collect(),
        ];
        for content in contents {
            assert_eq!(lines_backward(&content), lines_forward(&content), "{} bytes", content.len());
        }
    }

    #[test]
    fn a_file_that_is_gone_or_shorter_has_no_more_lines() {
        let nowhere = std::env::temp_dir().join("aquifer-backward-nowhere");
        assert_eq!(BackwardLines::before(&nowhere, 100).next().unwrap(), None);
    }
}
