//! Tables for people.

/// Rows of words under headings, each column as wide as its widest word. The columns whose headings start with `>` are
/// aligned to the right.
pub(crate) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let plain = headings.map(|h| h.trim_start_matches('>'));
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).chain([plain[c].len()]).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in std::iter::once(&plain.map(str::to_string)).chain(rows) {
        let mut line = String::new();
        for (c, word) in row.iter().enumerate() {
            let width = widths[c];
            line +=
                &if headings[c].starts_with('>') { format!("{word:>width$}  ") } else { format!("{word:<width$}  ") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Bytes as people read them.
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..10_000 => format!("{n} B"),
        10_000..10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.1} GB", n as f64 / 1e9),
    }
}

#[test]
fn columns_are_aligned() {
    let rows = [["w".to_string(), "8 B".to_string()], ["long".to_string(), "1234 B".to_string()]];
    assert_eq!(table(["name", ">size"], &rows), "name    size\nw        8 B\nlong  1234 B\n");
    assert_eq!(bytes(40_000_040), "40.0 MB");
}
