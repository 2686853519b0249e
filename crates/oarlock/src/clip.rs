//! Limits on gradients.

use std::collections::HashMap;

use oarlock_ir::{Attr, Clip, Error, Kind, Name, Op, Program, Result, Role, VarKind, fail};
use oarlock_tensor::DType;

use crate::layers::{Elementwise, Reduce};
use crate::optimizer::ParamGrad;
use crate::{Net, VarRef};

/// Decides whether an optimizer's limit holds for a parameter.
pub(crate) type NeedClip = dyn Fn(&str) -> bool + Send + Sync;

impl Net {
    /// `set_gradient_clip(clip, param_list=None)`: limits the gradients of parameters, all there are now where `None`. An
    /// optimizer's own limit replaces it.
    pub fn set_gradient_clip(&mut self, clip: &Clip, params: Option<&[&VarRef]>) -> Result<()> {
        let names: Vec<Name> = match params {
            Some(params) => params.iter().map(|p| p.name().clone()).collect(),
            None => self.main.parameters().map(|p| p.name.clone()).collect(),
        };
        for name in names {
            self.var_mut(&VarRef::new(name, 0))?.meta.grad_clip = Some(clip.clone());
        }
        Ok(())
    }

    /// `var.error_clip = ErrorClipByValue(max, min)`: limits the gradient of a variable on its way back.
    pub fn set_error_clip(&mut self, var: &VarRef, min: f32, max: f32) {
        self.error_clips.insert(var.name().clone(), (min, max));
    }

    /// Limits gradients as an optimizer wants.
    pub(crate) fn clip_gradients(
        &mut self,
        pairs: Vec<ParamGrad>,
        clip: &Clip,
        need_clip: Option<&NeedClip>,
    ) -> Result<Vec<ParamGrad>> {
        let needs = |pair: &ParamGrad| need_clip.is_none_or(|need| need(pair.param.name()));
        let clipped: Result<Vec<ParamGrad>> = self.name_scope("gradient_clip", |net| {
            let scale = match clip {
                Clip::GlobalNorm { norm, .. } => {
                    let limited: Vec<&ParamGrad> = pairs.iter().filter(|p| needs(p)).collect();
                    net.global_scale(&limited, *norm)?
                }
                _ => None,
            };
            pairs.iter().map(|p| if needs(p) { net.limited(p, clip, scale.as_ref()) } else { Ok(p.clone()) }).collect()
        });
        let clipped = clipped?;
        self.correct_roles(&clipped);
        Ok(clipped)
    }

    /// Limits gradients as their parameters want; a parameter without a limit keeps its gradient.
    pub(crate) fn clip_gradients_of_params(&mut self, pairs: Vec<ParamGrad>) -> Result<Vec<ParamGrad>> {
        let clips: Vec<Option<Clip>> =
            pairs.iter().map(|p| Ok(self.var(&p.param)?.meta.grad_clip.clone())).collect::<Result<_>>()?;
        if clips.iter().all(Option::is_none) {
            return Ok(pairs);
        }
        let mut groups = HashMap::new();
        for (pair, clip) in pairs.iter().zip(&clips) {
            if let Some(Clip::GlobalNorm { norm, group }) = clip {
                self.clipping("gradient_clip_@CLIP", pair, |net| net.add_to_group(&mut groups, pair, *norm, group))?;
            }
        }
        let mut clipped = Vec::new();
        for (pair, clip) in pairs.iter().zip(&clips) {
            // The misspelt scope is what programs of 1.8 carry; parameter servers look for the part after `_`.
            clipped.push(match clip {
                Some(clip) => self.clipping("graident_clip_@CLIP", pair, |net| {
                    let scale = match clip {
                        Clip::GlobalNorm { group, .. } => Some(net.group_scale(&mut groups, group)?),
                        _ => None,
                    };
                    net.limit(pair, clip, scale.as_ref())
                })?,
                None => pair.clone(),
            });
        }
        self.correct_roles(&clipped);
        Ok(clipped)
    }

    fn clipping<T>(&mut self, scope: &str, pair: &ParamGrad, build: impl FnOnce(&mut Net) -> Result<T>) -> Result<T> {
        self.with_role(Role::OPTIMIZE, pair.names(), |net| net.name_scope(scope, build))
    }

    /// One gradient within its limit.
    fn limited(&mut self, pair: &ParamGrad, clip: &Clip, scale: Option<&VarRef>) -> Result<ParamGrad> {
        self.with_role(Role::OPTIMIZE, pair.names(), |net| net.limit(pair, clip, scale))
    }

    fn limit(&mut self, pair: &ParamGrad, clip: &Clip, scale: Option<&VarRef>) -> Result<ParamGrad> {
        let grad = match (clip, scale) {
            (Clip::Value { min, max }, _) => self.clip(&pair.grad, *min, *max)?,
            (Clip::Norm(norm), _) => self.clip_by_norm(&pair.grad, *norm)?,
            (Clip::GlobalNorm { .. }, Some(scale)) => self.elementwise_mul(&pair.grad, scale, Elementwise::new())?,
            (Clip::GlobalNorm { .. }, None) => return Ok(pair.clone()),
        };
        Ok(ParamGrad { param: pair.param.clone(), grad })
    }

