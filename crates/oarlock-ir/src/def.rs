//! The definition of an operator: one file in an operator crate implements [`OpDef`] and everything else follows from it.

use crate::attr_view::AttrView;
use crate::error::{Kind, Result};
use crate::grad::{GRAD, Grad};
use crate::gradient_op::GradOp;
use crate::infer::Infer;
use crate::kernel::{Kernel, Prepare};
use crate::{Attr, fail};

/// The definition of one operator.
pub trait OpDef: Sync {
    /// Its type, slots, attributes and their documentation.
    fn sig(&self) -> Sig;

    /// Computes the types of its outputs when the program is built; sizes may be unknown. The default is that of gradient
    /// operators that read every variable whose gradient they write: each `S@GRAD` is like `S`.
    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.infer_grads()
    }

    /// Makes its kernel, once per plan: attributes parsed, slots resolved to indices, dtype chosen.
    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>>;

    /// Emits the operators that compute its gradient. The default is its [`GradOp`]; without one, a gradient through it is an
    /// error that names it.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_gradient()
    }

    /// The properties that passes may rely on: those of its signature.
    fn traits(&self) -> Traits {
        self.sig().traits
    }

    /// This operator, if it is the gradient of another.
    fn as_gradient(&'static self) -> Option<&'static GradOp> {
        None
    }
}

/// Properties of an operator on which passes and plans rely.
#[derive(Debug, Clone, Copy)]
pub struct Traits {
    /// Pairs (input slot, output slot) whose variables may share memory: the kernel copes with both being one.
    pub in_place: &'static [(&'static str, &'static str)],
    /// Pairs (input slot, output slot) of which the output is the input itself, so that nothing is written where both are one
    /// variable.
    pub unchanged: &'static [(&'static str, &'static str)],
    /// Input slots of which only sizes and LoD are read.
    pub shape_only: &'static [&'static str],
    /// Input slots whose variables may have no value when the operator runs: gradients nothing computed, branches not taken.
    pub maybe_empty: &'static [&'static str],
    /// Does something besides writing its outputs; never pruned.
    pub side_effect: bool,
    /// Moves fed and fetched values in and out; the executor does its work.
    pub port: Option<Port>,
    /// Gradients of this operator's outputs do not flow to its inputs, and that is no mistake (a metric, a counter, a comparison).
    pub gradient_free: bool,
    /// Its sub-block runs at most once per call, so only what leads to the operator's outputs needs gradients.
    /// In a loop every result may matter in a later turn.
    pub branch: bool,
    /// The operator around its block hands it its input while the block runs (the memory of a recurrent net),
    /// so it is of use although nothing in the program computes that input.
    pub handed_in: bool,
    /// Draws random numbers, so it does not compute the same again from the same inputs.
    pub random: bool,
    /// The input slot of a seed that takes the place of the attributes `seed` and `fix_seed`; with it a random operator repeats
    /// itself.
    pub seed_slot: Option<&'static str>,
    /// The operator that does the same over the samples of all replicas of a run, with the same slots and attributes.
    pub synchronized: Option<&'static str>,
    /// Runs once for all replicas of a run, on what they have in common: its effect is that of the process.
    pub once: bool,
    /// Changes some rows of what it updates and leaves the others alone, although no input is row-sparse.
    pub by_rows: bool,
    /// The rows of a parameter and its state that a row-sparse gradient changes.
    pub sparse_update: SparseUpdate,
    /// Its result depends on all elements of a tensor together, as a norm does: a part of the tensor would give another result.
    pub whole_tensor: bool,
}

/// The rows of a parameter and its state that an optimizer changes when the gradient lists some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparseUpdate {
    /// All rows, those not listed as if their gradient were zero; or the operator takes no row-sparse gradient.
    AllRows,
    /// The listed rows; all others keep every bit.
    ListedRows,
    /// The listed rows if this attribute is true, else all.
    ListedRowsIf(&'static str),
}

/// The two operators that stand for the outside in a saved inference program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// Its output is fed by the user.
    Feed,
    /// Its input is fetched by the user.
    Fetch,
}

impl Traits {
    /// Nothing special.
    pub const NONE: Traits = Traits {
        in_place: &[],
        unchanged: &[],
        shape_only: &[],
        maybe_empty: &[],
        side_effect: false,
        port: None,
        gradient_free: false,
        branch: false,
        handed_in: false,
        random: false,
        seed_slot: None,
        synchronized: None,
        once: false,
        by_rows: false,
        sparse_update: SparseUpdate::AllRows,
        whole_tensor: false,
    };

    /// No gradient, on purpose.
    pub const GRADIENT_FREE: Traits = Traits { gradient_free: true, ..Traits::NONE };

    /// An operator whose `Out` may overwrite its `X`.
    pub const X_TO_OUT: Traits = Traits { in_place: &[("X", "Out")], ..Traits::NONE };

