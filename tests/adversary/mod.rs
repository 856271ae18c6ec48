//! Agents that cheat, and honest ones with bad luck: one table, a file a theme, against one truth that tm has no part in.
//!
//! A case says what its agent does in the first attempt at task 1 and what may come of it. Whatever it is, `driver.rs`
//! asserts of every case: what tm says has landed is true in a fresh clone (`truth.rs`), nothing of the user's is touched
//! (`belongings.rs`), the run ends, no process is left, no secret is written down. With `TM_TEST_BINARY` another tm is tried.
//! `TM_TEST_EVERY_ROW=1 cargo test adversary::` walks the whole table; with `TM_TEST_AUDIT=FILE`, what lands is also audited,
//! and `agreement.rs` compares what the audit says with the truth.

/// Makes a test of each case, named as the fact that it shows.
macro_rules! cases {
    ($($name:ident: $case:expr;)+) => {
        $(#[test]
        fn $name() {
            if $crate::adversary::is_tried(concat!(module_path!(), stringify!($name))) {
                $case.check();
            }
        })+
    };
}

/// The suite tries each fifth row; `TM_TEST_EVERY_ROW=1` tries all, which takes minutes.
fn is_tried(name: &str) -> bool {
    let sum: u32 = name.bytes().map(u32::from).sum();
    has_every_row() || sum.is_multiple_of(5)
}

mod agreement;
mod belongings;
mod case;
mod driver;
mod ending;
mod files;
mod gitfiles;
mod hiding;
mod history;
mod honest;
mod inputs;
mod language;
mod machine;
mod people;
mod python;
mod red;
mod runner;
mod state;
mod truth;

use crate::skipping::has_every_row;
