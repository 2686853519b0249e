//! Tables of rows, and ids as vectors.

use oarlock_ir::{Attr, Error, Kind, Op, Result, fail};
use oarlock_tensor::DType;
use oarlock_tensor::table::{Admission, Retention, show_click};

use crate::declare::{Args, declare};
use crate::options::options;
use crate::{Net, Param, VarRef};

options! {
    /// `embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype='float32')`
    Embedding::size(
        /// How many ids the table has.
        rows: usize,
        /// Numbers per id.
        width: usize,
    ) {
        /// The gradient holds only the rows of the batch.
        is_sparse: bool = false,
        /// A hashed table: rows are made on first use, on parameter servers, or in memory where there are none.
        is_distributed: bool = false,
        /// Which ids get a row of a distributed table.
        entry: Entry = Entry::Every,
        /// Which rows of a distributed table go by themselves; none unless it is said.
        evict: Retention = Retention::default(),
        /// The id whose row is zero; negative ones count from the end.
        padding_idx: Option<i64> = None,
        /// The table.
        param_attr(into): Param = Param::default(),
        /// Element type of the table.
        dtype: DType = DType::F32,
    }
}

/// Which ids get a row of their own in a table on servers. Until then an id reads as its row would start, and does not learn.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Entry {
    /// Every id, when it is first looked up.
    #[default]
    Every,
    /// An id that was looked up this number of times: `CountFilterEntry`.
    Count(u32),
    /// An id, with this probability each time it is looked up: `ProbabilityEntry`.
    Probability(f64),
    /// Every id, and rows count how often they were shown and clicked, which variables of one number per sample say:
    /// `ShowClickEntry`.
    ShowClick {
        /// The variable with shows.
        show: String,
        /// The variable with clicks.
        click: String,
    },
}

impl Entry {
    /// Parses the text in a program: `count_filter_entry:N`, `probability_entry:P` or `show_click_entry:SHOW:CLICK`.
    pub fn parse(text: &str) -> Result<Entry> {
        if let Some((show, click)) = show_click(text) {
            return Ok(Entry::ShowClick { show: show.into(), click: click.into() });
        }
        match Admission::parse(text) {
            Some(Admission::Always) => Ok(Entry::Every),
            Some(Admission::Count(count)) => Ok(Entry::Count(count)),
            Some(Admission::Probability(probability)) => Ok(Entry::Probability(probability)),
            None => fail!(Kind::Argument, "{text:?} does not say which ids get a row of a table"),
        }
    }

    /// As programs say it.
    fn attr(&self) -> Option<String> {
        match self {
            Entry::Every => None,
            Entry::Count(count) => Some(format!("count_filter_entry:{count}")),
            Entry::Probability(probability) => Some(format!("probability_entry:{probability}")),
            Entry::ShowClick { show, click } => Some(format!("show_click_entry:{show}:{click}")),
        }
    }
}

impl Net {
    /// `fluid.layers.embedding`: the rows of ids `[..., 1]`; the width takes the place of the last dimension.
    #[track_caller]
    pub fn embedding(&mut self, input: &VarRef, options: Embedding) -> Result<VarRef> {
        self.lookup("lookup_table", input, options)
    }

    /// `fluid.embedding`: the rows of ids of any shape; the width is appended.
    #[track_caller]
    pub fn embedding_v2(&mut self, input: &VarRef, options: Embedding) -> Result<VarRef> {
        self.lookup("lookup_table_v2", input, options)
    }

