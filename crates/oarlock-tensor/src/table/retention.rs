//! Which rows leave a table by themselves, and when.
//!
//! A table counts its updates, and a row has the number of its last one. Shards take turns: at an update those are looked at whose turn
//! it is, so that no update waits for all rows to be looked at. Whether a row goes is a function of its header and of the number of the
//! update, and when it is a shard's turn depends on that number alone: tables that had the same updates hold the same rows, wherever
//! they are, and nothing but headers and the number has to be saved.

use std::fmt;
use std::ops::Range;

use super::SHARDS;
use super::arena::{Header, Shown};

/// Which rows a table keeps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Retention {
    /// A row is evicted that was not updated in this number of updates of its table, when it is next looked at: without a period after an eighth of
    /// this number of updates, at most 1024.
    pub unseen: Option<u32>,
    /// Rows count how often they were shown and clicked.
    pub score: Option<Score>,
}

/// The score of a row by its shows and clicks: `(show - click) * nonclk_coeff + click * click_coeff`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Worth of a show without a click.
    pub nonclk_coeff: f32,
    /// Worth of a click.
    pub click_coeff: f32,
    /// Shows and clicks are multiplied with this at the end of a period.
    pub decay: f32,
    /// A row goes whose score is below this at the end of a period.
    pub below: f32,
    /// Updates of the table in a period; `None`: it has no end, and no row goes by itself.
    pub period: Option<u32>,
    /// Shows and clicks come with every update; otherwise an update of a row is one show.
    pub told: bool,
}

impl Default for Score {
    fn default() -> Score {
        Score { nonclk_coeff: 0.1, click_coeff: 1.0, decay: 0.98, below: 0.8, period: None, told: false }
    }
}

impl Score {
    /// The score of a row after this number of periods without an update.
    fn after(&self, shown: Shown, periods: u32) -> f64 {
        let (show, click) = (f64::from(shown.show), f64::from(shown.click));
        let now = (show - click) * f64::from(self.nonclk_coeff) + click * f64::from(self.click_coeff);
        now * power(f64::from(self.decay), periods)
    }
}

/// By multiplication alone, so that it is the same number on every machine.
fn power(base: f64, mut exponent: u32) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

/// The number of updates in which each shard is looked at once.
#[derive(Clone, Copy)]
struct Turns(u32);

impl Turns {
    /// The shards whose turn it is at an update.
    fn shards(self, now: u32) -> Range<usize> {
        let (every, at) = (u64::from(self.0), u64::from(now % self.0));
        let first = |at: u64| (at * SHARDS as u64).div_ceil(every) as usize;
        first(at)..first(at + 1)
    }

    /// How often it was a shard's turn after update `since`, up to update `now`.
    fn between(self, shard: usize, since: u32, now: u32) -> u32 {
        let every = i64::from(self.0);
        let first = shard as i64 * every / SHARDS as i64;
        let turns = |update: u32| (i64::from(update) - first).div_euclid(every);
        u32::try_from(turns(now) - turns(since)).unwrap_or(0)
    }
}

impl Retention {
    fn turns(&self) -> Option<Turns> {
        let period = self.score.and_then(|score| score.period);
        let often = self.unseen.map(|unseen| (unseen / 8).clamp(1, SHARDS as u32));
        period.or(often).map(|every| Turns(every.max(1)))
    }

    /// The shards to look at when update `now` was made.
    pub(super) fn shards(&self, now: u32) -> Range<usize> {
        self.turns().map_or(0..0, |turns| turns.shards(now))
    }

    /// Periods that ended for rows of a shard after update `since`.
    fn periods(&self, shard: usize, since: u32, now: u32) -> u32 {
        let period = self.score.and_then(|score| score.period);
        period.map_or(0, |period| Turns(period.max(1)).between(shard, since, now))
    }

    /// Does a row that is looked at go?
    pub(super) fn lets_go(&self, shard: usize, header: Header, now: u32) -> bool {
        let unseen = self.unseen.and_then(|n| now.checked_sub(n)).is_some_and(|old| header.last <= old);
        let ended = self.periods(shard, header.last, now);
        // Who looked a row up may not have sent its first gradient yet.
        let judged = ended > u32::from(header.count == 0);
        unseen || (judged && self.score.is_some_and(|score| score.after(header.shown, ended) < f64::from(score.below)))
    }

    /// The score of a row at update `now`; 0 if rows have none.
    pub(super) fn score(&self, shard: usize, header: Header, now: u32) -> f64 {
        self.score.map_or(0.0, |score| score.after(header.shown, self.periods(shard, header.last, now)))
    }

    /// The shows and clicks of a row at update `now` after decay, and those of that update.
    pub(super) fn count(&self, shard: usize, header: Header, now: u32, more: Shown) -> Shown {
        let decay = self.score.map_or(1.0, |score| f64::from(score.decay));
        let left = power(decay, self.periods(shard, header.last, now));
        let add = |old: f32, new: f32| (f64::from(old) * left) as f32 + new;
        Shown { show: add(header.shown.show, more.show), click: add(header.shown.click, more.click) }
    }

