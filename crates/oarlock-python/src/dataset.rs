//! Data sets as Python describes them: files, slots and settings in, batches or a whole pass out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use oarlock::data::{
    self, Alone, BadLines, Batch, BatchSource, Csv, Extra, Format, InMemoryDataset, Leading, MemoryLimit, QueueDataset,
    Records, ShuffleBy, SlotSpec, SlotType, Source, TableColumns,
};
use oarlock::ir::Shape;
use parking_lot::{Mutex, MutexGuard};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::IntoPy;
use crate::executor::interruptible;
use oarlock::collective::ShuffleExchange;

use crate::collective::RankGroup;
use crate::fleet::TrainerGroup;
use crate::tensor::LoDTensor;

/// A data set. Settings are Python's; it hands them over before each use.
#[pyclass(frozen)]
pub(crate) struct Dataset {
    inner: Mutex<Inner>,
}

enum Inner {
    Queue(QueueDataset),
    Memory(InMemoryDataset),
}

/// One slot: name, numpy name of the element type, LoD levels, shape, and whether it is used.
type PySlot = (String, String, usize, Vec<i64>, bool);

fn slot_of((name, dtype, lod_level, shape, used): PySlot) -> PyResult<SlotSpec> {
    let ty = match dtype.as_str() {
        "float32" => SlotType::Float,
        "int64" => SlotType::Id,
        _ => {
            let what = format!("variable `{name}` is {dtype}, but a dataset fills float32 and int64 only");
            return Err(PyTypeError::new_err(format!("{what}: declare it as one of these and add a cast")));
        }
    };
    match (used, lod_level) {
        (false, _) => Ok(SlotSpec::unused(name, ty)),
        (true, 0) => SlotSpec::dense(name, ty, Shape::from_i64(&shape)).py(),
        (true, _) => Ok(SlotSpec::sparse(name, ty)),
    }
}

fn leading_of(name: &str) -> PyResult<Leading> {
    match name {
        "ins_id" => Ok(Leading::LineId),
        "content" => Ok(Leading::Content),
        "logkey" => Ok(Leading::LogKey),
        _ => Err(PyValueError::new_err(format!("no text `{name}` stands in front of slots"))),
    }
}

/// A table: `csv` or `parquet`, the columns of each slot, what stands for missing values; and of CSV files the delimiter, what
/// stands between the values of a field, and whether there is a header.
type PyRecords = (String, Vec<Vec<String>>, Option<f64>, String, String, bool);

fn records_of(records: Option<PyRecords>) -> PyResult<Records> {
    let Some((kind, columns, missing, delimiter, list, header)) = records else { return Ok(Records::MultiSlot) };
    let table = TableColumns { columns, missing };
    let byte = |text: &str| match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(PyValueError::new_err(format!("a delimiter is one ASCII character, not {text:?}"))),
    };
    match kind.as_str() {
        "csv" => Ok(Records::Csv(Csv { table, delimiter: byte(&delimiter)?, list: byte(&list)?, header })),
        _ => Ok(Records::Parquet(table)),
    }
}