    #[track_caller]
    fn lookup(&mut self, op_type: &str, input: &VarRef, options: Embedding) -> Result<VarRef> {
        let mut layer = self.layer("embedding");
        let rows = options.rows as i64;
        let padding = match options.padding_idx {
            None => -1,
            Some(id) if id >= -rows && id < rows => id.rem_euclid(rows),
            Some(id) => fail!(Kind::Range, "padding_idx is {id}, but the table has {rows} rows"),
        };
        let w = layer.weight(&options.param_attr, &[options.rows, options.width], options.dtype)?;
        layer.var_mut(&w)?.meta.is_distributed = options.is_distributed;
        if let Some(first) = layer.startup.global_mut().vars.get_mut(w.name()) {
            // On one machine, too, the table begins without rows.
            first.meta.is_distributed = options.is_distributed;
        }
        let mut op = Op::new(op_type)
            .input("Ids", [input])
            .input("W", [&w])
            .attr("is_sparse", options.is_sparse)
            .attr("is_distributed", options.is_distributed)
            .attr("remote_prefetch", options.is_sparse && !options.is_distributed)
            .attr("padding_idx", padding);
        let evict = Some(options.evict.to_string()).filter(|evict| !evict.is_empty());
        for (name, value) in [("entry", options.entry.attr()), ("evict", evict)] {
            let Some(value) = value else { continue };
            if !options.is_distributed {
                fail!(
                    Kind::Argument,
                    "`{name}` chooses the rows of a table that is distributed, and this table is not: set is_sparse and \
                     is_distributed"
                );
            }
            op = op.attr(name, value);
        }
        layer.out(options.dtype, op)
    }

    /// `fluid.layers.one_hot(input, depth, allow_out_of_range=False)`: of ids `[..., 1]`; `depth` takes the place of the last
    /// dimension.
    #[track_caller]
    pub fn one_hot(&mut self, input: &VarRef, depth: i32, allow_out_of_range: bool) -> Result<VarRef> {
        self.one_hot_as("one_hot", input, depth, allow_out_of_range)
    }

    /// `fluid.one_hot(input, depth, allow_out_of_range=False)`: of ids of any shape; `depth` is appended.
    #[track_caller]
    pub fn one_hot_v2(&mut self, input: &VarRef, depth: i32, allow_out_of_range: bool) -> Result<VarRef> {
        self.one_hot_as("one_hot_v2", input, depth, allow_out_of_range)
    }

    #[track_caller]
    fn one_hot_as(&mut self, op_type: &str, input: &VarRef, depth: i32, out_of_range: bool) -> Result<VarRef> {
        let mut layer = self.layer(op_type);
        let out = layer.temp_without_gradient(DType::F32);
        let op = Op::new(op_type).input("X", [input]).output("Out", [&out]);
        layer.append_op(op.attr("depth", depth).attr("allow_out_of_range", Attr::Bool(out_of_range)))?;
        Ok(out)
    }
}

