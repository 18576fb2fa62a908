//! Recovers the `id` and `method` of a refused JSON-RPC message, so that it can be answered.
//!
//! A client waits for an answer with its own id. Even a line that is discarded for its size is therefore searched for
//! the id, which TypeScript clients write after `params`, at the very end. [`Salvage`] reads the bytes as they arrive,
//! stores at most one short piece of text, and is lenient about everything except the id: an answer with a wrong id is
//! worse than one without, so any ambiguity (a duplicate key, mismatched brackets, a truncated id) yields no id.

use serde_json::Value;

use super::token;

/// Maximum length of ids and method names. Longer ones are ignored.
const MAX_KEPT_LEN: usize = 256;

/// What could be recovered from a refused message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvagedMessage {
    /// The id as JSON text, an integer or a string, which can be copied into an answer.
    pub id: Option<String>,
    /// Whether there was an id, even an unusable one. The client then waits for an answer.
    pub has_id: bool,
    /// The method's name, decoded.
    pub method: Option<String>,
    /// The size of the message in bytes.
    pub bytes: usize,
}

impl SalvagedMessage {
    /// Whether it was a tool call that can be answered as one.
    pub fn is_call(&self) -> bool {
        self.id.is_some() && self.method.as_deref() == Some("tools/call")
    }
}

/// Searches a message for its `id` and `method` as it arrives.
#[derive(Debug, Default)]
pub struct Salvage {
    bytes: usize,
    brackets: Brackets,
    quoting: Quoting,
    member_text: MemberText,
    field: Field,
    id: Slot,
    method: Slot,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    #[default]
    Outside,
    Inside,
    /// The next byte is escaped.
    AfterBackslash,
}

/// The field of the message that the current value belongs to.
#[derive(Debug, Default, Clone, Copy)]
enum Field {
    #[default]
    Other,
    Id,
    Method,
}

impl Salvage {
    /// Begins a message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Searches a whole message.
    pub fn search(message: &[u8]) -> SalvagedMessage {
        let mut salvage = Self::new();
        salvage.push(message);
        salvage.finish()
    }

    /// Reads the next bytes of the message, which may be split at any position.
    pub fn push(&mut self, chunk: &[u8]) {
        self.bytes = self.bytes.saturating_add(chunk.len());
        let mut rest = chunk;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match (self.quoting, byte) {
                (Quoting::Outside, _) => self.outside(byte),
                (Quoting::AfterBackslash, _) => self.inside(byte, Quoting::Inside),
                (Quoting::Inside, b'"') => self.inside(byte, Quoting::Outside),
                (Quoting::Inside, b'\\') => self.inside(byte, Quoting::AfterBackslash),
                (Quoting::Inside, _) if self.keeps() => self.member_text.push(byte),
                (Quoting::Inside, _) => rest = rest.get(token::plain_run(rest)..).unwrap_or_default(),
            }
        }
    }

    /// Ends the message. A value without a delimiter after it may be truncated and is ignored.
    pub fn finish(self) -> SalvagedMessage {
        let has_id = !matches!(self.id, Slot::Unseen);
        SalvagedMessage { id: self.id.into_kept(), has_id, method: self.method.into_kept(), bytes: self.bytes }
    }

    fn keeps(&self) -> bool {
        self.brackets.in_message() && !self.member_text.is_unusable
    }

    fn inside(&mut self, byte: u8, next: Quoting) {
        self.quoting = next;
        if self.keeps() {
            self.member_text.push(byte);
        }
    }

    fn outside(&mut self, byte: u8) {
        let in_message = self.brackets.in_message();
        match byte {
            b'{' | b'[' => {
                self.member_text.mark_unusable();
                self.brackets.open(byte);
                if self.brackets.in_message() {
                    self.member_text = MemberText::default();
                }
            }
            b'}' | b']' => {
                if self.brackets.close(byte) && in_message {
                    self.end_value();
                }
            }
            b',' if in_message => self.end_value(),
            b':' if in_message => self.end_key(),
            b' ' | b'\t' | b'\n' | b'\r' => self.member_text.gap = !self.member_text.text.is_empty(),
            b'"' => self.inside(byte, Quoting::Inside),
            _ => self.inside(byte, Quoting::Outside),
        }
    }

    fn end_key(&mut self) {
        let key = std::mem::take(&mut self.member_text);
        self.field = match key.decoded().as_deref() {
            Some("id") => Field::Id,
            Some("method") => Field::Method,
            _ => Field::Other,
        };
        match self.field {
            Field::Id => self.id.begin(),
            Field::Method => self.method.begin(),
            Field::Other => {}
        }
    }

    fn end_value(&mut self) {
        let value = std::mem::take(&mut self.member_text);
        match std::mem::take(&mut self.field) {
            Field::Id => self.id.settle(value.into_id()),
            Field::Method => self.method.settle(value.decoded()),
            Field::Other => {}
        }
    }
}

