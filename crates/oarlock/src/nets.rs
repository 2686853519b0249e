//! Small networks made of layers: `fluid.nets`.

use oarlock_ir::{Kind, Result, fail};

use crate::layers::{Conv, Dropout, Elementwise, Fc, MatMul, Pool, Reshape, Scale, SequenceConv};
use crate::{Act, Net, Param, VarRef};

impl Net {
    /// `simple_img_conv_pool(input, num_filters, filter_size, pool_size, pool_stride, ...)`: a convolution, then pooling.
    #[track_caller]
    pub fn simple_img_conv_pool(&mut self, input: &VarRef, conv: Conv, pool: Pool) -> Result<VarRef> {
        let features = self.conv2d(input, conv)?;
        self.pool2d(&features, pool)
    }

    /// `img_conv_group(input, conv_num_filter, pool_size, ...)`: convolutions, each followed by what `after` builds (batch
    /// normalisation and dropout, usually), then pooling.
    #[track_caller]
    pub fn img_conv_group(
        &mut self,
        input: &VarRef,
        convs: Vec<Conv>,
        mut after: impl FnMut(&mut Net, &VarRef) -> Result<VarRef>,
        pool: Pool,
    ) -> Result<VarRef> {
        let mut x = input.clone();
        for conv in convs {
            let features = self.conv2d(&x, conv)?;
            x = after(self, &features)?;
        }
        self.pool2d(&x, pool)
    }

    /// `sequence_conv_pool(input, num_filters, filter_size, param_attr=None, act='sigmoid', pool_type='max', bias_attr=None)`
    #[track_caller]
    pub fn sequence_conv_pool(
        &mut self,
        input: &VarRef,
        num_filters: usize,
        filter_size: usize,
        pool_type: &str,
    ) -> Result<VarRef> {
        let conv = SequenceConv::filters(num_filters).filter_size(filter_size).act("sigmoid");
        let features = self.sequence_conv(input, conv)?;
        self.sequence_pool(&features, pool_type, false, 0.0)
    }

    /// `glu(input, dim=-1)`: one half of a dimension, gated by the other.
    #[track_caller]
    pub fn glu(&mut self, input: &VarRef, dim: i32) -> Result<VarRef> {
        let halves = self.split(input, 2, dim)?;
        let gate = self.sigmoid(&halves[1])?;
        self.elementwise_mul(&halves[0], &gate, Elementwise::new())
    }

    /// `scaled_dot_product_attention(queries, keys, values, num_heads=1, dropout_rate=0.0)`: of tensors `[batch, length, width]`;
    /// each value weighted by how well its key fits the query.
    #[track_caller]
    pub fn scaled_dot_product_attention(
        &mut self,
        queries: &VarRef,
        keys: &VarRef,
        values: &VarRef,
        num_heads: usize,
        dropout_rate: f32,
    ) -> Result<VarRef> {
        let width = self.width(keys)?;
        if num_heads == 0 || !width.is_multiple_of(num_heads) {
            fail!(Kind::Argument, "`{keys}` of width {width} cannot be split into {num_heads} heads");
        }
        let [q, k, v] = [queries, keys, values];
        let projected = if num_heads == 1 {
            [q.clone(), k.clone(), v.clone()]
        } else {
            [self.project(q)?, self.project(k)?, self.project(v)?]
        };
        let [q, k, v] = [
            self.split_heads(&projected[0], num_heads)?,
            self.split_heads(&projected[1], num_heads)?,
            self.split_heads(&projected[2], num_heads)?,
        ];
        let scaled = self.scale(&q, Scale::by((width as f64 / num_heads as f64).powf(-0.5)))?;
        let fit = self.matmul(&scaled, &k, MatMul::new().transpose_y(true))?;
        let shape = self.shape(&fit)?.to_i64();
        let rows = self.reshape(&fit, Reshape::shape([-1, shape[shape.len() - 1]]).act("softmax"))?;
        let mut weights = self.reshape(&rows, Reshape::shape(shape))?;
        if dropout_rate != 0.0 {
            weights = self.dropout(&weights, Dropout::prob(dropout_rate))?;
        }
        let context = self.matmul(&weights, &v, MatMul::new())?;
        self.join_heads(&context, num_heads)
    }

    fn width(&self, x: &VarRef) -> Result<usize> {
        let shape = self.shape(x)?;
        match shape.last().and_then(|d| d.known()) {
            Some(width) if shape.rank() == 3 => Ok(width),
            _ => {
                fail!(Kind::Shape, "attention needs [batch, length, width] of known width, but `{x}` has shape {shape}")
            }
        }
    }

    #[track_caller]
    fn project(&mut self, x: &VarRef) -> Result<VarRef> {
        let width = self.width(x)?;
        self.fc(x, Fc::size(width).num_flatten_dims(2).param_attr(Param::default()).act(Act::none()))
    }

    #[track_caller]
    fn split_heads(&mut self, x: &VarRef, heads: usize) -> Result<VarRef> {
        if heads == 1 {
            return Ok(x.clone());
        }
        let shape = self.shape(x)?.to_i64();
        let sizes = vec![shape[0], shape[1], heads as i64, shape[2] / heads as i64];
        let heads = self.reshape(x, Reshape::shape(sizes))?;
        self.transpose(&heads, &[0, 2, 1, 3])
    }

    #[track_caller]
    fn join_heads(&mut self, x: &VarRef, heads: usize) -> Result<VarRef> {
        if heads == 1 {
            return Ok(x.clone());
        }
        let back = self.transpose(x, &[0, 2, 1, 3])?;
        let shape = self.shape(&back)?.to_i64();
        self.reshape(&back, Reshape::shape([shape[0], shape[1], shape[2] * shape[3]]))
    }
}
