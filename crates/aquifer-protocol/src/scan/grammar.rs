//! The JSON grammar: reads one message to its end or to its first problem.

use std::borrow::Cow;

use crate::limits::{LimitKind, Limits};

use super::extent;
use super::keys::{self, Key};
use super::token;
use super::{Frame, Problem, Stop};

/// An open container.
enum Level {
    /// Its keys start at index `keys_from` and end where those of the next open object start.
    Object {
        keys_from: usize,
    },
    Array {
        elements: usize,
    },
}

/// The position of the request in the message.
struct Request {
    start: usize,
    /// `None` while the scanner is inside the request.
    end: Option<usize>,
}

pub(super) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    frame: Frame,
    limits: &'a Limits,
    /// The position before the current token, even if that token has a problem, because measuring continues from here.
    at: usize,
    levels: Vec<Level>,
    keys: Vec<Key<'a>>,
    in_params: bool,
    request: Option<Request>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, frame: Frame, limits: &'a Limits) -> Self {
        let request = match frame {
            Frame::Bare => Some(Request { start: 0, end: Some(text.len()) }),
            Frame::Mcp => None,
        };
        Self {
            text,
            bytes: text.as_bytes(),
            frame,
            limits,
            at: 0,
            levels: Vec::with_capacity(8),
            keys: Vec::with_capacity(16),
            in_params: false,
            request,
        }
    }

    /// Reads the message and returns the first problem in byte order.
    pub(super) fn run(mut self) -> Result<(), Problem> {
        let stop = self.walk().err();
        let repeat = self.repeat_in_open_objects();
        let first = stop.into_iter().chain(repeat).min_by_key(|stop| stop.at);
        let oversize = self.oversize_before(first.as_ref().map(|stop| stop.at));
        oversize.or(first).map_or(Ok(()), |stop| Err(stop.problem))
    }

    fn walk(&mut self) -> Result<(), Stop> {
        loop {
            let goes_inside = self.begin_value()?;
            if !goes_inside && !self.end_value()? {
                return Ok(());
            }
        }
    }

    /// Reads a scalar or opens a container. Returns true if the first value inside that container follows.
    fn begin_value(&mut self) -> Result<bool, Stop> {
        self.skip_whitespace();
        match self.peek() {
            Some(b'"') => self.at = token::string(self.bytes, self.at, self.limits)?.end,
            Some(b'-' | b'0'..=b'9') => self.at = token::number(self.text, self.at)?,
            Some(b'{') => {
                self.open(Level::Object { keys_from: self.keys.len() })?;
                if self.peek() != Some(b'}') {
                    self.key()?;
                    return Ok(true);
                }
            }
            Some(b'[') => {
                self.open(Level::Array { elements: 0 })?;
                if self.peek() != Some(b']') {
                    self.element()?;
                    return Ok(true);
                }
            }
            _ => self.at = token::literal(self.bytes, self.at)?,
        }
        Ok(false)
    }

    /// Closes the containers that end after a value. Returns true if another value follows, false at the end of the
    /// message.
    fn end_value(&mut self) -> Result<bool, Stop> {
        loop {
            if self.levels.len() == self.frame.levels_around()
                && let Some(request @ Request { end: None, .. }) = &mut self.request
            {
                request.end = Some(self.at);
            }
            self.skip_whitespace();
            match (self.levels.last(), self.peek()) {
                (Some(Level::Object { .. }), Some(b',')) => {
                    self.at += 1;
                    self.key()?;
                    return Ok(true);
                }
                (Some(Level::Array { .. }), Some(b',')) => {
                    self.at += 1;
                    self.element()?;
                    return Ok(true);
                }
                (Some(Level::Object { keys_from }), Some(b'}')) => {
                    let own_keys = self.keys.get_mut(*keys_from..).unwrap_or_default();
                    if let Some(repeat) = keys::first_repeat(own_keys) {
                        return Err(repeat);
                    }
                    self.keys.truncate(*keys_from);
                }
                (Some(Level::Array { .. }), Some(b']')) => {}
                (Some(Level::Object { .. }), _) => return Err(Stop::syntax(self.at, "`,` or `}`")),
                (Some(Level::Array { .. }), _) => return Err(Stop::syntax(self.at, "`,` or `]`")),
                (None, Some(_)) => return Err(Stop::syntax(self.at, "nothing after the value")),
                (None, None) => return Ok(false),
            }
            self.levels.pop();
            self.at += 1;
        }
    }

    fn open(&mut self, level: Level) -> Result<(), Stop> {
        let around = self.frame.levels_around();
        if self.levels.len() >= self.limits.max_nesting_depth.saturating_add(around) {
            let max_depth = extent::measure(self.bytes, self.at, self.levels.len(), 0).max_depth;
            return Err(Stop::too_large(
                self.at,
                LimitKind::NestingDepth,
                self.limits,
                max_depth.saturating_sub(around),
            ));
        }
        self.levels.push(level);
        self.at += 1;
        self.skip_whitespace();
        Ok(())
    }

    /// Counts the next array element.
    fn element(&mut self) -> Result<(), Stop> {
        let depth = self.levels.len();
        if let Some(Level::Array { elements }) = self.levels.last_mut() {
            *elements += 1;
            if *elements > self.limits.max_array_elements {
                let further = extent::measure(self.bytes, self.at, depth, depth - 1).commas;
                return Err(Stop::too_large(self.at, LimitKind::ArrayElements, self.limits, *elements + further));
            }
        }
        Ok(())
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<(), Stop> {
        self.skip_whitespace();
        if self.peek() != Some(b'"') {
            return Err(Stop::syntax(self.at, "a key in double quotes"));
        }
        let token = token::string(self.bytes, self.at, self.limits)?;
        let text = self.decode(&token);
        let is_request_key = self.is_request_key(&text);
        self.keys.push(Key { at: self.at, text });
        self.at = token.end;
        self.skip_whitespace();
        if self.peek() != Some(b':') {
            return Err(Stop::syntax(self.at, "`:`"));
        }
        self.at += 1;
        if is_request_key {
            self.skip_whitespace();
            self.request = Some(Request { start: self.at, end: None });
        }
        Ok(())
    }

    fn decode(&self, token: &token::Text) -> Cow<'a, str> {
        if token.escaped {
            let quoted = self.text.get(self.at..token.end).unwrap_or_default();
            Cow::Owned(serde_json::from_str(quoted).unwrap_or_default())
        } else {
            Cow::Borrowed(self.text.get(self.at + 1..token.end - 1).unwrap_or_default())
        }
    }

    /// Follows the path `params.arguments` through the message. Returns true if the key just read completes it.
    fn is_request_key(&mut self, key: &str) -> bool {
        match (self.frame, self.levels.len()) {
            (Frame::Mcp, 1) => {
                self.in_params = key == "params";
                false
            }
            (Frame::Mcp, 2) => self.in_params && key == "arguments" && self.request.is_none(),
            _ => false,
        }
    }

    /// Compares the keys of objects that are still open when the scan stops.
    fn repeat_in_open_objects(&mut self) -> Option<Stop> {
        let mut earliest: Option<Stop> = None;
        for level in self.levels.iter().rev() {
            if let Level::Object { keys_from } = level {
                let repeat = keys::first_repeat(self.keys.get_mut(*keys_from..).unwrap_or_default());
                earliest = earliest.into_iter().chain(repeat).min_by_key(|stop| stop.at);
                self.keys.truncate(*keys_from);
            }
        }
        earliest
    }

    /// The problem that the request is too large, unless another problem occurs before it.
    fn oversize_before(&self, first: Option<usize>) -> Option<Stop> {
        let request = self.request.as_ref()?;
        let excess_at = request.start.saturating_add(self.limits.max_request_size);
        if first.is_some_and(|at| at <= excess_at) {
            return None;
        }
        let around = self.frame.levels_around();
        let measured = || extent::measure(self.bytes, self.at, self.levels.len(), around).end;
        let end = request.end.unwrap_or_else(measured);
        let size = end - request.start;
        (end > excess_at).then(|| Stop::too_large(excess_at, LimitKind::RequestSize, self.limits, size))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }
}
