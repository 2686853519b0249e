//! Progress on standard error: a bar on a terminal, lines elsewhere.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// A bar if standard error is a terminal, otherwise lines.
    Fitting,
    /// Lines.
    Lines,
    /// Not at all.
    Nothing,
}

/// The time between two lines.
const LINE_PERIOD: Duration = Duration::from_secs(10);

/// The bar counts thousandths: what a data set of unknown size knows of itself is a fraction.
const STEPS: u64 = 1000;

/// Shows progress.
pub(crate) struct Display {
    way: Way,
    threads: usize,
    samples: Option<u64>,
}

enum Way {
    Bar(ProgressBar),
    Lines { next: Duration },
    Nothing,
}

impl Display {
    pub(crate) fn new(show: Show, threads: usize, samples: Option<u64>) -> Display {
        let way = match show {
            Show::Fitting if std::io::stderr().is_terminal() => Way::Bar(bar()),
            Show::Fitting | Show::Lines => Way::Lines { next: LINE_PERIOD },
            Show::Nothing => Way::Nothing,
        };
        Display { way, threads, samples }
    }

    /// Is there room for values beside a bar?
    pub(crate) fn is_bar(&self) -> bool {
        matches!(self.way, Way::Bar(_))
    }

    /// Prints something else without disturbing the bar.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.way {
            Way::Bar(bar) => bar.suspend(print),
            _ => print(),
        }
    }

    /// Shows the number of samples after a time; `read` is how much of the files was read.
    pub(crate) fn update(&mut self, samples: u64, time: Duration, read: Option<f64>, status: &str) {
        let done = self.samples.map(|all| samples as f64 / all.max(1) as f64).or(read);
        let text = progress(samples, time, done, status);
        match &mut self.way {
            Way::Bar(bar) => {
                bar.set_position((done.unwrap_or(0.0) * STEPS as f64) as u64);
                bar.set_message(text);
            }
            Way::Lines { next } if time >= *next => {
                *next = time + LINE_PERIOD;
                // Its reader is gone: that is no reason to stop training.
                writeln!(std::io::stderr(), "{text}").ok();
            }
            _ => {}
        }
    }

    /// The pass is over.
    pub(crate) fn finish(self, samples: u64, time: Duration) {
        let threads = if self.threads == 1 { "1 thread".to_string() } else { format!("{} threads", self.threads) };
        let text = format!("{}, {threads}", progress(samples, time, None, ""));
        match self.way {
            Way::Bar(bar) => {
                bar.finish_and_clear();
                writeln!(std::io::stderr(), "{text}").ok();
            }
            Way::Lines { .. } if time >= LINE_PERIOD => {
                writeln!(std::io::stderr(), "{text}").ok();
            }
            _ => {}
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(10));
    // The template is a constant that the test below draws.
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3}% {msg}") {
        bar.set_style(style);
    }
    bar
}

/// `120000 samples, 41.2k samples/s, loss 0.5417, 12 s left`
fn progress(samples: u64, time: Duration, done: Option<f64>, status: &str) -> String {
    let seconds = time.as_secs_f64();
    let mut text = format!("{samples} samples in {}, {}", span(seconds), rate(samples as f64 / seconds.max(1e-9)));
    if !status.is_empty() {
        text += ", ";
        text += status;
    }
    if let Some(done) = done.filter(|d| *d > 0.0 && *d < 1.0) {
        text += &format!(", {} left", span(seconds / done * (1.0 - done)));
    }
    text
}

fn rate(rate: f64) -> String {
    if rate < 10_000.0 { format!("{rate:.0} samples/s") } else { format!("{:.1}k samples/s", rate / 1000.0) }
}

fn span(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[test]
fn progress_says_rate_and_rest() {
    let text = progress(120_000, Duration::from_secs(3), Some(0.25), "loss 0.5");
    assert_eq!(text, "120000 samples in 3 s, 40.0k samples/s, loss 0.5, 9 s left");
    assert_eq!(progress(100, Duration::from_secs(200), None, ""), "100 samples in 3 min, 0 samples/s");
    assert!(ProgressStyle::with_template("{bar:24} {percent:>3}% {msg}").is_ok());
}
