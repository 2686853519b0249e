//! The state of this crate in a runtime: how this process talks to parameter servers.

use std::sync::Arc;
use std::thread::JoinHandle;

use oarlock_exec::{Executor, Scope};
use oarlock_ir::{Program, Result, Runtime};
use parking_lot::Mutex;

use crate::client::{Client, ClientOptions, ReadOnlyClient};
use crate::communicator::Communicator;
use crate::refresh::Refresh;

/// The connection of a process to parameter servers, and the exchange that goes on beside its steps.
#[derive(Default)]
pub struct PsState {
    options: Mutex<Option<ClientOptions>>,
    client: Mutex<Option<Arc<Client>>>,
    reader: Mutex<Option<Arc<ReadOnlyClient>>>,
    communicator: Mutex<Option<Arc<Communicator>>>,
    refresh: Refresh,
    /// The thread that completes a checkpoint beside training.
    saving: Mutex<Option<JoinHandle<Result<()>>>>,
}

impl PsState {
    /// That of a runtime.
    pub fn of(runtime: &Runtime) -> Arc<PsState> {
        runtime.servers().get_or_init(PsState::default)
    }

    /// Sets how the client is made when an operator first needs it.
    pub fn set_options(&self, options: ClientOptions) {
        *self.options.lock() = Some(options);
    }

    pub(crate) fn options(&self) -> Option<ClientOptions> {
        self.options.lock().clone()
    }

    /// The client, if there is one.
    pub fn client(&self) -> Option<Arc<Client>> {
        self.client.lock().clone()
    }

    /// Sets the client, or takes it away.
    pub fn set_client(&self, client: Option<Arc<Client>>) -> Option<Arc<Client>> {
        std::mem::replace(&mut *self.client.lock(), client)
    }

    pub(crate) fn client_or_make(&self, make: impl FnOnce() -> Client) -> Arc<Client> {
        self.client.lock().get_or_insert_with(|| Arc::new(make())).clone()
    }

    pub(crate) fn reader_or_make(&self, make: impl FnOnce() -> ReadOnlyClient) -> Arc<ReadOnlyClient> {
        self.reader.lock().get_or_insert_with(|| Arc::new(make())).clone()
    }

    /// The communicator, if there is one.
    pub fn communicator(&self) -> Option<Arc<Communicator>> {
        self.communicator.lock().clone()
    }

    /// Sets the communicator that operators find, or takes it away.
    pub fn set_communicator(&self, communicator: Option<Arc<Communicator>>) -> Option<Arc<Communicator>> {
        std::mem::replace(&mut *self.communicator.lock(), communicator)
    }

    /// Sets the thread that completes a checkpoint, or takes it away.
    pub fn set_saving(&self, thread: Option<JoinHandle<Result<()>>>) -> Option<JoinHandle<Result<()>>> {
        std::mem::replace(&mut *self.saving.lock(), thread)
    }

    /// Puts variables in order before a program runs on them, while no thread holds any: parameters of steps that were made without
    /// this trainer are fetched, and the communicator puts its results in place.
    pub fn before_step(&self, executor: &Executor, program: &Program, scope: &Scope) -> Result<()> {
        if let Some(client) = self.client() {
            self.refresh.before_step(&client, executor, program, scope)?;
        }
        self.communicator().map_or(Ok(()), |communicator| communicator.settle())
    }
}
