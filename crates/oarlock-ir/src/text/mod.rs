//! The text form of programs, for people, tests and tools: one line per variable and per operator.
//!
//! ```text
//! program 1008005
//! block 0 {
//!   var fc_0.w_0: f32[13, 1] persistable
//!   var x: f32[?, 13] need_check_feed
//!   fc_0.tmp_0 = mul(X: x, Y: fc_0.w_0) {x_num_col_dims: 1, y_num_col_dims: 1}
//!   Mask: m, Out: y = dropout(X: fc_0.tmp_0, Seed: []) {dropout_prob: 0.5, shape: longs[], seed: 3L}
//! }
//! ```
//!
//! - An operator with the single output slot `Out` shows only the variable; other outputs are named by slot. A slot
//!   with one argument shows it, others show a list.
//! - The literal of an attribute tells its type: `1` int, `1L` long, `1.0` float, `1.0d` double, `"a"` string, `true`
//!   bool, `block 1`, `var x`, `opaque 0x0a`; lists in brackets, an empty list with its type in front (`ints[]`).
//! - Names with other characters than letters, digits and `_.@/+-` stand in quotes. Text after `#` at the start of a
//!   line is a comment.
//! - Facts that a file does not hold (call sites, parameters) and fields that this version does not know (as hexadecimal
//!   bytes) follow at the end of a line. Reading the text gives an equal program.

mod parse;
mod print;

use std::fmt;

use crate::{Attr, Program, Result, VarKind};

/// Attributes that say who made an operator and where, not what it computes.
const BOOKKEEPING: [&str; 5] = ["op_callstack", "op_device", "op_namescope", "op_role", "op_role_var"];

/// Words that start a line of their own; a name that is one of them stands in quotes.
const FIRST_WORDS: [&str; 3] = ["block", "program", "var"];

/// Kinds of variables and their words; tensors have none.
const KINDS: [(&str, VarKind); 10] = [
    ("rows", VarKind::SelectedRows),
    ("array", VarKind::TensorArray),
    ("feed_list", VarKind::FeedList),
    ("fetch_list", VarKind::FetchList),
    ("step_scopes", VarKind::StepScopes),
    ("rank_table", VarKind::RankTable),
    ("place_list", VarKind::PlaceList),
    ("reader", VarKind::Reader),
    ("raw", VarKind::Raw),
    ("tuple", VarKind::Tuple),
];

impl Program {
    /// The program as text; [`Program::from_text`] reads it.
    pub fn to_text(&self) -> String {
        self.to_string()
    }

    /// The program as text without bookkeeping (call stacks, roles, name scopes, devices, the table of compatible
    /// releases), to read and to compare.
    pub fn summary(&self) -> String {
        print::Printer { bookkeeping: false }.program(self)
    }

    /// Reads the text form of a program.
    pub fn from_text(text: &str) -> Result<Program> {
        parse::program(text)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::Printer { bookkeeping: true }.program(self))
    }
}

impl fmt::Display for Attr {
    /// The literal of the text form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::literal(self))
    }
}

/// May a name stand without quotes?
fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_word) && !FIRST_WORDS.contains(&name)
}

/// A character of a bare name or a number.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.@/+-".contains(c)
}

#[cfg(test)]
mod tests;
