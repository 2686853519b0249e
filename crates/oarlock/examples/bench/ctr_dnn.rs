//! CTR-DNN: 26 slots of width 10 from a table of 1,000,001 rows, 13 dense features, three layers of 400.

use oarlock::prelude::*;
use oarlock_tensor::Value;

use super::Rates;

/// Samples of a step.
pub(crate) const BATCH: usize = 1000;
const ROWS: usize = 1_000_001;
const SLOTS: usize = 26;
const STEPS: usize = 20;

/// A network, ready to train.
pub(crate) struct Job {
    net: Net,
    loss: String,
    exe: Executor,
    scope: Scope,
    batches: Vec<Vec<(String, Tensor)>>,
    fetched: Vec<Value>,
}

impl Job {
    /// With its parameters initialised and every buffer grown.
    pub(crate) fn new(optimizer: &str) -> Result<Job> {
        let mut net = Net::new();
        net.seed(1);
        let (loss, _) = build(&mut net, 0)?;
        match optimizer {
            "sgd" => optimizer::sgd(1e-4).minimize(&mut net, &loss)?,
            _ => optimizer::adam(1e-4).lazy_mode(true).minimize(&mut net, &loss)?,
        };
        let exe = Options { threads: 1, check_nan_inf: false }.executor();
        let scope = Scope::new();
        exe.run(&net.startup, &[], &[], &scope)?;
        let loss = loss.name().to_string();
        let mut job = Job { net, loss, exe, scope, batches: batches(), fetched: Vec::new() };
        job.epoch()?;
        Ok(job)
    }

    /// Trains on every batch once.
    fn epoch(&mut self) -> Result<()> {
        for batch in &self.batches {
            let feeds: Vec<(&str, &Tensor)> = batch.iter().map(|(n, t)| (n.as_str(), t)).collect();
            self.exe.run_into(&self.net.main, &feeds, &[&self.loss], &self.scope, &mut self.fetched)?;
        }
        Ok(())
    }

    /// Samples per second.
    pub(crate) fn measure(&mut self) -> Result<Rates> {
        let mut failed = Ok(());
        let rates = Rates::measure(6, STEPS * BATCH, || failed = failed.clone().and(self.epoch()));
        failed.map(|()| rates)
    }

    /// Where the time goes.
    pub(crate) fn budget(&mut self) -> Result<()> {
        self.exe.start_profile();
        self.epoch()?;
        if let Some(profile) = self.exe.stop_profile() {
            println!("{profile}");
        }
        Ok(())
    }
}

/// The network: its loss, and the histograms of its AUC over clicks and others. The first slot is `C0` or `C1`, as the data has it.
pub(crate) fn build(net: &mut Net, first: usize) -> Result<(VarRef, [VarRef; 2])> {
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    let mut features = vec![net.checked_data("dense", &[-1, 13], DType::F32, 0)?];
    for i in first..first + SLOTS {
        let ids = net.checked_data(&format!("C{i}"), &[-1, 1], DType::I64, 0)?;
        let table = ParamAttr::name("SparseFeatFactors").initializer(Initializer::uniform(-0.05, 0.05));
        features.push(net.embedding(&ids, Embedding::size(ROWS, 10).is_sparse(true).param_attr(table))?);
    }
    let mut x = net.concat(&features.iter().collect::<Vec<_>>(), 1)?;
    for _ in 0..3 {
        x = net.fc(&x, Fc::size(400).act("relu"))?;
    }
    let predicted = net.fc(&x, Fc::size(2).act("softmax"))?;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    let loss = net.mean(&cost)?;
    let auc = net.auc(&predicted, &label, Auc::new().num_thresholds(4096).slide_steps(20))?;
    let [.., positive, negative] = auc.stats;
    Ok((loss, [positive, negative]))
}

/// Synthetic batches: ids by a power law, as clicks have them.
fn batches() -> Vec<Vec<(String, Tensor)>> {
    let mut state = 12345u64;
    let mut uniform = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut batch = || {
        let mut feeds = Vec::new();
        for i in 0..SLOTS {
            let ids: Vec<i64> = (0..BATCH).map(|_| (uniform().powi(3) * ROWS as f64) as i64).collect();
            feeds.push((format!("C{i}"), tensor(&[BATCH, 1], &ids)));
        }
        let dense: Vec<f32> = (0..BATCH * 13).map(|_| uniform() as f32).collect();
        feeds.push(("dense".to_string(), tensor(&[BATCH, 13], &dense)));
        let label: Vec<i64> = (0..BATCH).map(|_| i64::from(uniform() < 0.3)).collect();
        feeds.push(("label".to_string(), tensor(&[BATCH, 1], &label)));
        feeds
    };
    (0..STEPS).map(|_| batch()).collect()
}

fn tensor<T: oarlock_tensor::Element>(sizes: &[usize], data: &[T]) -> Tensor {
    Tensor::from_slice(oarlock_tensor::Dims::new(sizes), data).expect("sizes that fit the data")
}
