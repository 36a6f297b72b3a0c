//! A strict reader of JSON text that gives the place of each value, so that what other programs
//! wrote can be written back byte for byte.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// Objects and arrays within each other.
const MAX_DEPTH: usize = 100;
/// Above this many keys an object's keys are looked up in a set.
const FEW_KEYS: usize = 16;
/// No number with fewer digits and without an exponent is out of a float's range.
const SAFE_DIGITS: usize = 300;

/// Why a text is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The text ends before its value does.
    End,
    /// It is no JSON, from this byte on.
    Syntax(usize, String),
    /// It is JSON, but not what it has to be.
    Content(String),
}

impl Fault {
    /// Puts the place in the file before the problem; a syntax fault has its line already.
    pub(super) fn within(self, place: impl FnOnce() -> String) -> Self {
        match self {
            Self::Content(problem) => Self::Content(format!("{} {problem}", place())),
            other => other,
        }
    }
}

pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// The keys so far of all objects that are open.
    keys: Vec<Cow<'t, str>>,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0, keys: Vec::new() }
    }

    /// A scanner of a text that will be so many levels deep in a file.
    pub(super) fn of_part(text: &'t str, depth: usize) -> Self {
        Self { depth, ..Self::new(text) }
    }

    /// The place of the next byte.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// The text of a range that this scanner has passed.
    pub(super) fn slice(&self, range: &Range<usize>) -> &'t str {
        &self.text[range.clone()]
    }

    /// The first byte of what comes next.
    pub(super) fn peek(&mut self) -> Result<u8, Fault> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Ok(*byte);
            }
            self.at += 1;
        }
        Err(Fault::End)
    }

    /// What kind of value comes next, for messages.
    pub(super) fn kind(&mut self) -> Result<&'static str, Fault> {
        Ok(match self.peek()? {
            b'{' => "an object",
            b'[' => "an array",
            b'"' => "a string",
            b't' | b'f' => "a boolean",
            b'n' => "null",
            b'-' | b'0'..=b'9' => "a number",
            _ => return Err(self.syntax("a value is expected")),
        })
    }

    /// An error about the kind of the value that comes next, unless it begins with `bracket`.
    pub(super) fn require(
        &mut self,
        bracket: u8,
        problem: impl FnOnce(&str) -> String,
    ) -> Result<(), Fault> {
        if self.peek()? == bracket { Ok(()) } else { Err(Fault::Content(problem(self.kind()?))) }
    }

    /// Reads a text that is one object; `member` is as for [`object`](Self::object).
    pub(super) fn whole_object(
        text: &'t str,
        member: impl FnMut(&mut Self, Cow<'t, str>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut scanner = Self::new(text);
        if scanner.peek()? != b'{' {
            let kind = scanner.kind()?;
            // Read to its end first: what is not JSON gets the error for that.
            scanner.value()?;
            return Err(Fault::Content(format!("holds {kind} where an object is expected")));
        }
        scanner.object(member)?;
        scanner.finish()
    }

    /// Nothing but white space may follow.
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Err(_) => Ok(()),
            Ok(_) => Err(self.syntax("more text after the end of the value")),
        }
    }

    /// Reads an object. `member` is called after each key, and has to read its value.
    pub(super) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'t, str>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.open(b'{')?;
        let base = self.keys.len();
        let mut many = HashSet::new();
        if self.peek()? == b'}' {
            self.at += 1;
        } else {
            loop {
                if self.peek()? != b'"' {
                    return Err(self.syntax("a key in quotes is expected"));
                }
                let key = self.string()?;
                self.note_key(base, &mut many, key.clone())?;
                self.expect(b':')?;
                self.peek()?;
                member(self, key)?;
                if !self.goes_on(b'}')? {
                    break;
                }
            }
        }
        self.keys.truncate(base);
        self.depth -= 1;
        Ok(())
    }

    /// Reads an array. `item` is called with the index of each item, and has to read it.
    pub(super) fn array(
        &mut self,
        mut item: impl FnMut(&mut Self, usize) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.open(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
        } else {
            let mut index = 0;
            loop {
                self.peek()?;
                item(self, index)?;
                index += 1;
                if !self.goes_on(b']')? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Reads any value, and returns its place.
    pub(super) fn value(&mut self) -> Result<Range<usize>, Fault> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'{' => self.object(|scanner, _| scanner.value().map(drop))?,
            b'[' => self.array(|scanner, _| scanner.value().map(drop))?,
            b'"' => drop(self.string()?),
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            _ => drop(self.number()?),
        }
        Ok(start..self.at)
    }

    /// A string, with its escapes resolved.
    pub(super) fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.text.as_bytes().get(self.at) {
                None => return Err(Fault::End),
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                Some(0..0x20) => {
                    return Err(self.syntax("a control character stands bare in a string"));
                }
                Some(_) => self.at += 1,
            }
        }
        let content = start..self.at;
        self.at += 1;
        if !escaped {
            return Ok(Cow::Borrowed(&self.text[content]));
        }
        let quoted = &self.text[start - 1..self.at];
        serde_json::from_str(quoted)
            .map(Cow::Owned)
            .map_err(|_| Fault::Syntax(start, "a string holds an invalid escape".to_owned()))
    }

    /// A number within a float's range.
    pub(super) fn number(&mut self) -> Result<f64, Fault> {
        let start = self.at;
        self.skip_if(b'-');
        if !self.skip_if(b'0') {
            self.digits()?;
        }
        let mut plain = true;
        if self.skip_if(b'.') {
            self.digits()?;
        }
        if self.skip_if(b'e') || self.skip_if(b'E') {
            plain = false;
            let _ = self.skip_if(b'+') || self.skip_if(b'-');
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        let number: f64 = text.parse().map_err(|_| self.syntax("a value is expected"))?;
        let in_range = (plain && text.len() < SAFE_DIGITS) || number.is_finite();
        if in_range {
            return Ok(number);
        }
        let start_of_text = &text[..text.len().min(40)];
        Err(Fault::Syntax(start, format!("the number {start_of_text} is out of range")))
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { Err(self.syntax("a value is expected")) } else { Ok(()) }
    }

    fn skip_if(&mut self, byte: u8) -> bool {
        let is_next = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn word(&mut self, word: &'static str) -> Result<(), Fault> {
        let rest = &self.text.as_bytes()[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            return Err(Fault::End);
        }
        Err(self.syntax("a value is expected"))
    }

    fn open(&mut self, bracket: u8) -> Result<(), Fault> {
        self.expect(bracket)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Fault::Syntax(
                self.at,
                format!("objects and arrays are nested deeper than {MAX_DEPTH} levels"),
            ));
        }
        Ok(())
    }

    /// Reads the comma before a further member, or the closing bracket.
    fn goes_on(&mut self, bracket: u8) -> Result<bool, Fault> {
        match self.peek()? {
            b',' => {
                self.at += 1;
                Ok(true)
            }
            byte if byte == bracket => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.syntax(&format!("`,` or `{}` is expected", char::from(bracket)))),
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek()? == byte {
            self.at += 1;
            return Ok(());
        }
        Err(self.syntax(&format!("`{}` is expected", char::from(byte))))
    }

    fn note_key(
        &mut self,
        base: usize,
        many: &mut HashSet<Cow<'t, str>>,
        key: Cow<'t, str>,
    ) -> Result<(), Fault> {
        let known = self.keys[base..].contains(&key) || !many.is_empty() && many.contains(&key);
        if known {
            let short: String = key.chars().take(80).collect();
            return Err(Fault::Syntax(
                self.at,
                format!("the key {short:?} stands twice in one object"),
            ));
        }
        if self.keys.len() - base < FEW_KEYS {
            self.keys.push(key);
        } else {
            many.insert(key);
        }
        Ok(())
    }

    fn syntax(&self, problem: &str) -> Fault {
        if self.at >= self.text.len() {
            return Fault::End;
        }
        Fault::Syntax(self.at, problem.to_owned())
    }
}

/// Line and column of a byte, both from 1.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.split(|byte| *byte == b'\n').count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    (line, column)
}