/// The other workers of a job: at its servers, or without any.
#[derive(FromPyObject)]
enum Others<'py> {
    TrainerGroup(PyRef<'py, TrainerGroup>),
    RankGroup(PyRef<'py, RankGroup>),
}

#[pymethods]
impl Dataset {
    /// One that is loaded into memory, or one that is streamed.
    #[new]
    fn new(in_memory: bool) -> Dataset {
        let (source, format) = (Source::files(Vec::<String>::new()), Format::strict(Vec::new()));
        let inner = match in_memory {
            true => Inner::Memory(InMemoryDataset::new(source, format, 1, MemoryLimit::Machine)),
            false => Inner::Queue(QueueDataset { source, format, batch_size: 1, queue: 1 }),
        };
        Dataset { inner: Mutex::new(inner) }
    }

    /// Takes all settings. Samples in memory keep their slots.
    #[expect(clippy::too_many_arguments, reason = "all settings of a data set at once")]
    fn configure(
        &self,
        files: Vec<String>,
        pipe_command: String,
        slots: Vec<PySlot>,
        leading: Vec<String>,
        batch_size: usize,
        queue: usize,
        skip_bad_lines: bool,
        memory_limit: Option<u64>,
        records: Option<PyRecords>,
        hadoop: Vec<(String, String)>,
    ) -> PyResult<()> {
        let source = Source { files, pipe_command, hadoop };
        let format = Format {
            leading: leading.iter().map(|name| leading_of(name)).collect::<PyResult<_>>()?,
            slots: slots.into_iter().map(slot_of).collect::<PyResult<_>>()?,
            bad_lines: if skip_bad_lines { BadLines::Skip } else { BadLines::Fail },
            // As Fluid 1.8 does: lines often carry more than a program uses.
            extra: Extra::Ignore,
            records: records_of(records)?,
        };
        match &mut *self.lock()? {
            Inner::Queue(q) => *q = QueueDataset { source, format, batch_size, queue },
            Inner::Memory(m) => {
                if !m.is_empty() && (m.format.slots != format.slots || m.format.leading != format.leading) {
                    let help = "call release_memory() before set_use_var, and load again";
                    return Err(PyValueError::new_err(format!("the samples in memory have other slots: {help}")));
                }
                (m.source, m.format, m.batch_size) = (source, format, batch_size);
                m.limit = memory_limit.map_or(MemoryLimit::Machine, MemoryLimit::Bytes);
            }
        }
        Ok(())
    }

    /// Loads all files; says what that took.
    fn load_into_memory(&self, py: Python<'_>, threads: usize) -> PyResult<String> {
        let mut inner = self.lock()?;
        let memory = inner.memory()?;
        interruptible(py, |stop| memory.load_into_memory(threads, stop)).map(|loaded| loaded.to_string())
    }

    /// Starts to load in the background.
    fn preload_into_memory(&self, threads: usize) -> PyResult<()> {
        self.lock()?.memory()?.preload_into_memory(threads).py()
    }

    /// Is it loading in the background?
    fn is_preloading(&self) -> PyResult<bool> {
        Ok(self.lock()?.memory()?.is_preloading())
    }

    /// Takes over what was loaded in the background; says what that took.
    fn finish_preload(&self) -> PyResult<String> {
        self.lock()?.memory()?.wait_preload_done().map(|loaded| loaded.to_string()).py()
    }

    /// Shuffles the samples of this trainer.
    fn local_shuffle(&self, py: Python<'_>, seed: u64) -> PyResult<()> {
        let mut inner = self.lock()?;
        let memory = inner.memory()?;
        py.detach(|| memory.local_shuffle(seed));
        Ok(())
    }

    /// Shuffles the samples of all trainers; without peers this is the only one.
    fn global_shuffle(&self, py: Python<'_>, by_line_id: bool, seed: u64, peers: Option<Others<'_>>) -> PyResult<()> {
        let mut inner = self.lock()?;
        let memory = inner.memory()?;
        let by = if by_line_id { ShuffleBy::LineId } else { ShuffleBy::Chance };
        match peers {
            None => py.detach(|| memory.global_shuffle(&mut Alone, by, seed)).py(),
            Some(Others::TrainerGroup(peers)) => {
                let runtime = peers.runtime.borrow(py);
                let peers = &peers.inner;
                runtime.compute(py, || memory.global_shuffle(&mut *peers.lock(), by, seed))
            }
            Some(Others::RankGroup(workers)) => {
                workers.with(py, |group| memory.global_shuffle(&mut ShuffleExchange(group), by, seed))
            }
        }
    }

    /// Makes one sample of all with one line id; says how many were merged and dropped.
    fn merge_by_line_id(&self, py: Python<'_>, size: Option<usize>) -> PyResult<String> {
        let mut inner = self.lock()?;
        let memory = inner.memory()?;
        py.detach(|| memory.merge_by_line_id(size)).map(|merged| format!("{merged:?}")).py()
    }

    /// Forgets the samples.
    fn release_memory(&self) -> PyResult<()> {
        self.lock()?.memory()?.release_memory();
        Ok(())
    }

    /// Samples in memory.
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.lock()?.memory()?.len())
    }

    /// Begins a pass for this number of consumers.
    fn begin(&self, py: Python<'_>, consumers: usize) -> PyResult<Vec<Pass>> {
        let dataset = self.snapshot()?;
        let used = dataset.slots().iter().filter(|s| s.is_used());
        let names: Arc<Vec<String>> = Arc::new(used.map(|s| s.name().to_string()).collect());
        let stop = Arc::<AtomicBool>::default();
        let pass = py.detach(|| dataset.begin(consumers, stop.clone())).py()?;
        let one = |source| Pass { state: Mutex::new(Some((source, Batch::new()))), names: names.clone() };
        Ok(pass.sources.into_iter().map(one).collect())
    }
}

impl Dataset {
    /// The data set as it is now. No lock is held while it is read: that may take long, and need the interpreter.
    pub(crate) fn snapshot(&self) -> PyResult<Box<dyn data::Dataset + Send + Sync>> {
        Ok(match &*self.lock()? {
            Inner::Queue(q) => Box::new(q.clone()),
            Inner::Memory(m) => Box::new(m.snapshot()),
        })
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        // A thread that waited here would hold the interpreter's lock.
        self.inner.try_lock().ok_or_else(|| PyRuntimeError::new_err("the dataset is in use by another thread"))
    }
}

impl Inner {
    fn memory(&mut self) -> PyResult<&mut InMemoryDataset> {
        match self {
            Inner::Memory(m) => Ok(m),
            Inner::Queue(_) => Err(PyTypeError::new_err("a QueueDataset holds no samples in memory")),
        }
    }
}

/// A consumer's share of a pass.
#[pyclass(frozen)]
pub(crate) struct Pass {
    state: Mutex<Option<(Box<dyn BatchSource>, Batch)>>,
    names: Arc<Vec<String>>,
}

#[pymethods]
impl Pass {
    /// The next batch as tensors by name, and its number of samples; None at the end.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyDict>, usize)>> {
        let taken = self.state.lock().take();
        let Some((mut source, mut batch)) = taken else { return Ok(None) };
        let (more, source, mut batch) = py.detach(move || (source.next(&mut batch), source, batch));
        if !more.py()? {
            return Ok(None);
        }
        let feed = PyDict::new(py);
        for (name, tensor) in self.names.iter().zip(batch.tensors_mut()) {
            feed.set_item(name, LoDTensor::own(std::mem::take(tensor)))?;
        }
        let rows = batch.rows();
        *self.state.lock() = Some((source, batch));
        Ok(Some((feed, rows)))
    }

    /// Ends it: no thread and no command is left.
    fn close(&self, py: Python<'_>) {
        let taken = self.state.lock().take();
        py.detach(|| drop(taken));
    }
}
