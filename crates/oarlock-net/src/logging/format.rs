//! An event as a line of text or as a JSON object.

use std::fmt::{self, Write};
use std::sync::atomic::Ordering;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::{Context, Layer};

use super::{PROCESS, WARNINGS_ONLY};

/// The form of log lines.
pub(super) enum Format {
    /// `oarlock: warning: ...`: the message, in which everything stands that people need.
    Text,
    /// One JSON object per line, with all fields.
    Json,
}

/// Writes every event as one line.
pub(super) struct Lines<W> {
    pub(super) format: Format,
    pub(super) write: W,
}

impl<S: Subscriber, W: Fn(&str) + 'static> Layer<S> for Lines<W> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if WARNINGS_ONLY.load(Ordering::Relaxed) && *event.metadata().level() > Level::WARN {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        (self.write)(&match self.format {
            Format::Text => text(event.metadata(), &fields),
            Format::Json => json(event.metadata(), fields),
        });
    }
}

fn text(about: &Metadata<'_>, fields: &Fields) -> String {
    let level = match *about.level() {
        Level::ERROR => "error: ",
        Level::WARN => "warning: ",
        Level::INFO => "",
        Level::DEBUG => "debug: ",
        Level::TRACE => "trace: ",
    };
    let mut line = format!("oarlock: {level}{}", fields.message);
    if *about.level() > Level::INFO {
        for (name, value) in &fields.others {
            // Writing to a string cannot fail.
            let _ = match value.as_str() {
                Some(text) => write!(line, " {name}={text}"),
                None => write!(line, " {name}={value}"),
            };
        }
    }
    line.push('\n');
    line
}

fn json(about: &Metadata<'_>, fields: Fields) -> String {
    let mut time = String::new();
    // It writes a time that it cannot format as such.
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    let process = PROCESS.read().clone();
    let mut object = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(name.to_string(), value);
        }
    };
    set("job", process.job.map(Value::from));
    set("role", process.role.map(Value::from));
    set("rank", process.rank.map(Value::from));
    fields.others.into_iter().for_each(|(name, value)| set(name, Some(value)));
    set("time", Some(time.into()));
    set("level", Some(about.level().as_str().to_ascii_lowercase().into()));
    set("target", Some(about.target().into()));
    set("message", Some(fields.message.into()));
    format!("{}\n", Value::Object(object))
}

/// The message and the other fields of an event.
#[derive(Default)]
pub(crate) struct Fields {
    pub(crate) message: String,
    pub(crate) others: Vec<(&'static str, Value)>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            name => self.others.push((name, text.into())),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message = value.to_string(),
            name => self.others.push((name, value.into())),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.others.push((field.name(), value.into()));
    }
}