    /// Returns the error in it, if there is one.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let score = self.score.unwrap_or_default();
        let numbers = [score.nonclk_coeff, score.click_coeff, score.below];
        if self.unseen == Some(0) {
            Some("rows that were not updated in 0 updates are all rows: say 1 or more")
        } else if score.period == Some(0) {
            Some("a period needs at least one update")
        } else if !numbers.iter().all(|n| n.is_finite() && *n >= 0.0) {
            Some("the worth of shows and clicks and the least score must be numbers that are not negative")
        } else if !(score.decay > 0.0 && score.decay <= 1.0) {
            Some("what shows and clicks are multiplied with must be above 0 and at most 1")
        } else {
            None
        }
    }

    /// Reads what [`Retention`] prints: `unseen=N`, `period=N` and so on, joined by `&`. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Retention, String> {
        let mut found = Retention::default();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let bad = |_| format!("{value:?} is no value of `{name}`");
            let updates = || value.parse::<u32>().map(Some).map_err(|_| bad(()));
            let number = || value.parse::<f32>().map_err(|_| bad(()));
            if name == "unseen" {
                found.unseen = updates()?;
                continue;
            }
            let score = found.score.get_or_insert_default();
            match name {
                "period" => score.period = updates()?,
                "delete_threshold" => score.below = number()?,
                "show_click_decay_rate" => score.decay = number()?,
                "nonclk_coeff" => score.nonclk_coeff = number()?,
                "click_coeff" => score.click_coeff = number()?,
                _ => return Err(format!("`{name}` is not known")),
            }
        }
        match found.fault() {
            None if found.score.is_some_and(|score| score.period.is_none()) => {
                Err("a score decides at the end of periods: say `period=N`".into())
            }
            None => Ok(found),
            Some(why) => Err(why.into()),
        }
    }
}

/// As programs say it. Nothing for a table that keeps all rows.
impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.unseen.map(|n| format!("unseen={n}")).into_iter().collect();
        if let Some(Score { nonclk_coeff, click_coeff, decay, below, period: Some(period), .. }) = self.score {
            parts.push(format!("period={period}&delete_threshold={below}&show_click_decay_rate={decay}"));
            parts.push(format!("nonclk_coeff={nonclk_coeff}&click_coeff={click_coeff}"));
        }
        f.write_str(&parts.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(period: u32) -> Retention {
        Retention { score: Some(Score { period: Some(period), decay: 0.5, ..Score::default() }), unseen: None }
    }

    #[test]
    fn every_shard_has_one_turn_in_a_period() {
        for every in [1, 3, 7, 1000, 1024, 5000] {
            let turns = Turns(every);
            let mut seen = vec![0; SHARDS];
            for now in 40 * every..41 * every {
                for shard in turns.shards(now) {
                    seen[shard] += 1;
                    assert_eq!(turns.between(shard, now - 1, now), 1);
                    assert_eq!(turns.between(shard, now, now + every - 1), 0);
                    assert_eq!(turns.between(shard, now, now + 5 * every), 5);
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{every}");
        }
    }

    #[test]
    fn a_score_falls_from_period_to_period() {
        let retention = scored(10);
        let row = |show, click, count| Header { last: 1, count, shown: Shown { show, click } };
        // Shard 0 has its turn at 10, 20, ...
        assert!(!retention.lets_go(0, row(16.0, 0.0, 1), 10), "1.6 * 0.5 is not below 0.8");
        assert!(retention.lets_go(0, row(15.9, 0.0, 1), 10));
        assert!(!retention.lets_go(0, row(2.0, 2.0, 1), 10), "a click is worth 1");
        assert!(retention.lets_go(0, row(2.0, 2.0, 1), 20));
        assert!(!retention.lets_go(0, row(0.0, 0.0, 0), 10), "it may be updated yet");
        assert!(retention.lets_go(0, row(0.0, 0.0, 0), 20));
        assert_eq!(
            retention.count(0, row(8.0, 4.0, 1), 25, Shown { show: 1.0, click: 1.0 }),
            Shown { show: 3.0, click: 2.0 }
        );
    }

    #[test]
    fn printed_retention_is_parsed_again() {
        for retention in [
            Retention::default(),
            Retention { unseen: Some(1000), score: None },
            scored(7),
            Retention { unseen: Some(3), ..scored(9) },
        ] {
            assert_eq!(Retention::parse(&retention.to_string()), Ok(retention));
        }
        assert_eq!(
            scored(7).to_string(),
            "period=7&delete_threshold=0.8&show_click_decay_rate=0.5&nonclk_coeff=0.1&click_coeff=1"
        );
        for (text, why) in [
            ("unseen=-1", "\"-1\" is no value of `unseen`"),
            ("age=3", "`age` is not known"),
            ("delete_threshold=1", "a score decides at the end of periods: say `period=N`"),
            ("unseen=0", "rows that were not updated in 0 updates are all rows: say 1 or more"),
            (
                "period=5&show_click_decay_rate=2",
                "what shows and clicks are multiplied with must be above 0 and at most 1",
            ),
        ] {
            assert_eq!(Retention::parse(text), Err(why.to_string()));
        }
    }
}