    /// With these pairs that may share memory.
    pub const fn in_place(self, pairs: &'static [(&'static str, &'static str)]) -> Traits {
        Traits { in_place: pairs, ..self }
    }

    /// With these pairs of which the output is the input.
    pub const fn unchanged(self, pairs: &'static [(&'static str, &'static str)]) -> Traits {
        Traits { in_place: pairs, unchanged: pairs, ..self }
    }

    /// With these inputs of which only sizes and LoD are read.
    pub const fn shape_only(self, slots: &'static [&'static str]) -> Traits {
        Traits { shape_only: slots, ..self }
    }

    /// With these inputs that may have no value.
    pub const fn maybe_empty(self, slots: &'static [&'static str]) -> Traits {
        Traits { maybe_empty: slots, ..self }
    }

    /// Draws random numbers; `seed_slot` is the input that makes it repeat itself.
    pub const fn random(self, seed_slot: Option<&'static str>) -> Traits {
        Traits { random: true, seed_slot, ..self }
    }

    /// With an operator that does the same over all replicas.
    pub const fn synchronized(self, op_type: &'static str) -> Traits {
        Traits { synchronized: Some(op_type), ..self }
    }

    /// Runs once for all replicas.
    pub const fn once(self) -> Traits {
        Traits { once: true, ..self }
    }

    /// Changes some rows of what it updates.
    pub const fn by_rows(self) -> Traits {
        Traits { by_rows: true, ..self }
    }

    /// Changes only the rows that a row-sparse gradient lists.
    pub const fn listed_rows(self) -> Traits {
        Traits { sparse_update: SparseUpdate::ListedRows, ..self }
    }

    /// Changes only the rows that a row-sparse gradient lists if this attribute is true.
    pub const fn listed_rows_if(self, attr: &'static str) -> Traits {
        Traits { sparse_update: SparseUpdate::ListedRowsIf(attr), ..self }
    }

    /// Depends on all elements of a tensor together.
    pub const fn whole_tensor(self) -> Traits {
        Traits { whole_tensor: true, ..self }
    }

    /// Does `op`, which has these traits, change only the rows that its row-sparse gradient lists?
    pub fn updates_listed_rows_only(&self, op: &crate::Op) -> bool {
        match self.sparse_update {
            SparseUpdate::AllRows => false,
            SparseUpdate::ListedRows => true,
            SparseUpdate::ListedRowsIf(attr) => op.attrs.get(attr) == Some(&Attr::Bool(true)),
        }
    }

    /// Never pruned.
    pub const fn side_effect(self) -> Traits {
        Traits { side_effect: true, ..self }
    }
}

/// A slot of an operator.
#[derive(Debug, Clone)]
pub struct SlotSig {
    /// Its name, as in saved programs.
    pub name: &'static str,
    /// Describes the slot.
    pub doc: &'static str,
    /// Takes any number of variables.
    pub many: bool,
    /// May be left out.
    pub optional: bool,
}

/// An attribute of an operator.
#[derive(Debug, Clone)]
pub struct AttrSig {
    /// Its name, as in saved programs.
    pub name: &'static str,
    /// Describes the effect of the attribute.
    pub doc: &'static str,
    /// The value when not set; `None` if it must be set.
    pub default: Option<Attr>,
}

/// The signature of an operator.
#[derive(Debug, Clone)]
pub struct Sig {
    /// The operator's type, as in saved programs.
    pub op_type: &'static str,
    /// Describes the result, as a formula or a sentence.
    pub doc: &'static str,
    /// Input slots.
    pub inputs: Vec<SlotSig>,
    /// Output slots.
    pub outputs: Vec<SlotSig>,
    /// Attributes that can be set.
    pub attrs: Vec<AttrSig>,
    /// Attributes that saved programs carry and that cannot change results on a CPU (library choices, memory hints).
    pub hints: Vec<&'static str>,
    /// What passes may assume of it.
    pub traits: Traits,
}

impl Sig {
    /// An operator without slots; `doc` says what it computes.
    pub fn new(op_type: &'static str, doc: &'static str) -> Sig {
        let (inputs, outputs, attrs, hints) = Default::default();
        Sig { op_type, doc, inputs, outputs, attrs, hints, traits: Traits::NONE }
    }

    fn add_input(mut self, name: &'static str, doc: &'static str, many: bool, optional: bool) -> Sig {
        self.inputs.push(SlotSig { name, doc, many, optional });
        self
    }

    fn add_output(mut self, name: &'static str, doc: &'static str, many: bool, optional: bool) -> Sig {
        self.outputs.push(SlotSig { name, doc, many, optional });
        self
    }

    /// An input of one variable.
    pub fn input(self, name: &'static str, doc: &'static str) -> Sig {
        self.add_input(name, doc, false, false)
    }