declare! {
    /// Looks up a row of a trained table for each id: ``out[..., :] = table[input[..., 0]]``.
    ///
    /// The last dimension of the ids has size 1 and becomes the width of the table; ``fluid.embedding`` takes ids
    /// without that dimension. LoD is kept.
    ///
    /// Args:
    ///     input (Variable): int64 or int32, ``[..., 1]``: ids from 0 to ``rows - 1``.
    ///     size (list or tuple): ``[rows, width]`` of the table.
    ///     is_sparse (bool): the gradient is SelectedRows: only the rows of the batch. Large tables need it. SGD,
    ///         Adagrad, Ftrl and Adam with ``lazy_mode`` then update only these rows, Momentum, RMSProp and Adam all
    ///         rows; Adadelta, Adamax and some others do not take such gradients.
    ///     is_distributed (bool): a hashed table: any int64 is an id, and a row is made when its id is first used. It
    ///         lives on the parameter servers, or in memory if there are none; ``size[0]`` is no limit.
    ///     padding_idx (int): the row of this id reads as zeros and is not trained; a negative number counts from the
    ///         last row; ``None``: there is no such id.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the table; layers with one name
    ///         share a table. ``None``: Xavier's initializer.
    ///     dtype (dtype): the element type of the table: float32 or float64.
    ///     entry (object): ``paddle.distributed.CountFilterEntry``, ``ProbabilityEntry`` or ``ShowClickEntry``: which
    ///         ids get a row of a hashed table, and whether shows and clicks are counted; ``None``: all ids, without
    ///         counts. Fluid 1.8 does not have it.
    ///     evict (object): ``paddle.distributed.UnseenEviction`` or ``ScoreEviction``: which rows of a hashed table are
    ///         evicted; ``None``: none. Fluid does not have it.
    ///
    /// Returns:
    ///     Variable: ``[..., width]`` with the LoD of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the last size of ``input`` is not 1.
    ///     TypeError: the ids are no integers.
    ///     IndexError: an id is outside of the table (when the program runs).
    ///     ValueError: ``size`` does not have two elements.
    ///
    /// Example:
    ///     >>> ids = fluid.data("ids", [None, 1], "int64")
    ///     >>> out = fluid.layers.embedding(ids, [1000, 8], is_sparse=True)
    ///     >>> out.shape
    ///     (-1, 8)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(feed={"ids": np.array([[3], [999], [3]])}, fetch_list=[out])[0].shape
    ///     (3, 8)
    ///     >>> query, title = fluid.data("query", [None, 1], "int64"), fluid.data("title", [None, 1], "int64")
    ///     >>> shared = fluid.ParamAttr("words")
    ///     >>> a = fluid.layers.embedding(query, [1000, 8], param_attr=shared)
    ///     >>> b = fluid.layers.embedding(title, [1000, 8], param_attr=shared)
    ///     >>> [p.name for p in fluid.default_main_program().all_parameters() if p.name == "words"]
    ///     ['words']
    "nn.embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, \
     dtype='float32', *, entry=None, evict=None)"
        => |net, a| net.embedding(&a.var("input")?, embedding(a)?);

    /// Looks up a row of a trained table for each id: ``out[..., :] = table[input[...]]``.
    ///
    /// The width of the table becomes a new last dimension. ``fluid.layers.embedding`` is the same for ids
    /// ``[..., 1]``. LoD is kept.
    ///
    /// Args:
    ///     input (Variable): int64 or int32, any shape: ids from 0 to ``rows - 1``.
    ///     size (list or tuple): ``[rows, width]`` of the table.
    ///     is_sparse (bool): the gradient is SelectedRows: only the rows of the batch. Large tables need it. SGD,
    ///         Adagrad, Ftrl and Adam with ``lazy_mode`` then update only these rows, Momentum, RMSProp and Adam all
    ///         rows; Adadelta, Adamax and some others do not take such gradients.
    ///     is_distributed (bool): a hashed table: any int64 is an id, and a row is made when its id is first used. It
    ///         lives on the parameter servers, or in memory if there are none; ``size[0]`` is no limit.
    ///     padding_idx (int): the row of this id reads as zeros and is not trained; a negative number counts from the
    ///         last row; ``None``: there is no such id.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the table; layers with one name
    ///         share a table. ``None``: Xavier's initializer.
    ///     dtype (dtype): the element type of the table: float32 or float64.
    ///     entry (object): ``paddle.distributed.CountFilterEntry``, ``ProbabilityEntry`` or ``ShowClickEntry``: which
    ///         ids get a row of a hashed table, and whether shows and clicks are counted; ``None``: all ids, without
    ///         counts. Fluid 1.8 does not have it.
    ///     evict (object): ``paddle.distributed.UnseenEviction`` or ``ScoreEviction``: which rows of a hashed table are
    ///         evicted; ``None``: none. Fluid does not have it.
    ///
    /// Returns:
    ///     Variable: ``[*input.shape, width]`` with the LoD of ``input``.
    ///
    /// Raises:
    ///     TypeError: the ids are no integers.
    ///     IndexError: an id is outside of the table (when the program runs).
    ///     ValueError: ``size`` does not have two elements.
    ///
    /// Example:
    ///     >>> ids = fluid.data("ids", [None, 20], "int64")
    ///     >>> fluid.embedding(ids, size=[1000, 8], padding_idx=0).shape
    ///     (-1, 20, 8)
    "fluid.embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, \
     dtype='float32', *, entry=None, evict=None)"
        => |net, a| net.embedding_v2(&a.var("input")?, embedding(a)?);

    /// Makes a vector per id with 1 at the position of the id and 0 elsewhere.
    ///
    /// The last dimension of the ids has size 1 and becomes ``depth``; ``fluid.one_hot`` takes ids without that
    /// dimension. No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): int64 or int32, ``[..., 1]``: ids from 0 to ``depth - 1``.
    ///     depth (int): the length of the vectors.
    ///     allow_out_of_range (bool): another id gives zeros instead of an error.
    ///
    /// Returns:
    ///     Variable: float32, ``[..., depth]``.
    ///
    /// Raises:
    ///     IndexError: an id is not in ``[0, depth)``, without ``allow_out_of_range`` (when the program runs).
    ///
    /// Example:
    ///     >>> ids = fluid.layers.assign(np.array([[1], [0]], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.one_hot(ids, depth=3)])[0].tolist()
    ///     [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    "nn.one_hot(input, depth, allow_out_of_range=False)"
        => |net, a| net.one_hot(&a.var("input")?, a.i32("depth")?, a.bool("allow_out_of_range")?);

    /// Makes a vector per id with 1 at the position of the id and 0 elsewhere, along a new last dimension.
    ///
    /// No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): int64 or int32, any shape: ids from 0 to ``depth - 1``.
    ///     depth (int): the length of the vectors.
    ///     allow_out_of_range (bool): another id gives zeros instead of an error.
    ///
    /// Returns:
    ///     Variable: float32, ``[*input.shape, depth]``.
    ///
    /// Raises:
    ///     IndexError: an id is not in ``[0, depth)``, without ``allow_out_of_range`` (when the program runs).
    ///
    /// Example:
    ///     >>> ids = fluid.layers.assign(np.array([1, 0], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.one_hot(ids, depth=3)])[0].tolist()
    ///     [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    "fluid.one_hot(input, depth, allow_out_of_range=False)"
        => |net, a| net.one_hot_v2(&a.var("input")?, a.i32("depth")?, a.bool("allow_out_of_range")?);

    /// Adds up the duplicate rows of SelectedRows, so that every row number occurs once.
    ///
    /// SelectedRows are the gradients of sparse embeddings: row numbers and a value for each of them.
    ///
    /// Args:
    ///     x (Variable): SelectedRows.
    ///
    /// Returns:
    ///     Variable: SelectedRows with distinct row numbers.
    ///
    /// Example:
    ///     >>> ids = fluid.layers.assign(np.array([[1], [3], [1]], "int64"))
    ///     >>> rows = fluid.layers.embedding(ids, [5, 2], is_sparse=True, param_attr="table")
    ///     >>> grads = fluid.backward.append_backward(fluid.layers.reduce_sum(rows))
    ///     >>> merged = fluid.layers.merge_selected_rows(grads[0][1])
    ///     >>> values = fluid.layers.get_tensor_from_selected_rows(merged)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(fetch_list=[values])[0].tolist()
    ///     [[2.0, 2.0], [1.0, 1.0]]
    "nn.merge_selected_rows(x, name=None)" => |net, a| net.merge_selected_rows(&a.var("x")?);

    /// Takes the values of SelectedRows as a dense tensor, one row per row number.
    ///
    /// The row numbers get lost; duplicates are not added up (``merge_selected_rows`` does that).
    ///
    /// Args:
    ///     x (Variable): SelectedRows, such as the gradient of a sparse embedding.
    ///
    /// Returns:
    ///     Variable: ``[row numbers, width]``.
    ///
    /// Example:
    ///     >>> ids = fluid.layers.assign(np.array([[1], [3], [1]], "int64"))
    ///     >>> rows = fluid.layers.embedding(ids, [5, 2], is_sparse=True, param_attr="table")
    ///     >>> grads = fluid.backward.append_backward(fluid.layers.reduce_sum(rows))
    ///     >>> values = fluid.layers.get_tensor_from_selected_rows(grads[0][1])
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(fetch_list=[values])[0].tolist()
    ///     [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    "nn.get_tensor_from_selected_rows(x, name=None)" => |net, a| net.get_tensor_from_selected_rows(&a.var("x")?);
}

fn embedding(a: &Args) -> Result<Embedding> {
    let size = a.sizes("size")?;
    let [rows, width] = size[..] else {
        return Err(Error::new(Kind::Argument, format!("`embedding` takes [rows, width] as `size`, not {size:?}")));
    };
    Ok(Embedding::size(rows, width)
        .is_sparse(a.bool("is_sparse")?)
        .is_distributed(a.bool("is_distributed")?)
        .padding_idx(a.opt("padding_idx", Args::i64)?)
        .entry(Entry::parse(&a.rule("entry")?)?)
        .evict(Retention::parse(&a.rule("evict")?).map_err(|e| Error::new(Kind::Argument, e))?)
        .param_attr(a.param("param_attr")?)
        .dtype(a.dtype("dtype")?))
}
