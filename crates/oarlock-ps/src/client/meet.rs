//! Meetings with the other trainers, at a server.

use std::sync::atomic::Ordering;
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{Tensor, Value};

use super::{Client, Request};
use crate::message::{Awaited, Meet, Met, Rounded, ValueReader, ValueWriter, kind};
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::{Floats, now};

/// How long others may take. They show that they are alive meanwhile, so it can be long: one may have more data than another.
const PATIENCE: Duration = Duration::from_secs(6 * 3600);

/// How often to say for whom this trainer waits.
const SAY_EVERY: Duration = Duration::from_secs(10);

impl Client {
    /// Brings a value to a meeting of all trainers, at the first of all `servers`; returns what each brought, in the order of their
    /// numbers. `purpose` is what the meeting is for, and the same for all.
    ///
    /// Meanwhile this trainer has no data: the steps of those that still train do not wait for it. All that met take part again
    /// from the same step on.
    pub fn meet(&self, trainer: u32, servers: &[String], purpose: &str, value: &Tensor) -> Result<Vec<Tensor>> {
        // A thread that is in a step keeps this trainer in its steps.
        let Some(_alone) = self.barrier.try_lock() else {
            return Ok(self.meet_for(trainer, first(servers)?, purpose, (0, 0), value, PATIENCE)?.0);
        };
        self.resume(trainer, servers, "")?;
        let pause = self.pauses.fetch_add(1, Ordering::AcqRel) + 1;
        self.pause(trainer, servers, pause)?;
        // Until it takes part again: whoever catches an error and goes on must agree on a step with all servers.
        self.away.store(true, Ordering::Release);
        let (all, met) = self.meet_for(trainer, first(servers)?, purpose, (0, pause), value, PATIENCE)?;
        self.take_part(trainer, servers, met)?;
        Ok(all)
    }

    /// The same in the middle of a step. A process that comes back and repeats the step hears what was brought to it before.
    pub(crate) fn meet_in_step(
        &self,
        trainer: u32,
        server: &str,
        purpose: &str,
        value: &Tensor,
    ) -> Result<Vec<Tensor>> {
        let step = (self.done() + 1, 0);
        Ok(self.meet_for(trainer, server, purpose, step, value, self.options.deadline)?.0)
    }

    fn meet_for(
        &self,
        trainer: u32,
        server: &str,
        purpose: &str,
        (step, pause): (u64, u64),
        value: &Tensor,
        patience: Duration,
    ) -> Result<(Vec<Tensor>, Met)> {
        let value = &Value::Dense(value.clone());
        let mut number = self.meetings.lock();
        *number += 1;
        let mut meta = Writer::new();
        Meet { number: *number, step, pause, purpose: purpose.to_string() }.encode(&mut meta);
        let mut values = ValueWriter::default();
        let rounded = Rounded::of(Floats::F32, [value].into_iter());
        values.write(&mut meta, [("", value)].into_iter(), &rounded)?;
        let about = || format!("the other trainers at {purpose}");
        let request = Request { kind: kind::MEET, meta: meta.as_bytes(), sections: values.sections(), about: &about };
        let peer = self.peer(server, trainer);
        let mut link = peer.take();
        let (begun, mut said) = (now(), now());
        loop {
            let deadline = self.deadline();
            peer.begin(&mut link, &request, deadline)?;
            peer.finish(&mut link, &request, deadline)?;
            let mut meta = Reader::new(link.reply.meta(), "a meeting");
            if link.reply.kind() != kind::AWAITED {
                let met = Met::decode(&mut meta)?;
                let mut reader = ValueReader::new(&link.reply, &mut meta)?;
                let mut all = Vec::new();
                while reader.next(&mut meta)?.is_some() {
                    let mut value = Value::Empty;
                    reader.value(&mut meta, &mut value)?;
                    all.push(
                        value.dense().map_err(|e| Error::new(Kind::Format, format!("a trainer's part {e}")))?.clone(),
                    );
                }
                peer.give_back(link);
                return Ok((all, met));
            }
            let missing = Awaited::decode(&mut meta)?.trainers;
            let who = missing.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            if begun.elapsed() > patience {
                let seconds = patience.as_secs();
                return Err(Error::new(
                    Kind::Timeout,
                    format!("trainer {trainer} waited {seconds} s for trainer {who} at {purpose}"),
                )
                .help("see what that trainer does"));
            }
            if said.elapsed() > SAY_EVERY {
                said = now();
                let seconds = begun.elapsed().as_secs();
                self.options.log.line(format!("trainer {trainer} waits for trainer {who} at {purpose} ({seconds} s)"));
            }
        }
    }
}

fn first(servers: &[String]) -> Result<&str> {
    let none = || Error::new(Kind::Argument, "no server is named at which trainers could meet");
    servers.first().map(String::as_str).ok_or_else(none)
}
