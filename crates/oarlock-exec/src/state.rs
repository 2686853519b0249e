//! The state of this crate in a runtime, which several executors may share.

use std::sync::Arc;

use oarlock_ir::Runtime;
use parking_lot::Mutex;

use crate::profile::SharedProfile;
use crate::replicas::ThreadPools;

/// The state of all executors of a runtime.
#[derive(Default)]
pub struct ExecState {
    pub(crate) pools: ThreadPools,
    profile: Mutex<Option<SharedProfile>>,
}

impl ExecState {
    /// That of a runtime.
    pub fn of(runtime: &Runtime) -> Arc<ExecState> {
        runtime.exec().get_or_init(ExecState::default)
    }

    /// The profile that all executors record into, while one of them works for another.
    pub fn profile(&self) -> Option<SharedProfile> {
        self.profile.lock().clone()
    }

    pub(crate) fn set_profile(&self, profile: Option<SharedProfile>) {
        *self.profile.lock() = profile;
    }
}
