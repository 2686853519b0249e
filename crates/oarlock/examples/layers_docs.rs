//! Prints every declared layer and optimizer: its signature, then its documentation, records separated by a form feed. `cargo xtask codegen`
//! makes the Python functions and docs/api of it.
#![expect(clippy::print_stdout, reason = "printing is its job")]

fn main() {
    for layer in oarlock::declare::all() {
        print!("{}\n{}\x0c", layer.signature, layer.doc);
    }
    for rule in oarlock::optimizer::DECLARED {
        print!("optimizer.{}.{}\n{}\x0c", rule.rule, rule.signature, rule.doc);
    }
}
