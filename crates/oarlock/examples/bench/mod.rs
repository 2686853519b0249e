//! Shared by the benchmarks: timing in windows, peers as other processes, memory.

#![allow(dead_code, reason = "each benchmark uses what it needs")]

use std::process::Command;
use std::time::Instant;

pub(crate) mod ctr_dnn;
pub(crate) mod models;

/// Rates of several windows of equal work, per second.
pub(crate) struct Rates(Vec<f64>);

impl Rates {
    /// Of rates that were measured elsewhere.
    pub(crate) fn of(rates: Vec<f64>) -> Rates {
        Rates(rates)
    }

    /// Runs `work` in `windows` windows; each does `count` things.
    pub(crate) fn measure(windows: usize, count: usize, mut work: impl FnMut()) -> Rates {
        let mut rates = Vec::new();
        for _ in 0..windows {
            let start = Instant::now();
            work();
            rates.push(count as f64 / start.elapsed().as_secs_f64());
        }
        Rates(rates)
    }

    /// The middle rate.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// `33.1k [32.0k-33.5k]`
    pub(crate) fn show(&self) -> String {
        let (mut low, mut high) = (f64::INFINITY, 0f64);
        for &r in &self.0 {
            low = low.min(r);
            high = high.max(r);
        }
        format!("{:.1}k [{:.1}k-{:.1}k]", self.median() / 1e3, low / 1e3, high / 1e3)
    }

    /// Each of them.
    pub(crate) fn all(&self) -> &[f64] {
        &self.0
    }

    /// Both together.
    pub(crate) fn join(mut self, other: Rates) -> Rates {
        self.0.extend(other.0);
        self
    }
}

/// A peer that runs as a Python script of `benches/peers`, under an interpreter that has it.
pub(crate) struct Peer {
    name: &'static str,
    python: String,
    /// A module that runs the script.
    under: Option<&'static str>,
    script: &'static str,
}

impl Peer {
    /// The peer, if its interpreter is named by an environment variable. Otherwise says that it is left out.
    pub(crate) fn find(name: &'static str, variable: &str, script: &'static str) -> Option<Peer> {
        match std::env::var(variable) {
            Ok(python) => Some(Peer { name, python, under: None, script }),
            Err(_) => {
                println!("skipped: {name} ({variable} does not name a Python that has it)");
                None
            }
        }
    }

    /// The same script under another module, such as one that puts itself in the place of what the script imports.
    pub(crate) fn under(self, module: &'static str) -> Peer {
        Peer { under: Some(module), ..self }
    }

    /// Runs it: the rates of its windows, and its peak memory in MB.
    pub(crate) fn run(&self, args: &[&str]) -> Option<(Rates, f64)> {
        let text = self.output(args)?;
        let numbers = numbers(&text, "RESULT ")?;
        let (memory, rates) = numbers.split_first()?;
        Some((Rates(rates.to_vec()), *memory))
    }

    /// Runs it, and finds the AUC that it prints besides.
    pub(crate) fn run_with_auc(&self, args: &[&str]) -> Option<(Rates, f64)> {
        let text = self.output(args)?;
        let rates = numbers(&text, "RESULT ")?.split_off(1);
        Some((Rates(rates), *numbers(&text, "AUC ")?.first()?))
    }

    /// Runs it as a cluster: rates, AUC, and what each process used.
    pub(crate) fn run_cluster(&self, args: &[&str]) -> Option<(Rates, f64, String)> {
        let text = self.output(args)?;
        let rates = numbers(&text, "RESULT ")?.split_off(1);
        let used = text.lines().find_map(|l| l.strip_prefix("USED "))?.to_string();
        Some((Rates(rates), *numbers(&text, "AUC ")?.first()?, used))
    }

    /// Runs it: what it prints.
    pub(crate) fn output(&self, args: &[&str]) -> Option<String> {
        let script = format!("{}/../../benches/peers/{}", env!("CARGO_MANIFEST_DIR"), self.script);
        let under = self.under.iter().flat_map(|module| ["-m", module]);
        // Peers are told by their scripts to use one thread; the wheel takes all cores if nothing says otherwise.
        let mut command = Command::new(&self.python);
        command.env("OARLOCK_THREADS", std::env::var("OARLOCK_THREADS").unwrap_or_else(|_| "1".into()));
        let output = command.args(under).arg(&script).args(args).output();
        let output = match output {
            Ok(o) if o.status.success() => o,
            Ok(o) => {
                println!("skipped: {} failed:\n{}", self.name, String::from_utf8_lossy(&o.stderr));
                return None;
            }
            Err(e) => {
                println!("skipped: {} ({}: {e})", self.name, self.python);
                return None;
            }
        };
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The seconds that importing a module takes, the least of a few: a new process reads files that others push out of memory.
    pub(crate) fn import_seconds(&self, module: &str) -> Option<f64> {
        let code = format!("import time; t = time.time(); import {module}; print(time.time() - t)");
        let once = || {
            let output = Command::new(&self.python).args(["-c", &code]).output().ok()?;
            String::from_utf8_lossy(&output.stdout).trim().parse::<f64>().ok()
        };
        (0..5).filter_map(|_| once()).reduce(f64::min)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

/// The numbers of the line that begins with a word.
fn numbers(text: &str, word: &str) -> Option<Vec<f64>> {
    let line = text.lines().find_map(|l| l.strip_prefix(word))?;
    Some(line.split_whitespace().filter_map(|w| w.parse().ok()).collect())
}

/// Peak memory of this process in MB.
pub(crate) fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").trim().parse::<f64>().unwrap_or(0.0) / 1024.0
}
