//! The first message on a connection: who connects, and for what.

use oarlock_ir::{Error, Kind, Result};

use oarlock_net::codec::damaged;
use oarlock_net::codec::{Reader, Writer};

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Requests.
    Work,
    /// Only to show that the trainer is alive; its end is the trainer's end.
    Life,
    /// Reads values and changes nothing: a tool, an evaluation, a predictor.
    Look,
}

/// Who connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) purpose: Purpose,
    pub(crate) trainer: u32,
    /// Tells processes with the same number apart; a later one is greater.
    pub(crate) incarnation: u64,
    /// Requests with one stream follow each other; a repeated one has the sequence number of the first.
    pub(crate) stream: u32,
    /// What the program is, as far as trainers and servers must agree; empty if not known.
    pub(crate) fingerprint: String,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Welcome {
    /// The last step of this trainer that the server has.
    pub(crate) pushed: u64,
    /// The others went on without this trainer: it must say from which step on it takes part again.
    pub(crate) back: bool,
}

impl Hello {
    pub(crate) fn encode(&self, meta: &mut Writer) {
        meta.u8(self.purpose as u8);
        meta.u32(self.trainer);
        meta.u64(self.incarnation);
        meta.u32(self.stream);
        meta.str(&self.fingerprint);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Hello> {
        let purpose = match meta.u8()? {
            0 => Purpose::Work,
            1 => Purpose::Life,
            2 => Purpose::Look,
            other => return Err(damaged(format!("a connection for unknown purpose {other}"))),
        };
        Ok(Hello {
            purpose,
            trainer: meta.u32()?,
            incarnation: meta.u64()?,
            stream: meta.u32()?,
            fingerprint: meta.str()?.to_string(),
        })
    }

    /// A trainer must run the program whose other half the server runs.
    pub(crate) fn check(&self, fingerprint: &str, endpoint: &str) -> Result<()> {
        let both = !self.fingerprint.is_empty() && !fingerprint.is_empty();
        if both && self.fingerprint != fingerprint {
            let what = format!(
                "trainer {} runs another program than server {endpoint} serves (fingerprints {} and {fingerprint})",
                self.trainer, self.fingerprint
            );
            return Err(
                Error::new(Kind::Argument, what).help("start all processes of a job with the same script and settings")
            );
        }
        Ok(())
    }
}

impl Welcome {
    pub(crate) fn encode(self, meta: &mut Writer) {
        meta.u64(self.pushed);
        meta.bool(self.back);
    }

    pub(crate) fn decode(meta: &mut Reader<'_>) -> Result<Welcome> {
        Ok(Welcome { pushed: meta.u64()?, back: meta.bool()? })
    }
}
