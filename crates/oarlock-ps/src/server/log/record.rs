//! The records of a server's log.
//!
//! ```text
//! 1  trainer (u32), incarnation (u64), stream (u32), then the frame of a request as it came over the wire
//! 2  kind of the event (u8), trainer (u64), and its numbers
//! ```

use oarlock_ir::Result;
use oarlock_net::codec::{Reader, Writer, damaged};

use crate::request::hello::{Hello, Purpose};
use crate::server::step_barrier::Event;

const REQUEST: u8 = 1;
const EVENT: u8 = 2;

/// Bytes before the frame of a request.
const HEAD: usize = 17;

/// A record, read.
pub(super) enum Record<'a> {
    /// A request: its sender and its frame.
    Request(Hello, &'a [u8]),
    Event(Event),
}

/// The bytes before the frame of a request.
pub(super) fn request_head(hello: &Hello) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = REQUEST;
    head[1..5].copy_from_slice(&hello.trainer.to_le_bytes());
    head[5..13].copy_from_slice(&hello.incarnation.to_le_bytes());
    head[13..].copy_from_slice(&hello.stream.to_le_bytes());
    head
}

/// The record of an event. Pushes are requests.
pub(super) fn event(event: Event) -> Vec<u8> {
    let mut to = Writer::new();
    to.u8(EVENT);
    let mut put = |kind: u8, trainer: usize, numbers: &[u64]| {
        to.u8(kind).u64(trainer as u64);
        for number in numbers {
            to.u64(*number);
        }
    };
    match event {
        Event::Join { trainer, incarnation } => put(0, trainer, &[incarnation]),
        Event::Push { trainer, incarnation, step } => put(1, trainer, &[incarnation, step]),
        Event::Leave { trainer, incarnation } => put(2, trainer, &[incarnation]),
        Event::Rejoin { trainer, incarnation, from, pauses } => put(3, trainer, &[incarnation, from, pauses]),
        Event::Pause { trainer, incarnation, number } => put(4, trainer, &[incarnation, number]),
        Event::Resume { trainer, incarnation, number, from } => put(5, trainer, &[incarnation, number, from]),
        Event::Absent { trainer } => put(6, trainer, &[]),
        Event::Lose { trainer, incarnation } => put(7, trainer, &[incarnation]),
    }
    to.into_bytes()
}

/// Reads a record.
pub(super) fn read(body: &[u8]) -> Result<Record<'_>> {
    let mut from = Reader::new(body, "a record of the log");
    match from.u8()? {
        REQUEST => {
            let (trainer, incarnation, stream) = (from.u32()?, from.u64()?, from.u32()?);
            let hello = Hello { purpose: Purpose::Requests, trainer, incarnation, stream, fingerprint: String::new() };
            Ok(Record::Request(hello, &body[HEAD..]))
        }
        EVENT => {
            let event = read_event(&mut from)?;
            from.finish()?;
            Ok(Record::Event(event))
        }
        other => Err(damaged(format!("a record of unknown kind {other}"))),
    }
}

fn read_event(from: &mut Reader<'_>) -> Result<Event> {
    let (kind, trainer) = (from.u8()?, from.u64()? as usize);
    Ok(match kind {
        0 => Event::Join { trainer, incarnation: from.u64()? },
        1 => Event::Push { trainer, incarnation: from.u64()?, step: from.u64()? },
        2 => Event::Leave { trainer, incarnation: from.u64()? },
        3 => Event::Rejoin { trainer, incarnation: from.u64()?, from: from.u64()?, pauses: from.u64()? },
        4 => Event::Pause { trainer, incarnation: from.u64()?, number: from.u64()? },
        5 => Event::Resume { trainer, incarnation: from.u64()?, number: from.u64()?, from: from.u64()? },
        6 => Event::Absent { trainer },
        7 => Event::Lose { trainer, incarnation: from.u64()? },
        other => return Err(damaged(format!("an event of unknown kind {other}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_read_as_it_was_written() {
        let (trainer, incarnation, number, from) = (3, 7 << 40, 2, 9);
        let events = [
            Event::Join { trainer, incarnation },
            Event::Push { trainer, incarnation, step: 4 },
            Event::Leave { trainer, incarnation },
            Event::Rejoin { trainer, incarnation, from, pauses: 1 },
            Event::Pause { trainer, incarnation, number },
            Event::Resume { trainer, incarnation, number, from },
            Event::Absent { trainer },
            Event::Lose { trainer, incarnation },
        ];
        for event in events {
            let bytes = super::event(event);
            assert!(matches!(read(&bytes), Ok(Record::Event(read)) if read == event), "{event:?}");
            oarlock_testkit::attack("event", &bytes, |bytes| read(bytes).is_ok());
        }
    }
}
