//! `ref_by_trainer_id`: of one variable per trainer, that of the trainer whose gradient is being applied.

use oarlock_ir::{Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, kernel, sig};

pub(super) const OPS: &[&dyn OpDef] = &[&RefByTrainerId];

struct RefByTrainerId;

impl OpDef for RefByTrainerId {
    sig! {
        "ref_by_trainer_id": "Out = X[TrainerId]";
        in* "X": "one tensor per trainer";
        in "TrainerId": "i64[1], which of them";
        out "Out": "like the tensor of that trainer";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (all, trainer, out) = (p.inputs("X")?, p.input("TrainerId")?, p.output("Out")?);
        kernel(move |io| {
            let id = io.index(trainer)?;
            let chosen = usize::try_from(id).ok().and_then(|id| all.get(id));
            let Some(chosen) = chosen else {
                let what = format!("has {} trainers, and no trainer {id}", all.len());
                return Err(io.op_error(Kind::Range, what));
            };
            let from = io.value(*chosen)?;
            io.write(out)?.copy_from(&from).map_err(|e| io.about(out.0, e))
        })
    }
}
