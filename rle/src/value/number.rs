//! Numbers: 64-bit integers exact, everything else a double.

use super::error::ValueError;

/// The words that stand for the floats that JSON has no form for.
pub(super) const NON_FINITE: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

/// The word that stands for a NaN or an infinity.
pub(crate) fn non_finite_word(x: f64) -> &'static str {
    let same = |float: f64| float.to_bits() == x.to_bits() || (float.is_nan() && x.is_nan());
    NON_FINITE.iter().find(|(_, float)| same(*float)).map_or("NaN", |(word, _)| word)
}

/// A JSON number: an unsigned or a negative 64-bit integer, or a 64-bit float.
///
/// Equality is exact: `1` and `1.0` differ, and so do `0.0` and `-0.0`; only the canonical
/// form treats them alike. A float may be a NaN or an infinity (see [`Value`](super::Value)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(Repr);

#[derive(Clone, Copy, Debug)]
pub(super) enum Repr {
    Unsigned(u64),
    /// Always below zero.
    Negative(i64),
    Float(f64),
}

impl PartialEq for Repr {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unsigned(a), Self::Unsigned(b)) => a == b,
            (Self::Negative(a), Self::Negative(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

impl Eq for Repr {}

impl Number {
    /// The number as an unsigned integer, if it is one; an integral float counts.
    pub fn as_u64(&self) -> Option<u64> {
        u64::try_from(self.as_i128()?).ok()
    }

    /// The number as a signed integer, if it is one in range; an integral float counts.
    pub fn as_i64(&self) -> Option<i64> {
        i64::try_from(self.as_i128()?).ok()
    }

    /// The number as a double; an integer beyond 2^53 is rounded.
    #[expect(clippy::cast_precision_loss, reason = "documented: the caller asks for a double")]
    pub fn as_f64(&self) -> f64 {
        match self.0 {
            Repr::Unsigned(n) => n as f64,
            Repr::Negative(n) => n as f64,
            Repr::Float(x) => x,
        }
    }

    /// Whether the number is held as a float, integral or not.
    pub fn is_float(&self) -> bool {
        matches!(self.0, Repr::Float(_))
    }

    /// Whether the number is neither a NaN nor an infinity.
    pub fn is_finite(&self) -> bool {
        self.as_f64().is_finite()
    }

    pub(super) fn repr(self) -> Repr {
        self.0
    }

    /// The integer this number is, within `i64::MIN..=u64::MAX`.
    pub(crate) fn as_i128(self) -> Option<i128> {
        match self.0 {
            Repr::Unsigned(n) => Some(i128::from(n)),
            Repr::Negative(n) => Some(i128::from(n)),
            Repr::Float(x) => integral(x),
        }
    }

    /// The number that a JSON number text stands for.
    pub(crate) fn parse(text: &str) -> Result<Self, ValueError> {
        if let Ok(n) = text.parse::<u64>() {
            return Ok(n.into());
        }
        match text.parse::<i64>() {
            // `-0` has no integer that keeps its sign.
            Ok(0) => return Ok((-0.0).into()),
            Ok(n) => return Ok(n.into()),
            Err(_) => {}
        }
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x.into()),
            Ok(_) => Err(ValueError::new(format!("the number {text} is out of range"))),
            Err(_) => Err(ValueError::new(format!("`{text}` is not a number"))),
        }
    }

    pub(crate) fn from_i128(n: i128) -> Result<Self, ValueError> {
        if let Ok(n) = u64::try_from(n) {
            return Ok(n.into());
        }
        i64::try_from(n).map(Self::from).map_err(|_| out_of_range(&n))
    }

    pub(crate) fn from_u128(n: u128) -> Result<Self, ValueError> {
        u64::try_from(n).map(Self::from).map_err(|_| out_of_range(&n))
    }
}

fn out_of_range(n: &dyn std::fmt::Display) -> ValueError {
    ValueError::new(format!(
        "the integer {n} is out of range, accepted: {} to {}",
        i64::MIN,
        u64::MAX
    ))
}

/// The integer that `x` is, if it is one within `i64::MIN..=u64::MAX`.
fn integral(x: f64) -> Option<i128> {
    const BELOW: f64 = -9_223_372_036_854_775_808.0;
    const ABOVE: f64 = 18_446_744_073_709_551_616.0;
    if !(BELOW..ABOVE).contains(&x) || x.fract() != 0.0 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "integral and in range, as checked above")]
    Some(x as i128)
}

impl From<f64> for Number {
    fn from(x: f64) -> Self {
        // One NaN: its payload has no text form and must not make equal values differ.
        Self(Repr::Float(if x.is_nan() { f64::NAN } else { x }))
    }
}

impl From<f32> for Number {
    /// The double nearest to the shortest decimal that reads back as this `f32`.
    fn from(x: f32) -> Self {
        if x.is_finite() {
            let decimal = format!("{x:e}");
            decimal.parse::<f64>().unwrap_or_else(|_| f64::from(x)).into()
        } else {
            f64::from(x).into()
        }
    }
}

impl From<u64> for Number {
    fn from(n: u64) -> Self {
        Self(Repr::Unsigned(n))
    }
}

impl From<i64> for Number {
    fn from(n: i64) -> Self {
        Self(u64::try_from(n).map_or(Repr::Negative(n), Repr::Unsigned))
    }
}

macro_rules! from_small {
    ($($small:ty => $wide:ty),*) => {$(
        impl From<$small> for Number {
            fn from(n: $small) -> Self {
                <$wide>::from(n).into()
            }
        }
    )*};
}
from_small!(u8 => u64, u16 => u64, u32 => u64, i8 => i64, i16 => i64, i32 => i64);

impl From<usize> for Number {
    fn from(n: usize) -> Self {
        Self(Repr::Unsigned(n as u64))
    }
}

impl From<isize> for Number {
    fn from(n: isize) -> Self {
        (n as i64).into()
    }
}