    /// An input of any number of variables.
    pub fn inputs(self, name: &'static str, doc: &'static str) -> Sig {
        self.add_input(name, doc, true, false)
    }

    /// An input that may be left out.
    pub fn optional_input(self, name: &'static str, doc: &'static str) -> Sig {
        self.add_input(name, doc, false, true)
    }

    /// An input of any number of variables that may be left out.
    pub fn optional_inputs(self, name: &'static str, doc: &'static str) -> Sig {
        self.add_input(name, doc, true, true)
    }

    /// An output of one variable.
    pub fn output(self, name: &'static str, doc: &'static str) -> Sig {
        self.add_output(name, doc, false, false)
    }

    /// An output of any number of variables.
    pub fn outputs(self, name: &'static str, doc: &'static str) -> Sig {
        self.add_output(name, doc, true, false)
    }

    /// An output that may be left out.
    pub fn optional_output(self, name: &'static str, doc: &'static str) -> Sig {
        self.add_output(name, doc, false, true)
    }

    /// An output of any number of variables that may be left out.
    pub fn optional_outputs(self, name: &'static str, doc: &'static str) -> Sig {
        self.add_output(name, doc, true, true)
    }

    /// An attribute with a default.
    pub fn attr(mut self, name: &'static str, default: impl Into<Attr>, doc: &'static str) -> Sig {
        self.attrs.push(AttrSig { name, doc, default: Some(default.into()) });
        self
    }

    /// An attribute that must be set.
    pub fn required_attr(mut self, name: &'static str, doc: &'static str) -> Sig {
        self.attrs.push(AttrSig { name, doc, default: None });
        self
    }

    /// Attributes that are accepted because they cannot change results on a CPU.
    pub fn hints(mut self, names: &[&'static str]) -> Sig {
        self.hints.extend_from_slice(names);
        self
    }

    /// With what passes may assume of it.
    pub fn traits(self, traits: Traits) -> Sig {
        Sig { traits, ..self }
    }

    /// The slots and attributes of a gradient operator of `forward`. `reads` are slots of the forward operator (`X`, `Out`) and
    /// gradients of its outputs (`Out@GRAD`); a `?` marks one that may be left out although the forward operator always has it.
    /// `writes` are gradients of its inputs (`X@GRAD`); of several, each may be left out.
    pub fn grad_of(self, forward: &Sig, reads: &[&'static str], writes: &[&'static str]) -> Sig {
        let find = |slots: &[SlotSig], name: &str| slots.iter().find(|s| s.name == name).map(|s| (s.many, s.optional));
        let many = |slots: &[SlotSig], gradient: &str| {
            let of = gradient.strip_suffix(GRAD).and_then(|name| find(slots, name));
            debug_assert!(of.is_some(), "`{}` has no slot for `{gradient}`", forward.op_type);
            of.is_some_and(|(many, _)| many)
        };
        let mut sig = self.attrs_of(forward);
        for read in reads {
            let name = read.strip_suffix('?').unwrap_or(read);
            let (doc, many, optional) = match (find(&forward.inputs, name), find(&forward.outputs, name)) {
                (Some((many, optional)), _) => ("of the forward operator", many, optional),
                (None, Some((many, _))) => ("of the forward operator", many, false),
                (None, None) => ("gradient of the forward operator's output", many(&forward.outputs, name), false),
            };
            sig = sig.add_input(name, doc, many, optional || name != *read);
        }
        for write in writes {
            let many = many(&forward.inputs, write);
            sig = sig.add_output(write, "gradient of the forward operator's input", many, writes.len() > 1);
        }
        sig
    }

    /// The same attributes as another operator's, as a gradient operator has its forward operator's.
    pub fn attrs_of(mut self, other: &Sig) -> Sig {
        self.attrs.extend(other.attrs.iter().cloned());
        self.hints.extend_from_slice(&other.hints);
        self
    }

    /// Checks an operator of a program against this signature: slots and attributes known, what is required there.
    pub fn check(&self, op: &crate::Op) -> Result<()> {
        check_slots(self.op_type, "input", &self.inputs, &op.inputs)?;
        check_slots(self.op_type, "output", &self.outputs, &op.outputs)?;
        for (name, _) in op.attrs.iter() {
            self.check_attr(name)?;
        }
        for a in self.attrs.iter().filter(|a| a.default.is_none()) {
            if op.attrs.get(a.name).is_none() {
                fail!(Kind::Argument, "`{}` needs attribute `{}` ({})", self.op_type, a.name, a.doc);
            }
        }
        Ok(())
    }

    fn check_attr(&self, name: &str) -> Result<()> {
        let known = self.attrs.iter().any(|a| a.name == name)
            || self.hints.contains(&name)
            || COMMON_ATTRS.contains(&name)
            || COMMON_HINTS.contains(&name);
        if known {
            return Ok(());
        }
        let mut all: Vec<&str> = self.attrs.iter().map(|a| a.name).collect();
        all.sort_unstable();
        let err = crate::Error::new(Kind::Unknown, format!("`{}` has no attribute `{name}`", self.op_type));
        Err(match nearest(name, &all) {
            Some(close) => err.help(format!("did you mean `{close}`?")),
            None if all.is_empty() => err.help("it takes no attributes"),
            None => err.help(format!("it takes {}", all.join(", "))),
        })
    }

    /// The attributes of `op`, with defaults for those not set.
    pub fn attrs<'a>(&'a self, op: &'a crate::Op) -> AttrView<'a> {
        AttrView::new(op, self)
    }
}

/// Attributes every operator of a saved program may carry.
pub const COMMON_ATTRS: &[&str] = &["op_role", "op_role_var", "op_namescope", "op_callstack", "op_device"];

/// Library choices that saved programs carry and that mean nothing here.
const COMMON_HINTS: &[&str] =
    &["use_mkldnn", "use_cudnn", "use_quantizer", "mkldnn_data_type", "is_test", "with_quant_attr"];

fn check_slots(op_type: &str, what: &str, sigs: &[SlotSig], slots: &crate::Slots) -> Result<()> {
    for (name, args) in slots.iter() {
        match sigs.iter().find(|s| s.name == &**name) {
            Some(s) if s.many || args.len() <= 1 => {}
            Some(_) => fail!(Kind::Argument, "`{op_type}` takes one variable in {what} `{name}`, not {}", args.len()),
            // An empty slot of another release says nothing.
            None if args.is_empty() => {}
            None => {
                let all: Vec<&str> = sigs.iter().map(|s| s.name).collect();
                fail!(Kind::Unknown, "`{op_type}` has no {what} `{name}`; it has {}", all.join(", "));
            }
        }
    }
    for s in sigs.iter().filter(|s| !s.optional) {
        if slots.get(s.name).is_empty() && what == "input" {
            fail!(Kind::Missing, "`{op_type}` needs {what} `{}` ({})", s.name, s.doc);
        }
    }
    Ok(())
}

/// The candidate nearest to a misspelt word, if one is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let best = candidates.iter().map(|c| (distance(word, c), *c)).min()?;
    (best.0 <= 1 + word.len() / 4).then_some(best.1)
}

