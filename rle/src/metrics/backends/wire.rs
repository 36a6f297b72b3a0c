//! Protocol buffers, as much of them as the three formats need: fields to bytes, and back.
//!
//! The layout is that of <https://protobuf.dev/programming-guides/encoding>.

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;
const FIXED32: u32 = 5;

pub(in crate::metrics) fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(low_byte(number) | 0x80);
        number >>= 7;
    }
    out.push(low_byte(number));
}

#[expect(clippy::cast_possible_truncation, reason = "the low byte is what is wanted")]
fn low_byte(number: u64) -> u8 {
    number as u8
}

fn key(out: &mut Vec<u8>, field: u32, kind: u32) {
    varint(out, u64::from(field << 3 | kind));
}

pub(in crate::metrics) fn uint(out: &mut Vec<u8>, field: u32, number: u64) {
    key(out, field, VARINT);
    varint(out, number);
}

/// An `int64` or an `int32`: ten bytes when negative.
pub(in crate::metrics) fn int(out: &mut Vec<u8>, field: u32, number: i64) {
    uint(out, field, number.cast_unsigned());
}

pub(in crate::metrics) fn double(out: &mut Vec<u8>, field: u32, number: f64) {
    key(out, field, FIXED64);
    out.extend_from_slice(&number.to_le_bytes());
}

pub(in crate::metrics) fn float(out: &mut Vec<u8>, field: u32, number: f32) {
    key(out, field, FIXED32);
    out.extend_from_slice(&number.to_le_bytes());
}

pub(in crate::metrics) fn bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    key(out, field, LENGTH);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(in crate::metrics) fn text(out: &mut Vec<u8>, field: u32, text: &str) {
    bytes(out, field, text.as_bytes());
}

/// A nested message, whose fields `fill` appends.
pub(in crate::metrics) fn message(out: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    key(out, field, LENGTH);
    let at = out.len();
    // Most are short, and then the length takes this one byte.
    out.push(0);
    fill(out);
    let length = out.len() - at - 1;
    if length < 0x80 {
        out[at] = low_byte(length as u64);
        return;
    }
    let mut prefix = Vec::with_capacity(10);
    varint(&mut prefix, length as u64);
    out.splice(at..=at, prefix);
}

/// `google.protobuf.Timestamp`, from seconds since 1970.
pub(in crate::metrics) fn timestamp(out: &mut Vec<u8>, field: u32, seconds: f64) {
    message(out, field, |out| {
        let whole = seconds.floor();
        #[expect(clippy::cast_possible_truncation, reason = "saturates where no clock goes")]
        let (seconds, nanos) = (whole as i64, ((seconds - whole) * 1e9) as i64);
        int(out, 1, seconds);
        int(out, 2, nanos.min(999_999_999));
    });
}

/// The content of one field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::metrics) enum Content<'a> {
    /// An integer, a bool or an enum.
    Number(u64),
    /// A text, bytes, or a nested message.
    Bytes(&'a [u8]),
    /// A float or a double, which no reader here needs.
    Fixed,
}

/// The fields of a message, in order; ends early where the bytes are no message.
pub(in crate::metrics) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Content<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let key = self.varint()?;
        let field = u32::try_from(key >> 3).ok()?;
        let content = match u32::try_from(key & 7).ok()? {
            VARINT => Content::Number(self.varint()?),
            FIXED64 => self.take(8).map(|_| Content::Fixed)?,
            FIXED32 => self.take(4).map(|_| Content::Fixed)?,
            LENGTH => {
                let length = usize::try_from(self.varint()?).ok()?;
                Content::Bytes(self.take(length)?)
            }
            _ => return None,
        };
        Some((field, content))
    }
}

impl<'a> Fields<'a> {
    /// The bytes of the first field of that number.
    pub(in crate::metrics) fn bytes_of(message: &'a [u8], wanted: u32) -> Option<&'a [u8]> {
        Self(message).find_map(|(field, content)| match content {
            Content::Bytes(bytes) if field == wanted => Some(bytes),
            _ => None,
        })
    }

    /// The number in the first field of that number.
    pub(in crate::metrics) fn number_of(message: &'a [u8], wanted: u32) -> Option<u64> {
        Self(message).find_map(|(field, content)| match content {
            Content::Number(number) if field == wanted => Some(number),
            _ => None,
        })
    }

    /// The text of the first field of that number.
    pub(in crate::metrics) fn text_of(message: &'a [u8], wanted: u32) -> Option<&'a str> {
        std::str::from_utf8(Self::bytes_of(message, wanted)?).ok()
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_those_of_the_encoding_guide() {
        let mut out = Vec::new();
        uint(&mut out, 1, 150);
        assert_eq!(out, [0x08, 0x96, 0x01]);
        out.clear();
        text(&mut out, 2, "testing");
        assert_eq!(out, b"\x12\x07testing");
        out.clear();
        message(&mut out, 3, |out| uint(out, 1, 150));
        assert_eq!(out, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        out.clear();
        int(&mut out, 1, -2);
        assert_eq!(out, [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    }

    proptest! {
        #[test]
        fn fields_come_back(number: u64, length in 0_usize..300, after: u32) {
            let long = vec![7; length];
            let mut out = Vec::new();
            message(&mut out, 9, |out| {
                uint(out, 1, number);
                double(out, 2, 0.5);
                float(out, 3, 0.5);
                bytes(out, 16, &long);
            });
            uint(&mut out, 2, u64::from(after));
            let inner = Fields::bytes_of(&out, 9).unwrap();
            prop_assert_eq!(Fields::number_of(inner, 1), Some(number));
            prop_assert_eq!(Fields::bytes_of(inner, 16), Some(long.as_slice()));
            prop_assert_eq!(Fields(inner).count(), 4);
            prop_assert_eq!(Fields::number_of(&out, 2), Some(u64::from(after)));
        }

        #[test]
        fn bytes_that_are_no_message_end_the_fields(noise: Vec<u8>) {
            prop_assert!(Fields(&noise).count() <= noise.len());
        }
    }
}
