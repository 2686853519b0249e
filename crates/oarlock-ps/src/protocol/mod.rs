//! The codec of messages between trainers and servers, and the definition of a request.
//!
//! A message is a frame of [`oarlock_net`]: `meta` has its fields, sections carry tensors as they lie in memory. [`message!`] lists
//! the fields once, for both encoding and decoding. No message is trusted: decoding checks every count and length against the bytes
//! that arrived before it takes memory. The requests themselves are in [`crate::request`], one file each.

pub(crate) mod error;
#[cfg(test)]
pub(crate) mod samples;
mod values;

use oarlock_ir::Result;
pub(crate) use oarlock_net::codec::damaged;
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::{Floats, Incoming};
pub(crate) use values::{Named, Rounded, ValueReader, ValueWriter};

use crate::server::Call;

/// A request: its number, its permitted senders, and its effect on a server. Every file of `request/` has one, named `REQUEST`.
pub(crate) struct RequestDef {
    /// The kind of its frames. A number is never used again for another request; replies use some numbers, too (see [`reply`]).
    pub(crate) kind: u16,
    pub(crate) sender: Sender,
    /// The name of the request in a server's profile, if it is a part of the work.
    pub(crate) profile: Option<&'static str>,
    /// Serves the request: changes the server's state, and fills in the reply.
    pub(crate) apply: fn(&mut Call<'_>) -> Result<()>,
    /// Runs when the reply has left.
    pub(crate) after_reply: Option<fn(&Call<'_>)>,
    /// Does again what the request did, when a server is restarted and reads it in its log. None if the request is never logged.
    pub(crate) replay: Option<fn(&mut Call<'_>) -> Result<()>>,
    /// Samples of the request and of its replies: for hostile changes, and for comparison with recorded bytes.
    #[cfg(test)]
    pub(crate) samples: fn() -> Vec<samples::Sample>,
}

/// The permitted senders of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A peer that has not introduced itself.
    BeforeHello,
    /// Every peer that has: trainers, readers, and the connections for heartbeats.
    Anyone,
    /// A connection of a trainer, even if that trainer was lost or replaced.
    Trainer,
    /// The process that is this trainer now: it joined, was not lost, did not leave and was not replaced.
    ActiveTrainer,
}

/// Kinds of frames that are replies only.
pub(crate) mod reply {
    /// The reply to a hello.
    pub(crate) const WELCOME: u16 = 2;
    /// Variables, and rows of tables behind them.
    pub(crate) const VALUES: u16 = 6;
    /// A request failed: the error.
    pub(crate) const FAILED: u16 = 9;
    /// A request was served, and there is nothing to return.
    pub(crate) const DONE: u16 = 10;
    /// The trainers that a request still waits for; its sender asks again.
    pub(crate) const AWAITED: u16 = 13;
}

/// A part of a `meta`.
pub(crate) trait Message: Sized {
    fn encode(&self, meta: &mut Writer);
    fn decode(meta: &mut Reader<'_>) -> Result<Self>;

    /// The bytes of a message that is nothing but this.
    fn to_meta(&self) -> Writer {
        let mut meta = Writer::new();
        self.encode(&mut meta);
        meta
    }

    /// Reads a message that is nothing but this; more bytes are an error.
    fn read(frame: &Incoming) -> Result<Self> {
        let mut meta = Reader::new(frame.meta(), "a message");
        let message = Self::decode(&mut meta)?;
        meta.finish()?;
        Ok(message)
    }
}

/// Defines `REQUEST` of a file of `request/`: served by its function `apply`, with the samples of its tests.
macro_rules! request {
    (kind: $kind:literal, sender: $sender:expr $(, profile: $profile:literal)? $(, after_reply: $after_reply:ident)?
     $(, replay: $replay:ident)?) => {
        pub(crate) const REQUEST: crate::protocol::RequestDef = crate::protocol::RequestDef {
            kind: $kind,
            sender: $sender,
            profile: [$(Some($profile),)? None][0],
            apply,
            after_reply: [$(Some($after_reply as fn(&Call<'_>)),)? None][0],
            replay: [$(Some($replay as fn(&mut Call<'_>) -> oarlock_ir::Result<()>),)? None][0],
            #[cfg(test)]
            samples: tests::samples,
        };
    };
}
pub(crate) use request;

/// Defines a struct and its codec: fields are encoded and decoded in the order in which they are listed.
macro_rules! message {
    ($(#[$about:meta])* $vis:vis struct $name:ident {
        $($(#[$doc:meta])* $field_vis:vis $field:ident: $ty:ty),* $(,)?
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name {
            $($(#[$doc])* $field_vis $field: $ty,)*
        }

        impl $crate::protocol::Message for $name {
            fn encode(&self, meta: &mut oarlock_net::codec::Writer) {
                $($crate::protocol::Message::encode(&self.$field, meta);)*
            }

            fn decode(meta: &mut oarlock_net::codec::Reader<'_>) -> oarlock_ir::Result<$name> {
                Ok($name { $($field: $crate::protocol::Message::decode(meta)?,)* })
            }
        }
    };
}
pub(crate) use message;

/// Numbers and texts by the methods of the codec with their names.
macro_rules! primitive {
    ($($ty:ty: $method:ident),*) => {$(
        impl Message for $ty {
            fn encode(&self, meta: &mut Writer) {
                meta.$method(*self);
            }

            fn decode(meta: &mut Reader<'_>) -> Result<$ty> {
                meta.$method()
            }
        }
    )*};
}
primitive!(u8: u8, u32: u32, u64: u64, f32: f32, bool: bool);

impl Message for String {
    fn encode(&self, meta: &mut Writer) {
        meta.str(self);
    }

    fn decode(meta: &mut Reader<'_>) -> Result<String> {
        meta.str().map(str::to_string)
    }
}

impl Message for Floats {
    fn encode(&self, meta: &mut Writer) {
        self.write(meta);
    }

    fn decode(meta: &mut Reader<'_>) -> Result<Floats> {
        Floats::read(meta)
    }
}

impl<T: Message> Message for Vec<T> {
    fn encode(&self, meta: &mut Writer) {
        meta.list(self, |meta, item| item.encode(meta));
    }

    fn decode(meta: &mut Reader<'_>) -> Result<Vec<T>> {
        meta.list(T::decode)
    }
}

/// As a flag and a value, which is sent as zero where there is none.
impl<T: Message + Copy + Default> Message for Option<T> {
    fn encode(&self, meta: &mut Writer) {
        meta.bool(self.is_some());
        self.unwrap_or_default().encode(meta);
    }

    fn decode(meta: &mut Reader<'_>) -> Result<Option<T>> {
        let some = bool::decode(meta)?;
        let value = T::decode(meta)?;
        Ok(some.then_some(value))
    }
}

/// A message without fields.
impl Message for () {
    fn encode(&self, _: &mut Writer) {}

    fn decode(_: &mut Reader<'_>) -> Result<()> {
        Ok(())
    }
}

/// The request of a kind of frames, if there is one.
pub(crate) fn request_of(kind: u16) -> Option<&'static RequestDef> {
    crate::request::ALL.iter().copied().find(|request| request.kind == kind)
}
