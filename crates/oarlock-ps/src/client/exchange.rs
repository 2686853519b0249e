//! The exchange at the end of a step: everything for one server leaves as one message, and the reply brings all that the next step
//! needs of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use oarlock_ir::Result;
use parking_lot::{Mutex, MutexGuard};

use super::{Client, Fetch, Found, Inbox, Question, Step, Wants, about_names, read_values, two_at_once};
use crate::message::{Push, Rounded, ValueWriter, kind};
use oarlock_net::Incoming;
use oarlock_net::codec::Writer;

impl Client {
    /// Sends to each server what waits for it, and receives what is wanted from it: one exchange per server, all at
    /// once. With `barrier` the servers wait for the other trainers, and what arrives is the result of the whole step. Rows that the
    /// next step looks up come along, if somebody looked `ahead`.
    pub(crate) fn exchange(
        &self,
        trainer: u32,
        barrier: Option<&[String]>,
        wants: &Wants,
        ahead: &[Arc<Mutex<Fetch>>],
    ) -> Result<()> {
        let step = self.step();
        let mut step = step.lock();
        let mut ahead: Vec<MutexGuard<'_, Fetch>> = ahead.iter().map(|fetch| fetch.lock()).collect();
        let result = self.exchange_step(trainer, barrier, wants, &mut step, &mut ahead);
        step.clear();
        result
    }

    fn exchange_step(
        &self,
        trainer: u32,
        barrier: Option<&[String]>,
        wants: &Wants,
        step: &mut Step,
        ahead: &mut [MutexGuard<'_, Fetch>],
    ) -> Result<()> {
        let mut _alone = None;
        let number = match barrier {
            Some(servers) => {
                _alone = Some(self.barrier.try_lock().ok_or_else(two_at_once)?);
                self.resume(trainer, servers, "")?;
                self.done() + 1
            }
            None => 0,
        };
        let mut arrived = Arrived::default();
        let questions = questions(ahead);
        let endpoints = endpoints(step, barrier, wants, &questions);
        let outgoing =
            |endpoint: &String| step.outgoing.iter().find(|o| o.endpoint == *endpoint).map_or(&[][..], |o| o.vars());
        let floats = self.options.floats;
        let rounded: Vec<Rounded> =
            endpoints.iter().map(|e| Rounded::of(floats, outgoing(e).iter().map(|(_, value)| value))).collect();
        let (mut requests, mut asked) = (Vec::new(), Vec::new());
        for (endpoint, rounded) in endpoints.iter().zip(&rounded) {
            let of_it: Vec<&(usize, Question<'_>)> = questions.iter().filter(|(_, q)| q.server == endpoint).collect();
            let tables = of_it.iter().map(|(_, q)| q.table.to_string()).collect();
            let wants = wants.get(endpoint).cloned().unwrap_or_default();
            let push = Push { step: number, more: step.more.contains(endpoint), floats, wants, tables };
            let mut meta = Writer::new();
            push.encode(&mut meta);
            let mut values = ValueWriter::default();
            values.write(&mut meta, outgoing(endpoint).iter().map(|(n, v)| (n.as_str(), v)), rounded)?;
            of_it.iter().for_each(|(_, q)| values.add_section(bytemuck::cast_slice(q.ids)));
            requests.push((endpoint.as_str(), kind::PUSH, meta, values));
            asked.push(of_it);
        }
        let about = || match number {
            0 => about_names("its push of ", step.outgoing.iter().flat_map(|o| o.vars()).map(|(n, _)| n.as_str()), 0),
            _ => format!("the push of step {number}"),
        };
        let inbox = &mut step.inbox;
        let done = self.ask_all(trainer, &requests, &about, |server, reply| {
            self.take_reply(reply, inbox, &asked[server], &mut arrived)
        });
        let exchange = self.servers_changed();
        done?;
        arrived.hand_over(ahead, exchange)?;
        if number > 0 {
            self.done.store(number, Ordering::Release);
        }
        Ok(())
    }

    /// What servers hold is no longer what was fetched before. Returns the number of this change.
    pub(super) fn servers_changed(&self) -> u64 {
        self.exchanges.fetch_add(1, Ordering::AcqRel) + 1
    }

    fn take_reply(
        &self,
        reply: &Incoming,
        inbox: &mut Inbox,
        asked: &[&(usize, Question<'_>)],
        arrived: &mut Arrived,
    ) -> Result<()> {
        let (first, held) = read_values(reply, inbox, false)?;
        for (at, (fetch, question)) in asked.iter().enumerate() {
            match reply.section(first + at).unwrap_or_default() {
                // The lookup itself will ask, and hear why not.
                [] => arrived.incomplete.push(*fetch),
                _ => {
                    let held = held.get(at).copied().unwrap_or(0);
                    let found = Found::new(reply, first + at, self.options.floats, held)?;
                    arrived.rows.push((*fetch, question.part, found));
                }
            }
        }
        Ok(())
    }
}

/// Rows that come with an exchange, kept apart from their fetches, which say what was asked for.
#[derive(Default)]
struct Arrived {
    /// Which fetch they are for, and which part they came from.
    rows: Vec<(usize, usize, Found)>,
    /// Fetches some of whose rows did not come.
    incomplete: Vec<usize>,
}

impl Arrived {
    fn hand_over(self, fetches: &mut [MutexGuard<'_, Fetch>], exchange: u64) -> Result<()> {
        for (fetch, part, found) in self.rows {
            fetches[fetch].take(part, found)?;
        }
        let complete = fetches.iter_mut().enumerate().filter(|(at, _)| !self.incomplete.contains(at));
        complete.for_each(|(_, fetch)| fetch.came_with(exchange));
        Ok(())
    }
}

/// What to ask ahead, each with the position of its fetch.
fn questions<'a>(fetches: &'a [MutexGuard<'_, Fetch>]) -> Vec<(usize, Question<'a>)> {
    fetches.iter().enumerate().flat_map(|(at, fetch)| fetch.questions().map(move |q| (at, q))).collect()
}

/// All servers that something is sent to, or asked of.
fn endpoints(
    step: &Step,
    barrier: Option<&[String]>,
    wants: &Wants,
    questions: &[(usize, Question<'_>)],
) -> Vec<String> {
    let mut endpoints: Vec<String> =
        step.outgoing.iter().filter(|o| !o.vars().is_empty()).map(|o| o.endpoint.clone()).collect();
    endpoints.extend(barrier.unwrap_or_default().iter().cloned());
    endpoints.extend(wants.keys().cloned());
    endpoints.extend(questions.iter().map(|(_, question)| question.server.to_string()));
    endpoints.sort_unstable();
    endpoints.dedup();
    endpoints
}
