//! `#[rle::timed]` on every kind of function, against a runtime of our own that counts.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unused_async,
    clippy::boxed_local,
    clippy::needless_lifetimes
)]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// What the expansions name, with `crate = crate::counting`.
mod counting {
    use std::cell::Cell;

    pub use rle::Stage;

    thread_local! {
        static DEBUG: Cell<bool> = const { Cell::new(false) };
    }

    pub fn set_debug(on: bool) {
        DEBUG.set(on);
    }

    fn is_debug() -> bool {
        DEBUG.get()
    }

    pub mod __private {
        use std::cell::RefCell;
        use std::marker::PhantomData;

        use super::Stage;

        pub use rle::__private::{Location, StageEntry, inventory};

        thread_local! {
            static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
        }

        pub struct Site {
            stage: Stage,
            module: &'static str,
        }

        pub struct Guard(&'static Site, PhantomData<*const ()>);

        pub struct AsyncGuard(&'static Site);

        impl Site {
            pub const fn new(stage: Stage, module: &'static str) -> Self {
                Self { stage, module }
            }

            pub const fn in_group(self, name: &'static str) -> Self {
                assert!(!name.is_empty());
                Self { stage: self.stage, module: name }
            }

            pub const fn with_metric(self) -> Self {
                self
            }

            pub fn enter_in_debug(&'static self) -> Option<Guard> {
                note("debug");
                super::is_debug().then(|| self.enter())
            }

            pub fn enter_async_in_debug(&'static self) -> Option<AsyncGuard> {
                note("debug");
                super::is_debug().then(|| self.enter_async())
            }

            pub fn enter(&'static self) -> Guard {
                note(format!("+{}", self.stage.name()));
                Guard(self, PhantomData)
            }

            pub fn enter_async(&'static self) -> AsyncGuard {
                note(format!("+async {}", self.stage.name()));
                AsyncGuard(self)
            }
        }

        impl Drop for Guard {
            fn drop(&mut self) {
                assert!(self.0.module.starts_with("timed"), "{}", self.0.module);
                note(format!("-{}", self.0.stage.name()));
            }
        }

        impl Drop for AsyncGuard {
            fn drop(&mut self) {
                note(format!("-async {}", self.0.stage.name()));
            }
        }

        pub fn note(what: impl Into<String>) {
            LOG.with_borrow_mut(|log| log.push(what.into()));
        }

        pub fn taken() -> Vec<String> {
            LOG.take()
        }
    }
}

use counting::__private::{note, taken};

rle::stages! {
    crate = crate::counting,
    rollout, train, checkpoint { save }
}

/// Runs it, and gives what was noted meanwhile.
fn log<T>(run: impl FnOnce() -> T) -> (Vec<String>, T) {
    taken();
    let value = run();
    (taken(), value)
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

#[rle::timed("train", crate = crate::counting)]
fn early(value: i32) -> Result<i32, String> {
    if value == 0 {
        return Ok(0);
    }
    let parsed: i32 = if value < 0 { Err("negative") } else { Ok(value) }?;
    assert!(parsed < 100, "too large");
    note("body");
    Ok(parsed)
}

#[test]
fn every_way_out_is_recorded() {
    let outcome = |value| log(|| catch_unwind(AssertUnwindSafe(|| early(value))));
    let (lines, value) = outcome(3);
    assert_eq!((lines.join(" "), value.unwrap()), ("+train body -train".into(), Ok(3)));
    let (lines, value) = outcome(0);
    assert_eq!((lines.join(" "), value.unwrap()), ("+train -train".into(), Ok(0)));
    let (lines, value) = outcome(-1);
    assert_eq!((lines.join(" "), value.unwrap()), ("+train -train".into(), Err("negative".into())));
    let (lines, value) = outcome(100);
    assert_eq!(lines.join(" "), "+train -train");
    assert!(value.is_err());
}

struct Noted(&'static str);

impl Drop for Noted {
    fn drop(&mut self) {
        note(self.0);
    }
}

#[rle::timed("train", crate = crate::counting)]
fn with_locals() {
    let _first = Noted("first");
    let _second = Noted("second");
}

#[test]
fn dropping_the_locals_is_part_of_the_stage() {
    let (lines, ()) = log(with_locals);
    assert_eq!(lines, ["+train", "second", "first", "-train"]);
}

trait Policy {
    #[rle::timed("rollout", crate = crate::counting)]
    fn act(&self, scale: f64) -> f64 {
        self.weight() * scale
    }
    fn weight(&self) -> f64;
    fn improve(&mut self) -> impl Future<Output = f64> + Send;
}

#[derive(Default)]
struct Linear<const N: usize> {
    weight: f64,
}

impl<const N: usize> Linear<N> {
    #[rle::timed("train", crate = crate::counting)]
    fn new(weight: f64) -> Self {
        Self { weight }
    }

    #[rle::timed("train", crate = crate::counting)]
    fn step(&mut self, (a, b): (f64, f64)) -> &mut Self {
        self.weight += a * b;
        self
    }

    #[rle::timed("train", crate = crate::counting)]
    fn finish(self: Box<Self>) -> f64 {
        self.weight
    }
}

impl<const N: usize> Policy for Linear<N> {
    fn weight(&self) -> f64 {
        self.weight
    }

    #[rle::timed("checkpoint.save", crate = crate::counting)]
    async fn improve(&mut self) -> f64 {
        std::future::ready(()).await;
        self.weight += 1.0;
        self.weight
    }
}

#[test]
fn methods_of_every_kind() {
    let (lines, value) = log(|| {
        let mut policy = Linear::<3>::new(1.0);
        let acted = policy.step((2.0, 3.0)).act(2.0);
        let improved = block_on(policy.improve());
        acted + improved + Box::new(policy).finish()
    });
    assert_eq!(value.to_bits(), 30.0_f64.to_bits());
    assert_eq!(
        lines.join(" "),
        "+train -train +train -train +rollout -rollout +async checkpoint.save \
         -async checkpoint.save +train -train"
    );
}

#[rle::timed("train", crate = crate::counting)]
fn generic<'a, T, F: Fn(&T) -> bool, const N: usize>(items: &'a [T; N], keep: F) -> Vec<&'a T>
where
    T: PartialOrd,
{
    items.iter().filter(|item| keep(item)).collect()
}

#[rle::timed("train", crate = crate::counting)]
fn opaque(limit: u32) -> impl Iterator<Item = u32> + Clone {
    (0..limit).map(|x| x * x)
}

#[rle::timed("train", crate = crate::counting)]
pub(crate) extern "C" fn foreign(x: i32) -> i32 {
    x
}

/// # Safety
/// None is needed.
#[rle::timed("train", crate = crate::counting)]
unsafe extern "C" fn unchecked(x: i32) -> i32 {
    x
}

#[rle::timed("train", crate = crate::counting)]
fn never(code: i32) -> ! {
    std::panic::panic_any(code)
}

#[rle::timed("rollout", crate = crate::counting)]
#[rle::timed("train", crate = crate::counting)]
fn nested() {}

#[test]
fn free_functions_of_every_kind() {
    assert_eq!(log(|| generic(&[1, 2, 3], |x| *x > 1)), (train(), vec![&2, &3]));
    assert_eq!(log(|| opaque(3).clone().sum::<u32>()), (train(), 5));
    assert_eq!(log(|| foreign(4)), (train(), 4));
    // SAFETY: it does nothing.
    assert_eq!(log(|| unsafe { unchecked(5) }), (train(), 5));
    let (lines, result) = log(|| catch_unwind(|| never(6)));
    assert_eq!((lines, *result.unwrap_err().downcast::<i32>().unwrap()), (train(), 6));
    let (lines, ()) = log(nested);
    assert_eq!(lines, ["+rollout", "+train", "-train", "-rollout"]);
}

fn train() -> Vec<String> {
    vec!["+train".into(), "-train".into()]
}

#[rle::timed("train", crate = crate::counting)]
async fn asynchronous(text: &str) -> Result<usize, std::num::ParseIntError> {
    let value: usize = std::future::ready(text).await.parse()?;
    note("body");
    Ok(value)
}

#[test]
fn a_future_is_timed_when_it_runs_and_stays_send() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let (lines, future) = log(|| is_send(asynchronous("7")));
    assert!(lines.is_empty());
    assert_eq!(log(|| block_on(future)).0, ["+async train", "body", "-async train"]);
    assert_eq!(log(|| block_on(asynchronous("x"))).0, ["+async train", "-async train"]);
}

#[test]
fn a_block_gives_its_value_and_keeps_control_flow() {
    fn first_even(items: &[u32]) -> Option<u32> {
        for &item in items {
            rle::timed_block!("rollout", crate = crate::counting, {
                use std::cmp::Ordering;
                if item.cmp(&7) == Ordering::Equal {
                    break;
                }
                if item % 2 == 0 {
                    return Some(item);
                }
            });
        }
        let none = rle::timed_block!("train", crate = crate::counting, { None? });
        Some(none)
    }
    assert_eq!(log(|| first_even(&[1, 2])).0.join(" "), "+rollout -rollout +rollout -rollout");
    assert_eq!(
        log(|| first_even(&[7, 2])),
        (["+rollout", "-rollout", "+train", "-train"].map(String::from).to_vec(), None)
    );
}

#[test]
fn a_block_that_awaits_leaves_its_future_send() {
    fn spawn<F: Future<Output = u8> + Send>(future: F) -> u8 {
        block_on(future)
    }
    let (lines, value) = log(|| {
        spawn(async {
            rle::timed_block!(train, crate = crate::counting, { std::future::ready(3).await })
        })
    });
    assert_eq!((lines.join(" ").as_str(), value), ("+async train -async train", 3));
}

#[rle::timed("train", debug, crate = crate::counting)]
fn inner() -> u8 {
    3
}

#[rle::timed("train", crate = crate::counting, debug)]
async fn inner_async() -> u8 {
    std::future::ready(4).await
}

#[test]
fn a_debug_stage_is_entered_in_debug_alone() {
    counting::set_debug(false);
    assert_eq!(log(inner), (vec!["debug".into()], 3));
    assert_eq!(log(|| block_on(inner_async())), (vec!["debug".into()], 4));
    counting::set_debug(true);
    assert_eq!(log(inner).0, ["debug", "+train", "-train"]);
    assert_eq!(log(|| block_on(inner_async())).0, ["debug", "+async train", "-async train"]);
    let block = || rle::timed_block!("train", debug, metric, crate = crate::counting, { 5 });
    assert_eq!(log(block).0, ["debug", "+train", "-train"]);
    counting::set_debug(false);
}

#[rle::timed(train, group = "timed group", metric, crate = crate::counting)]
fn grouped() {}

#[test]
fn a_group_and_a_metric_change_nothing_of_the_call() {
    assert_eq!(log(grouped).0, train());
}

#[test]
fn the_guard_is_no_name_of_the_users() {
    #[rle::timed("train", crate = crate::counting)]
    #[allow(non_snake_case, clippy::used_underscore_binding)]
    fn shadowing(__rle_guard: u8, SITE: u8) -> u8 {
        __rle_guard + SITE
    }
    assert_eq!(log(|| shadowing(1, 2)), (train(), 3));
}
