//! Files of a test in a directory of their own, and short ways to read them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use oarlock_io::data::{Batch, BatchSource, Format, QueueDataset, SlotSpec, SlotType, Source};
use oarlock_ir::{Result, Shape};
use oarlock_tensor::Tensor;

/// A directory that is removed with the value.
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new() -> Dir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("oarlock-data-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A label, three numbers, ids, weights.
pub(crate) fn slots() -> Vec<SlotSpec> {
    let dense = |name, ty, n| SlotSpec::dense(name, ty, Shape::from_i64(&[-1, n])).unwrap();
    vec![
        dense("label", SlotType::Id, 1),
        dense("d", SlotType::Float, 3),
        SlotSpec::sparse("ids", SlotType::Id),
        SlotSpec::sparse("w", SlotType::Float),
    ]
}

/// One slot of ids.
pub(crate) fn id_slot() -> Vec<SlotSpec> {
    vec![SlotSpec::sparse("ids", SlotType::Id)]
}

pub(crate) fn queue(files: &[String], slots: Vec<SlotSpec>, batch_size: usize) -> QueueDataset {
    QueueDataset { source: Source::files(files), format: Format::strict(slots), batch_size, queue: 2 }
}

/// The tensors of all batches of one source.
pub(crate) fn drain(source: &mut dyn BatchSource) -> Result<Vec<Vec<Tensor>>> {
    let (mut batch, mut all) = (Batch::new(), Vec::new());
    while source.next(&mut batch)? {
        all.push(batch.tensors().to_vec());
    }
    Ok(all)
}

/// The tensors of all batches, read by one thread.
pub(crate) fn read(dataset: &QueueDataset) -> Result<Vec<Vec<Tensor>>> {
    let mut readers = dataset.start(1, Arc::default())?.take_readers();
    drain(&mut readers[0])
}

/// All values of the first slot, in order.
pub(crate) fn first_ids(batches: &[Vec<Tensor>]) -> Vec<i64> {
    batches.iter().flat_map(|b| b[0].data::<i64>().unwrap().to_vec()).collect()
}

/// A tensor of a batch, with the offsets of samples as Fluid has them: of values, which are kept where they are those of rows.
pub(crate) fn tensor<T: oarlock_tensor::Element>(dims: &[usize], values: &[T], offsets: &[usize]) -> Tensor {
    let mut t = Tensor::from_slice(oarlock_tensor::Dims::new(dims), values).unwrap();
    if offsets.last() == Some(&t.rows()) {
        t.set_lod(oarlock_tensor::Lod::new(vec![offsets.to_vec()]));
    }
    t
}
