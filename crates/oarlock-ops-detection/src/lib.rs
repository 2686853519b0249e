//! Operators of object detection: anchors, boxes, their matching and suppression, regions of interest, losses of detectors.
//!
//! A directory per family; an operator is one file with signature, inference, kernel, gradient, documentation and test.
//! Boxes are `[left, top, right, bottom]` unless an operator says otherwise.
#![forbid(unsafe_code)]

mod anchors;
mod boxes;
mod deformable;
mod geometry;
mod nms;
mod polygon;
mod proposals;
mod retinanet;
mod roi;
mod sizes;
mod ssd;
mod suppression;
mod yolo;

oarlock_ops_support::families!(anchors, boxes, deformable, nms, proposals, retinanet, roi, ssd, yolo);

#[cfg(test)]
oarlock_ops_testing::harness!();
