//! How a layer's parameters are made: `fluid.ParamAttr`.

use oarlock_ir::{Clip, Decay};

use crate::Initializer;

/// How to make a parameter.
///
/// `ParamAttr(name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True, do_model_average=True)`
#[derive(Debug, Clone)]
pub struct ParamAttr {
    /// Its name, used as it is; layers that name the same parameter share it. `None` makes a unique name.
    pub name: Option<String>,
    /// Its first value; `None` for the layer's own choice.
    pub initializer: Option<Initializer>,
    /// The optimizer's learning rate is multiplied by this.
    pub learning_rate: f32,
    /// Weight decay of this parameter, instead of the optimizer's.
    pub regularizer: Option<Decay>,
    /// May an optimizer change it?
    pub trainable: bool,
    /// Does it take part in `ModelAverage`?
    pub do_model_average: bool,
    /// A limit on its gradient, unless the optimizer has one (set by `set_gradient_clip` as well).
    pub gradient_clip: Option<Clip>,
    /// Make it of a direction and a length.
    pub weight_norm: Option<WeightNorm>,
}

/// How a weight is made of a direction `<name>_v` and a length `<name>_g`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightNorm {
    /// The dimension whose slices each have a length; `None` for one length of the whole.
    pub dim: Option<usize>,
}

impl ParamAttr {
    /// As the layer likes it.
    pub fn new() -> ParamAttr {
        ParamAttr {
            name: None,
            initializer: None,
            learning_rate: 1.0,
            regularizer: None,
            trainable: true,
            do_model_average: true,
            gradient_clip: None,
            weight_norm: None,
        }
    }

    /// `WeightNormParamAttr(dim=None, name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True,
    /// do_model_average=False)`: a weight that is trained as a direction and a length, one for each slice along `dim`.
    pub fn weight_norm(dim: Option<usize>) -> ParamAttr {
        ParamAttr { weight_norm: Some(WeightNorm { dim }), do_model_average: false, ..ParamAttr::new() }
    }

    /// With this name.
    pub fn name(name: impl Into<String>) -> ParamAttr {
        ParamAttr { name: Some(name.into()), ..ParamAttr::new() }
    }

    /// With this name, where another constructor was used.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> ParamAttr {
        self.name = Some(name.into());
        self
    }

    /// With this first value.
    #[must_use]
    pub fn initializer(mut self, initializer: Initializer) -> ParamAttr {
        self.initializer = Some(initializer);
        self
    }

    /// With its own factor on the learning rate.
    #[must_use]
    pub fn learning_rate(mut self, factor: f32) -> ParamAttr {
        self.learning_rate = factor;
        self
    }

    /// With its own weight decay.
    #[must_use]
    pub fn regularizer(mut self, decay: Decay) -> ParamAttr {
        self.regularizer = Some(decay);
        self
    }

    /// May an optimizer change it?
    #[must_use]
    pub fn trainable(mut self, trainable: bool) -> ParamAttr {
        self.trainable = trainable;
        self
    }

    /// Does it take part in `ModelAverage`?
    #[must_use]
    pub fn do_model_average(mut self, average: bool) -> ParamAttr {
        self.do_model_average = average;
        self
    }

    /// With its own limit on the gradient.
    #[must_use]
    pub fn gradient_clip(mut self, clip: Clip) -> ParamAttr {
        self.gradient_clip = Some(clip);
        self
    }
}

impl Default for ParamAttr {
    fn default() -> ParamAttr {
        ParamAttr::new()
    }
}

/// A parameter of a layer, or none: what Fluid's `param_attr` and `bias_attr` arguments take.
#[derive(Debug, Clone)]
pub enum Param {
    /// Make it.
    Make(Box<ParamAttr>),
    /// Do without it (`bias_attr=False`).
    Without,
}

impl Param {
    /// The parameter to make, if any.
    pub fn attr(&self) -> Option<&ParamAttr> {
        match self {
            Param::Make(attr) => Some(attr),
            Param::Without => None,
        }
    }
}

impl Default for Param {
    fn default() -> Param {
        ParamAttr::new().into()
    }
}

impl From<ParamAttr> for Param {
    fn from(attr: ParamAttr) -> Param {
        Param::Make(Box::new(attr))
    }
}

impl From<Initializer> for Param {
    fn from(initializer: Initializer) -> Param {
        ParamAttr::new().initializer(initializer).into()
    }
}

impl From<Decay> for Param {
    fn from(decay: Decay) -> Param {
        ParamAttr::new().regularizer(decay).into()
    }
}

impl From<&str> for Param {
    /// A parameter of this name.
    fn from(name: &str) -> Param {
        ParamAttr::name(name).into()
    }
}

impl From<bool> for Param {
    /// `false`: without it.
    fn from(wanted: bool) -> Param {
        if wanted { Param::default() } else { Param::Without }
    }
}
