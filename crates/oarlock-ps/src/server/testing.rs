//! A server of a small program with a hashed table, and trainers that join it: for tests of requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Program, Registry, Result, Runtime};
use oarlock_testkit::Npz;
use oarlock_transpile::{Arguments, Config, DistributeTranspiler, Trainers, VarLocations};

use super::{Policy, Server, ServerOptions, Shared, Summary};
use crate::client::{Client, ClientOptions, Request};
use crate::protocol::Message;
use crate::request::lookup::{self, Lookup};

/// The hashed table.
pub(crate) const TABLE: &str = "tab";

/// Where the program says to listen; the test listens on a free port instead.
const ENDPOINT: &str = "127.0.0.1:6174";

pub(crate) struct TestServer {
    server: Server,
    trainers: usize,
    /// The variables that it holds.
    pub(crate) variables: Vec<VarLocations>,
}

impl TestServer {
    pub(crate) fn start(trainers: usize, policy: Policy) -> TestServer {
        TestServer::start_with(trainers, ServerOptions { policy, ..ServerOptions::default() }).unwrap()
    }

    /// With options of its own, but for the endpoint.
    pub(crate) fn start_with(trainers: usize, options: ServerOptions) -> Result<TestServer> {
        let transpiler = transpiled(trainers);
        let (program, startup) = transpiler.get_pserver_programs(ENDPOINT).unwrap();
        let exec = ExecOptions {
            registry: Arc::new(registry()),
            threads: 1,
            fuse: false,
            without_fusions: Vec::new(),
            check_nan_inf: false,
        };
        let (executor, scope) = (Executor::with_runtime(exec, Arc::new(Runtime::new(1))), Scope::new());
        executor.run(&startup, &[], &[], &scope).unwrap();
        let options = ServerOptions { endpoint: Some("127.0.0.1:0".into()), ..options };
        let server = Server::start(&program, &scope, executor.options(), executor.runtime(), options)?;
        Ok(TestServer { server, trainers, variables: transpiler.var_locations().unwrap() })
    }

    pub(crate) fn endpoint(&self) -> &str {
        self.server.endpoint()
    }

    /// The list of servers, as clients take it.
    pub(crate) fn list(&self) -> Vec<String> {
        vec![self.endpoint().to_string()]
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.server.shared
    }

    /// How many rows the table has.
    pub(crate) fn rows(&self) -> u64 {
        self.shared().updates.tables.rows(TABLE).unwrap()
    }

    /// A trainer that has joined.
    pub(crate) fn join(&self, trainer: u32) -> Client {
        let client = Client::new(ClientOptions::default());
        client.notify(trainer, self.endpoint(), b"", self.trainers).unwrap();
        client
    }

    /// Looks up rows of the table, over the connection of a trainer; returns their elements.
    pub(crate) fn look_up(&self, client: &Client, trainer: u32, ids: &[i64], read_only: bool) -> Vec<f32> {
        let floats = oarlock_net::Floats::F32;
        let meta = Lookup { after_step: 0, read_only, floats, tables: vec![TABLE.into()] }.to_meta();
        let about = || "rows".to_string();
        let sections: &[&[u8]] = &[bytemuck::cast_slice(ids)];
        let request = Request { kind: lookup::REQUEST.kind, meta: meta.as_bytes(), sections, about: &about };
        let read = |reply: &oarlock_net::Incoming| {
            Ok(bytemuck::cast_slice::<u8, f32>(reply.section(0).unwrap_or_default()).to_vec())
        };
        client.ask_one(trainer, self.endpoint(), &request, read).unwrap()
    }

    /// Waits until every trainer has left.
    pub(crate) fn wait(self) -> Summary {
        self.server.wait(|| false).unwrap()
    }
}

/// A folder of a test, which is deleted at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oarlock-request-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be deleted stays for the system to clean up.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn registry() -> Registry {
    Registry::new(oarlock_ops::ops().chain(crate::ops()), [])
}

/// A program with lookups, one for several trainers and one server.
fn transpiled(trainers: usize) -> DistributeTranspiler {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oarlock-transpile/tests/golden/programs.npz");
    let archive = Npz::read(golden);
    let program = |name: &str| Program::from_bytes(archive.array(&format!("half_async.{name}")).bytes()).unwrap();
    let (mut main, mut startup) = (program("main"), program("startup"));
    for op in main.global_mut().ops.iter_mut().filter(|op| op.attrs.get("is_distributed").is_some()) {
        op.attrs.set("is_distributed", true);
        op.attrs.set("remote_prefetch", false);
    }
    let mut transpiler = DistributeTranspiler::new(Config::fluid());
    let arguments = Arguments {
        registry: &registry(),
        trainer_id: 0,
        program: &mut main,
        startup_program: &mut startup,
        pservers: ENDPOINT,
        trainers: Trainers::Count(trainers),
        sync_mode: true,
        current_endpoint: "",
        slice_var_up: None,
        split_method: None,
    };
    transpiler.transpile(arguments).unwrap();
    transpiler
}
