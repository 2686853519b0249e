//! A trainer tells a server its position in the data, for the trainer that saves a checkpoint. The notification is a section.
//!
//! Reply: `notification` (15) with the latest notifications of all trainers, a section each.

use std::sync::Arc;

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::Incoming;

use crate::client::{Client, Request};
use crate::protocol::{Message, Sender, message, request};
use crate::server::Call;

request! { kind: 15, sender: Sender::ActiveTrainer, replay: apply }

message! {
    /// The trainers whose notifications follow.
    pub(crate) struct Notifications {
        pub(crate) trainers: Vec<u32>,
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let own = Arc::new(call.frame.section(0).unwrap_or_default().to_vec());
    let mut state = call.shared.state.lock();
    call.log()?;
    state.notifications.insert(call.hello.trainer, own);
    let trainers = state.notifications.keys().copied().collect();
    call.reply.set(REQUEST.kind, &Notifications { trainers });
    call.reply.set_parts(state.notifications.values().cloned().collect());
    Ok(())
}

impl Client {
    /// Leaves a notification at a server; returns the latest of all trainers, empty for those that left none.
    pub fn notify(&self, trainer: u32, server: &str, own: &[u8], trainers: usize) -> Result<Vec<Vec<u8>>> {
        let about = || "notifications of all trainers".to_string();
        let request = Request { kind: REQUEST.kind, meta: &[], sections: &[own], about: &about };
        self.ask_one(trainer, server, &request, |reply| read_all(reply, trainers))
    }
}

fn read_all(reply: &Incoming, trainers: usize) -> Result<Vec<Vec<u8>>> {
    let mut all = vec![Vec::new(); trainers];
    for (at, of) in Notifications::read(reply)?.trainers.iter().enumerate() {
        let (Some(to), Some(bytes)) = (all.get_mut(*of as usize), reply.section(at)) else {
            let what = format!("notification {at} is of trainer {of}, and the job has {trainers} trainers");
            return Err(Error::new(Kind::Format, what));
        };
        *to = bytes.to_vec();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;
    use crate::server::Policy;
    use crate::server::testing::TestServer;

    pub(super) fn samples() -> Vec<Sample> {
        let own = |_: &Incoming| Ok(());
        let all = Notifications { trainers: vec![0, 1] }.to_meta();
        let (first, second): (&[u8], &[u8]) = (b"epoch 3", b"epoch 4");
        vec![
            Sample::with_sections("notification", REQUEST.kind, ().to_meta(), &[first], own),
            Sample::with_sections("notifications", REQUEST.kind, all, &[first, second], |f| read_all(f, 2).map(drop)),
        ]
    }

    #[test]
    fn reply_has_the_latest_notification_of_every_trainer() {
        let server = TestServer::start(3, Policy::Fail);
        let (first, second) = (server.join(0), server.join(1));
        first.notify(0, server.endpoint(), b"epoch 1", 3).unwrap();
        first.notify(0, server.endpoint(), b"epoch 2", 3).unwrap();
        let all = second.notify(1, server.endpoint(), b"epoch 1", 3).unwrap();
        assert_eq!(all, [b"epoch 2".to_vec(), b"epoch 1".to_vec(), Vec::new()]);
    }
}
