//! What may be logged: every number as a value, every whole one as a step.

/// A value that can be logged: a number, or a boolean as 1 or 0. It is kept as an `f64`, which
/// holds whole numbers up to 2⁵³ exactly.
pub trait LogValue: Copy {
    /// The value as it is logged.
    fn as_logged(self) -> f64;
}

/// A step that values belong to. One beyond `i64` counts as the last that there is.
pub trait LogStep: Copy {
    /// The step as it is logged.
    fn as_step(self) -> i64;
}

impl<V: LogValue> LogValue for &V {
    fn as_logged(self) -> f64 {
        (*self).as_logged()
    }
}

macro_rules! loggable {
    ($trait:ident, $method:ident -> $logged:ty: $($number:ty),* => |$given:ident| $as_logged:expr) => {
        $(impl $trait for $number {
            #[allow(clippy::cast_precision_loss, reason = "as documented, in some of the types")]
            fn $method(self) -> $logged {
                let $given = self;
                $as_logged
            }
        })*
    };
}

loggable!(LogValue, as_logged -> f64: f64 => |x| x);
loggable!(LogValue, as_logged -> f64: f32, i8, i16, i32, u8, u16, u32, bool => |x| x.into());
loggable!(LogValue, as_logged -> f64: i64, u64, isize, usize => |n| n as f64);
loggable!(LogStep, as_step -> i64: i64 => |n| n);
loggable!(LogStep, as_step -> i64: i8, i16, i32, u8, u16, u32 => |n| n.into());
loggable!(LogStep, as_step -> i64: isize, u64, usize => |n| n.try_into().unwrap_or(i64::MAX));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_a_value_and_every_whole_one_a_step() {
        let values =
            [0.5_f32.as_logged(), true.as_logged(), 3_usize.as_logged(), (&-2).as_logged()];
        assert_eq!(values.map(|value| value.to_string()), ["0.5", "1", "3", "-2"]);
        assert!(f32::NAN.as_logged().is_nan());
        assert_eq!([u64::MAX.as_step(), i64::MIN.as_step()], [i64::MAX, i64::MIN]);
        assert_eq!((7_u8.as_step(), 7_usize.as_step()), (7, 7));
    }
}
