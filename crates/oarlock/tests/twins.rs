//! The examples that also exist in Python reach what docs/models.md says of them.

#[path = "../examples/fit_a_line.rs"]
#[allow(dead_code, clippy::duplicate_mod, reason = "its main is not called, and it brings what examples share")]
mod fit_a_line;
#[path = "../examples/recognize_digits.rs"]
#[allow(dead_code, clippy::duplicate_mod, reason = "its main is not called, and it brings what examples share")]
mod recognize_digits;
#[path = "../examples/word2vec.rs"]
#[allow(dead_code, clippy::duplicate_mod, reason = "its main is not called, and it brings what examples share")]
mod word2vec;

const TABLE: &str = include_str!("../../../docs/models.md");

/// The figure of Fluid 1.8, and the tolerance.
fn goal(example: &str) -> (f64, f64) {
    let row = TABLE.lines().find(|l| l.starts_with(&format!("| {example} |"))).expect("a row of the table");
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    (cells[3].parse().expect("Fluid's figure"), cells[6].parse().expect("a tolerance"))
}

fn assert_reaches(example: &str, reached: oarlock::Result<f64>) {
    let (goal, tolerance) = goal(example);
    let reached = reached.expect("it trains");
    assert!((reached - goal).abs() <= tolerance, "{example} reaches {reached}, not {goal} within {tolerance}");
}

#[test]
fn twins_reach_what_the_python_examples_reach() {
    assert_reaches("fit_a_line", fit_a_line::train());
    assert_reaches("word2vec", word2vec::train());
    assert_reaches("recognize_digits mlp", recognize_digits::train());
}
