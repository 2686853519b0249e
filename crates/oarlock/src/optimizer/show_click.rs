//! Tables whose rows count how often they were shown and clicked: the counts of a batch travel behind the gradient of each row.
//!
//! They come after clipping, which must not see them, and right before the update.

use oarlock_ir::{Attr, Decay, Error, Kind, Name, Op, Result, Role, Var, VarKind, VarType};
use oarlock_tensor::DType;
use oarlock_tensor::table::show_click;

use super::ParamGrad;
use crate::Net;

/// The counts that the lookups of a table give.
struct Counted {
    ids: Vec<Name>,
    show: Name,
    click: Name,
}

impl Net {
    /// Gradients of tables with `ShowClickEntry`, with shows and clicks; all others as they are. `decay` is that of all parameters.
    pub(super) fn append_shows(&mut self, pairs: Vec<ParamGrad>, decay: Option<Decay>) -> Result<Vec<ParamGrad>> {
        pairs.into_iter().map(|pair| self.with_shows(pair, decay)).collect()
    }

    fn with_shows(&mut self, pair: ParamGrad, decay: Option<Decay>) -> Result<ParamGrad> {
        let Some(counted) = self.counted(pair.param.name())? else { return Ok(pair) };
        if decay.or(self.var(&pair.param)?.meta.regularizer).is_some() {
            let what = format!("table `{}` has ShowClickEntry and weight decay, which do not go together", pair.param);
            return Err(Error::new(Kind::Unsupported, what).help("use one of them, or `evict` without ShowClickEntry"));
        }
        let rows = VarType::tensor(DType::F32, vec![]).with_kind(VarKind::SelectedRows);
        let [shows, wide] = ["SHOWS", "WITH_SHOWS"].map(|what| Name::from(format!("{}@{what}", pair.grad)));
        let shows = self.declare(Var::new(shows, rows.clone()));
        let wide = self.declare(Var::new(wide, rows));
        let count = Op::new("show_click")
            .input("Ids", &counted.ids)
            .input("Show", [&counted.show])
            .input("Click", [&counted.click])
            .output("Out", [&shows]);
        // Like a gradient, so that those of replicas are added up.
        let names = vec![pair.param.name().to_string(), shows.name().to_string()];
        self.with_role(Role::BACKWARD, names, |net| net.append_op(count))?;
        let join = Op::new("with_shows").input("X", [&pair.grad]).input("Shows", [&shows]).output("Out", [&wide]);
        self.with_role(Role::OPTIMIZE, pair.names(), |net| net.append_op(join))?;
        Ok(ParamGrad { param: pair.param, grad: wide })
    }

    /// The variables that hold shows and clicks, if lookups of this table name them.
    fn counted(&self, table: &Name) -> Result<Option<Counted>> {
        let mut found: Option<Counted> = None;
        let ops = self.main.blocks().iter().flat_map(|block| &block.ops);
        for op in ops.filter(|op| op.inputs.get("W").contains(table)) {
            let Some(Attr::String(entry)) = op.attrs.get("entry") else { continue };
            let Some((show, click)) = show_click(entry) else { continue };
            let counted = found.get_or_insert_with(|| Counted { ids: vec![], show: show.into(), click: click.into() });
            if (counted.show.as_str(), counted.click.as_str()) != (show, click) {
                let what = format!("lookups of table `{table}` name different variables in their ShowClickEntry");
                return Err(Error::new(Kind::Argument, what).help("give every lookup of one table the same `entry`"));
            }
            counted.ids.extend(op.inputs.get("Ids").iter().cloned());
        }
        if let Some(Counted { show, click, .. }) = &found
            && let Some(missing) = [show, click].into_iter().find(|name| self.main.global().var(name).is_none())
        {
            let what =
                format!("table `{table}` has ShowClickEntry(\"{show}\", \"{click}\"), but there is no `{missing}`");
            return Err(Error::new(Kind::Missing, what)
                .help("name variables of the program, such as data of one number per sample"));
        }
        Ok(found)
    }
}
