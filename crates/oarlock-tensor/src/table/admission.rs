//! What a program says about the rows of a table: which ids get one, which rows go.

use super::{Admission, Retention};

/// The rules that the lookups of a table give, by their attributes `entry` and `evict`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Which ids get a row.
    pub admission: Admission,
    /// Which rows are kept.
    pub retention: Retention,
}

/// So many numbers follow the gradient of a row where shows and clicks come with it.
pub const SHOWN: usize = 2;

/// What `entry` begins with if shows and clicks come from variables of the program.
const SHOW_CLICK: &str = "show_click_entry:";

impl Rules {
    /// Reads `entry` (`count_filter_entry:N`, `probability_entry:P`, `show_click_entry:SHOW:CLICK` or nothing) and `evict`
    /// (see [`Retention::parse`]). The error says what is wrong.
    pub fn parse(entry: &str, evict: &str) -> Result<Rules, String> {
        let mut retention = Retention::parse(evict).map_err(|why| format!("evict = {evict:?}: {why}"))?;
        let admission = match show_click(entry) {
            Some(_) => {
                retention.score.get_or_insert_default().told = true;
                Admission::Always
            }
            None => Admission::parse(entry).ok_or_else(|| {
                format!(
                    "entry = {entry:?}: say `count_filter_entry:N`, `probability_entry:P` or `show_click_entry:SHOW:CLICK`"
                )
            })?,
        };
        Ok(Rules { admission, retention })
    }
}

/// The variables that hold shows and clicks, if `entry` names them.
pub fn show_click(entry: &str) -> Option<(&str, &str)> {
    entry.strip_prefix(SHOW_CLICK)?.split_once(':').filter(|(show, click)| !show.is_empty() && !click.is_empty())
}

#[test]
fn rules_are_read_from_both_attributes() {
    let rules = Rules::parse("show_click_entry:show:click", "unseen=9").unwrap();
    assert_eq!((rules.admission, rules.retention.unseen), (Admission::Always, Some(9)));
    assert!(rules.retention.score.is_some_and(|score| score.told && score.period.is_none()));
    assert_eq!(show_click("show_click_entry:a:b"), Some(("a", "b")));
    assert_eq!(Rules::parse("", "").unwrap().retention, Retention::default());
    assert_eq!(Rules::parse("count_filter_entry:3", "").unwrap().admission, Admission::Count(3));
    assert!(Rules::parse("show_click_entry:a", "").unwrap_err().starts_with("entry = \"show_click_entry:a\""));
    assert_eq!(Rules::parse("", "old").unwrap_err(), "evict = \"old\": `old` is not known");
}
