//! Prints docs/options.md: every option of a Fluid script and what becomes of it. Run by `cargo xtask codegen`.
#![expect(clippy::print_stdout, reason = "printing is its job")]

use oarlock::settings::{Class, PLACES, Setting};

fn main() {
    println!("# Options of Fluid scripts\n");
    println!("Written by `cargo xtask codegen` from `crates/oarlock/src/settings.rs`; do not edit.\n");
    println!(
        "Every option that a script can set is in one of four classes. *Honoured*: it does what it says. *Accepted*: it cannot\n\
         change results here; the reason is logged once, by the logger `oarlock` at level INFO, when a script sets it to something\n\
         else than its default. *Refused*: results would differ, so any value but the default is an error with the advice below.\n\
         *Renamed*: an error that says what it is called now.\n\
         An unknown name is an error that names the nearest known one. So is a misspelt variable `OARLOCK_...` of the\n\
         environment when a program starts; a flag of the environment that nothing reads, which may be meant for another\n\
         program, is a warning.\n"
    );
    for place in PLACES {
        println!("## {}\n\nSet as {}.\n", place.name, place.doc);
        println!(
            "| name | default | class | what it does, why it cannot matter, or what to do instead |\n|---|---|---|---|"
        );
        place.settings.iter().for_each(print_row);
        println!();
    }
}

fn print_row(setting: &Setting) {
    let (class, text) = match setting.class {
        Class::Honoured(text) => ("honoured", text),
        Class::Accepted(text) => ("accepted", text),
        Class::Refused(text) => ("refused", text),
        Class::Renamed(text) => ("renamed", text),
    };
    let only = setting.only.map(|v| format!(" = {v}")).unwrap_or_default();
    println!("| `{}{only}` | `{}` | {class} | {text} |", setting.name, setting.default);
}
