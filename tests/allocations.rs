//! How often a timed call allocates, by an allocator that counts.
#![allow(missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

rle::stages! { step, other, recursive, in_turn }

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all of it is the system's allocator; counting on the side neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are the system's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread meanwhile.
fn allocations(body: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    body();
    ALLOCATIONS.get() - before
}

#[rle::timed("step")]
fn step() {}

#[rle::timed("other")]
async fn other() {
    std::future::ready(()).await;
}

#[rle::timed("recursive")]
fn recursive(depth: u32) {
    if depth > 0 {
        recursive(depth - 1);
    }
}

/// Of the threads of one test alone.
#[rle::timed("in_turn")]
fn in_turn() {}

fn wait_for_other() {
    let mut future = pin!(other());
    let poll = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(poll, Poll::Ready(())));
}

fn calls() {
    step();
    wait_for_other();
    recursive(10);
}

#[test]
fn only_the_first_call_of_a_thread_allocates() {
    for _ in 0..2 {
        thread::spawn(|| {
            assert!(allocations(|| drop(vec![0_u8; 8])) == 1, "the allocator counts");
            calls();
            assert_eq!(allocations(|| (0..10_000).for_each(|_| calls())), 0);
        })
        .join()
        .expect("the calls do not allocate");
    }
}

#[test]
fn threads_that_come_and_go_use_the_same_memory() {
    let first_calls = || {
        thread::scope(|scope| {
            let ended = scope.spawn(|| allocations(in_turn)).join();
            ended.expect("a call does not panic")
        })
    };
    first_calls();
    let later: Vec<u64> = (0..100).map(|_| first_calls()).collect();
    assert!(later.iter().all(|count| *count == 0), "{later:?}");
}