/// Edit distance by single characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let change = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Writes [`OpDef::sig`] as a table, a row per slot or attribute:
///
/// ```text
/// sig! {
///     "scale": "Out = scale * X + bias";
///     in "X": "a tensor";
///     in? "ScaleTensor": "may be left out";
///     out* "Out": "any number of variables; `out*?` may be left out";
///     attr "axis": "must be set";
///     attr "scale" = 1.0f32, "has a default";
///     hints ["data_format"];
///     traits Traits::X_TO_OUT;
///     with function_that_adds_more_to_a_signature;
/// }
/// ```
#[macro_export]
macro_rules! sig {
    (@rows $sig:expr;) => { $sig };
    (@rows $sig:expr; in*? $name:tt : $doc:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.optional_inputs($name, $doc); $($rows)*)
    };
    (@rows $sig:expr; in* $name:tt : $doc:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.inputs($name, $doc); $($rows)*)
    };
    (@rows $sig:expr; in? $name:tt : $doc:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.optional_input($name, $doc); $($rows)*)
    };
    (@rows $sig:expr; in $name:tt : $doc:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.input($name, $doc); $($rows)*)
    };
    (@rows $sig:expr; out*? $name:tt : $doc:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.optional_outputs($name, $doc); $($rows)*)
    };
    (@rows $sig:expr; out* $name:tt : $doc:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.outputs($name, $doc); $($rows)*)
    };
    (@rows $sig:expr; out? $name:tt : $doc:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.optional_output($name, $doc); $($rows)*)
    };
    (@rows $sig:expr; out $name:tt : $doc:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.output($name, $doc); $($rows)*)
    };
    (@rows $sig:expr; attr $name:tt : $doc:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.required_attr($name, $doc); $($rows)*)
    };
    (@rows $sig:expr; attr $name:tt = $default:expr, $doc:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.attr($name, $default, $doc); $($rows)*)
    };
    (@rows $sig:expr; hints $names:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.hints(&$names); $($rows)*)
    };
    (@rows $sig:expr; traits $traits:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $sig.traits($traits); $($rows)*)
    };
    (@rows $sig:expr; with $with:expr; $($rows:tt)*) => {
        $crate::sig!(@rows $with($sig); $($rows)*)
    };
    ($op_type:tt : $doc:expr; $($rows:tt)*) => {
        fn sig(&self) -> $crate::Sig {
            $crate::sig!(@rows $crate::Sig::new($op_type, $doc); $($rows)*)
        }
    };
}