/// The open brackets: their number, and the kinds of the outermost 128.
#[derive(Debug, Default)]
struct Brackets {
    depth: usize,
    /// Bit n is set if level n + 1 is an object.
    objects: u128,
    /// Whether brackets did not match. The structure is then unknown.
    lost: bool,
}

impl Brackets {
    /// Whether the next token belongs to the message itself, not to a nested value.
    fn in_message(&self) -> bool {
        self.depth == 1 && self.objects & 1 == 1 && !self.lost
    }

    fn open(&mut self, bracket: u8) {
        if let Some(bit) = Self::bit(self.depth) {
            if bracket == b'{' {
                self.objects |= bit;
            } else {
                self.objects &= !bit;
            }
        }
        self.depth = self.depth.saturating_add(1);
    }

    /// Closes a bracket. Returns whether it matches the opening one.
    fn close(&mut self, bracket: u8) -> bool {
        let Some(depth) = self.depth.checked_sub(1) else {
            self.lost = true;
            return false;
        };
        self.depth = depth;
        if let Some(bit) = Self::bit(depth) {
            self.lost |= (self.objects & bit != 0) != (bracket == b'}');
        }
        !self.lost
    }

    fn bit(level: usize) -> Option<u128> {
        u32::try_from(level).ok().and_then(|level| 1u128.checked_shl(level))
    }
}

/// The top-level text between two of the characters `{`, `:`, `,` and `}`.
#[derive(Debug, Default)]
struct MemberText {
    text: Vec<u8>,
    /// Whether whitespace followed the text. More text would be a second token.
    gap: bool,
    /// Whether the text is unusable: too long, more than one token, or a container.
    is_unusable: bool,
}

impl MemberText {
    fn push(&mut self, byte: u8) {
        if self.gap || self.text.len() == MAX_KEPT_LEN {
            self.mark_unusable();
        } else {
            self.text.push(byte);
        }
    }

    fn mark_unusable(&mut self) {
        self.text = Vec::new();
        self.is_unusable = true;
    }

    fn decoded(&self) -> Option<String> {
        serde_json::from_slice(&self.text).ok()
    }

    fn into_id(self) -> Option<String> {
        let usable = match serde_json::from_slice(&self.text).ok()? {
            Value::String(_) => true,
            Value::Number(number) => number.is_i64() || number.is_u64(),
            _ => false,
        };
        String::from_utf8(self.text).ok().filter(|_| usable)
    }
}

/// What is known about one field.
#[derive(Debug, Default)]
enum Slot {
    #[default]
    Unseen,
    /// Its key was read, but not its value.
    Named,
    Kept(String),
    /// Unusable, or a duplicate.
    Refused,
}

impl Slot {
    fn begin(&mut self) {
        *self = if matches!(self, Self::Unseen) { Self::Named } else { Self::Refused };
    }

    fn settle(&mut self, value: Option<String>) {
        if matches!(self, Self::Named) {
            *self = value.map_or(Self::Refused, Self::Kept);
        }
    }

    fn into_kept(self) -> Option<String> {
        if let Self::Kept(value) = self { Some(value) } else { None }
    }
}