    /// The sum of squares of a gradient; rows are merged first, as rows of one id count once.
    fn sum_of_squares(&mut self, grad: &VarRef) -> Result<VarRef> {
        let mut dense = grad.clone();
        if self.var(grad)?.kind == VarKind::SelectedRows {
            let merged = self.merge_selected_rows(grad)?;
            dense = self.get_tensor_from_selected_rows(&merged)?;
        }
        let square = self.square(&dense)?;
        self.reduce_sum(&square, Reduce::all())
    }

    /// `norm / max(norm, norm of all gradients)`
    fn global_scale(&mut self, pairs: &[&ParamGrad], norm: f32) -> Result<Option<VarRef>> {
        let mut squares = Vec::new();
        for pair in pairs {
            let square = self.with_role(Role::OPTIMIZE, pair.names(), |net| net.sum_of_squares(&pair.grad))?;
            squares.push(square);
        }
        let Some(last) = pairs.last() else { return Ok(None) };
        let scale = self.with_role(Role::OPTIMIZE, last.names(), |net| {
            let size = net.norm_of(&squares)?;
            let most = net.fill_constant([1], DType::F32, decimal(norm))?;
            net.scale_to(&most, &size)
        })?;
        Ok(Some(scale))
    }

    fn norm_of(&mut self, squares: &[VarRef]) -> Result<VarRef> {
        let sum = self.sum(&squares.iter().collect::<Vec<_>>())?;
        self.sqrt(&sum)
    }

    fn scale_to(&mut self, most: &VarRef, size: &VarRef) -> Result<VarRef> {
        let larger = self.elementwise_max(most, size, Elementwise::new())?;
        self.elementwise_div(most, &larger, Elementwise::new())
    }

    fn add_to_group(
        &mut self,
        groups: &mut HashMap<String, Group>,
        pair: &ParamGrad,
        norm: f32,
        name: &str,
    ) -> Result<()> {
        if !groups.contains_key(name) {
            let most = self.fill_constant([1], DType::F32, decimal(norm))?;
            groups.insert(name.into(), Group { norm, most, squares: Vec::new(), scale: None });
        }
        let square = self.sum_of_squares(&pair.grad)?;
        match groups.get_mut(name) {
            Some(group) if group.norm == norm => group.squares.push(square),
            Some(group) => {
                fail!(
                    Kind::Argument,
                    "gradients of group `{name}` are limited to {} and to {norm}; a group has one limit",
                    group.norm
                )
            }
            None => {}
        }
        Ok(())
    }

    fn group_scale(&mut self, groups: &mut HashMap<String, Group>, name: &str) -> Result<VarRef> {
        let group = groups.get_mut(name).ok_or_else(|| Error::internal(format!("there is no group `{name}`")))?;
        if let Some(scale) = &group.scale {
            return Ok(scale.clone());
        }
        let size = self.norm_of(&group.squares)?;
        let scale = self.scale_to(&group.most, &size)?;
        group.scale = Some(scale.clone());
        Ok(scale)
    }

    /// Says of operators that clip that they work on the limited gradient: parameter servers send that one.
    fn correct_roles(&mut self, clipped: &[ParamGrad]) {
        let grads: HashMap<&str, &VarRef> = clipped.iter().map(|p| (p.param.name().as_str(), &p.grad)).collect();
        let block = self.block();
        for op in &mut self.main.block_mut(block).ops {
            let clips = matches!(op.attrs.get("op_namescope"), Some(Attr::String(s)) if s.contains("gradient_clip"));
            let Some(Attr::Strings(role_var)) = op.attrs.get("op_role_var").filter(|_| clips) else { continue };
            let Some(param) = role_var.first().cloned() else { continue };
            if let Some(grad) = grads.get(param.as_str()) {
                op.attrs.set("op_role_var", vec![param, grad.name().to_string()]);
            }
        }
    }

    /// `merge_selected_rows(x)`: rows of one id added up.
    #[track_caller]
    pub fn merge_selected_rows(&mut self, x: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("merge_selected_rows"))
    }

    /// `get_tensor_from_selected_rows(x)`: the values of rows as a tensor.
    #[track_caller]
    pub fn get_tensor_from_selected_rows(&mut self, x: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("get_tensor_from_selected_rows"))
    }
}

/// Parameters whose gradients are limited together.
struct Group {
    norm: f32,
    most: VarRef,
    squares: Vec<VarRef>,
    scale: Option<VarRef>,
}

/// The number that the user wrote, not the one that f32 made of it: it appears as text in programs.
fn decimal(v: f32) -> f64 {
    v.to_string().parse().unwrap_or_else(|_| v.into())
}

/// Appends a limit after the operator that computed the gradient of a variable with an error clip.
pub(crate) fn clip_errors(
    clips: &HashMap<Name, (f32, f32)>,
    program: &mut Program,
    block: usize,
    variables: &HashMap<Name, Name>,
) -> Result<()> {
    let Some(last) = program.block(block).ops.last() else { return Ok(()) };
    let limit = |grad: &Name| Some((grad.clone(), *clips.get(variables.get(grad)?)?));
    let limits: Vec<(Name, (f32, f32))> = last.outputs.args().filter_map(limit).collect();
    for (grad, (min, max)) in limits {
        let op = Op::new("clip").input("X", [&grad]).output("Out", [&grad]).attr("min", min).attr("max", max);
        program.block_mut(block).ops.push(op.attr("op_role", Role::BACKWARD.0));
    }
    Ok(())
}
