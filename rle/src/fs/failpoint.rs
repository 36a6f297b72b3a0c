//! Places at which a test lets an operation of many steps die.

use crate::Error;

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static STEPS_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Passes, unless a test has it fail here as a kill would: without any clean-up.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "it fails in tests")]
pub(crate) const fn failpoint() -> Result<(), Error> {
    Ok(())
}

/// Passes, unless a test has it fail here as a kill would: without any clean-up.
#[cfg(test)]
pub(crate) fn failpoint() -> Result<(), Error> {
    STEPS_LEFT.with(|left| match left.get() {
        Some(0) => Err(Error::usage("killed by a failpoint")),
        Some(steps) => {
            left.set(Some(steps - 1));
            Ok(())
        }
        None => Ok(()),
    })
}

/// Lets `steps` failpoints of this thread pass and every further one fail, while `work` runs.
#[cfg(test)]
pub(crate) fn dying_after<T>(steps: usize, work: impl FnOnce() -> T) -> T {
    STEPS_LEFT.set(Some(steps));
    let outcome = work();
    STEPS_LEFT.set(None);
    outcome
}
