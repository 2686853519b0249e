//! Object detection. `tools/layer_programs.py` records what Fluid builds.

use oarlock::prelude::*;

use super::{Case, cases};

pub(super) fn cases() -> Vec<Case> {
    [anchors(), matching(), ssd(), others(), proposals(), regions()].into_iter().flatten().collect()
}

fn anchors() -> Vec<Case> {
    cases! {
        "prior_box(map1,pic,[16.0],max_sizes=[32.0],aspect_ratios=[2.0],flip=True,clip=True,steps=[8.0,8.0])" [map1 pic]
            |net| {
            let options = PriorBox::sizes([16.0]).max_sizes([32.0]).aspect_ratios([2.0]).flip(true).clip(true);
            net.prior_box(&map1, &pic, options.steps([8.0, 8.0]))
        };
        "density_prior_box(map1,pic,[2,1],[16.0,32.0],[1.0,2.0],flatten_to_2d=True)" [map1 pic] |net| {
            let options = DensityPriorBox::new([2, 1], [16.0, 32.0], [1.0, 2.0]).flatten_to_2d(true);
            net.density_prior_box(&map1, &pic, options)
        };
        "anchor_generator(map1,[32.0,64.0],[0.5,1.0],stride=[16.0,16.0])" [map1]
            |net| net.anchor_generator(&map1, AnchorGenerator::new([32.0, 64.0], [0.5, 1.0], [16.0, 16.0]));
    }
}

fn matching() -> Vec<Case> {
    cases! {
        "iou_similarity(boxes,priors,box_normalized=False)" [boxes priors] |net| net.iou_similarity(&boxes, &priors, false);
        "box_coder(priors,pvar,boxes)" [priors pvar boxes]
            |net| net.box_coder(&priors, &pvar, &boxes, BoxCoder::encode());
        "box_coder(priors,[0.1,0.1,0.2,0.2],codes,'decode_center_size',box_normalized=False)" [priors codes]
            |net| net.box_coder(&priors, [0.1, 0.1, 0.2, 0.2], &codes, BoxCoder::decode().box_normalized(false));
        "box_clip(boxes,info)" [boxes info] |net| net.box_clip(&boxes, &info);
        "polygon_box_transform(map1)" [map1] |net| net.polygon_box_transform(&map1);
        "bipartite_match(overlap,'per_prediction',0.6)" [overlap]
            |net| net.bipartite_match(&overlap, Some("per_prediction"), Some(0.6));
        "bipartite_match(overlap)" [overlap] |net| net.bipartite_match(&overlap, None, None);
        "target_assign(rows3,matches,negs,mismatch_value=2)" [rows3 matches negs]
            |net| net.target_assign(&rows3, &matches, Some(&negs), Some(2));
        "box_decoder_and_assign(priors,fixed4,allcodes,scores2,4.135)" [priors fixed4 allcodes scores2]
            |net| net.box_decoder_and_assign(&priors, &fixed4, &allcodes, &scores2, 4.135);
    }
}

fn ssd() -> Vec<Case> {
    cases! {
        "multi_box_head([map1,map2],pic,64,3,[[2.0],[2.0,3.0]],min_sizes=[16.0,32.0],max_sizes=[[32.0],[48.0]],kernel_size=3,pad=1)"
            [map1 map2 pic] |net| {
            let sizes = MultiBoxSizes::Given(vec![vec![16.0], vec![32.0]], vec![vec![32.0], vec![48.0]]);
            let options = MultiBoxHead::new(3, sizes, [vec![2.0], vec![2.0, 3.0]]).kernel_size(3).pad(1);
            net.multi_box_head(&[map1, map2], &pic, options)
        };
        "multi_box_head([map1,map2,map3],pic,64,3,[2.0,[2.0],[2.0]],min_ratio=20,max_ratio=90,steps=[16.0,32.0,64.0])"
            [map1 map2 map3 pic] |net| {
            let sizes = MultiBoxSizes::Ratios { base_size: 64.0, min_ratio: 20, max_ratio: 90 };
            let options = MultiBoxHead::new(3, sizes, vec![vec![2.0]; 3]);
            net.multi_box_head(&[map1, map2, map3], &pic, options.steps(vec![[16.0; 2], [32.0; 2], [64.0; 2]]))
        };
        "multi_box_head([map1],pic,64,3,[[2.0]],min_sizes=[16.0],max_sizes=[32.0])" [map1 pic] |net| {
            let sizes = MultiBoxSizes::Given(vec![vec![16.0]], vec![vec![32.0]]);
            net.multi_box_head(&[map1], &pic, MultiBoxHead::new(3, sizes, [vec![2.0]]))
        };
        "ssd_loss(codes,confs,boxes,cls32,priors,pvar)" [codes confs boxes cls32 priors pvar] |net| {
            let predictions = SsdPredictions { location: &codes, confidence: &confs };
            let priors = Priors { prior_box: &priors, variance: (&pvar).into() };
            net.ssd_loss(predictions, SsdTruth { gt_box: &boxes, gt_label: &cls32 }, priors, SsdLoss::new())
        };
        "ssd_loss(codes,confs,boxes,cls32,priors,[0.1,0.1,0.2,0.2],loc_loss_weight=2.0,normalize=False,match_type='bipartite',sample_size=5)"
            [codes confs boxes cls32 priors] |net| {
            let predictions = SsdPredictions { location: &codes, confidence: &confs };
            let priors = Priors { prior_box: &priors, variance: [0.1, 0.1, 0.2, 0.2].into() };
            let options = SsdLoss::new().loc_loss_weight(2.0).normalize(false).match_type("bipartite").sample_size(Some(5));
            net.ssd_loss(predictions, SsdTruth { gt_box: &boxes, gt_label: &cls32 }, priors, options)
        };
        "detection_output(codes,confs,priors,pvar,nms_top_k=10)" [codes confs priors pvar] |net| {
            let priors = Priors { prior_box: &priors, variance: (&pvar).into() };
            net.detection_output(&codes, &confs, priors, DetectionOutput::new().nms_top_k(10), false).map(|made| made.0)
        };
        "detection_output(codes,confs,priors,pvar,return_index=True)" [codes confs priors pvar] |net| {
            let priors = Priors { prior_box: &priors, variance: (&pvar).into() };
            let made = net.detection_output(&codes, &confs, priors, DetectionOutput::new(), true);
            made.map(|(out, index)| std::iter::once(out).chain(index).collect::<Vec<_>>())
        };
    }
}

fn others() -> Vec<Case> {
    cases! {
        "multiclass_nms(codes,score3,0.1,10,5,background_label=-1)" [codes score3]
            |net| net.multiclass_nms(&codes, &score3, Nms::new(0.1, 10, 5).background_label(-1));
        "fluid.contrib.layers.multiclass_nms2(codes,score3,0.1,10,5,return_index=True)" [codes score3]
            |net| net.multiclass_nms2(&codes, &score3, Nms::new(0.1, 10, 5));
        "locality_aware_nms(codes,score1,0.1,10,5)" [codes score1]
            |net| net.locality_aware_nms(&codes, &score1, Nms::new(0.1, 10, 5).background_label(-1));
        "matrix_nms(codes,score3,0.1,0.05,10,5,use_gaussian=True,return_index=True)" [codes score3]
            |net| net.matrix_nms(&codes, &score3, MatrixNms::new(0.1, 0.05, 10, 5).use_gaussian(true));
        "yolo_box(ymap,size2,[10,13,16,30,33,23],2,0.01,32)" [ymap size2]
            |net| net.yolo_box(&ymap, &size2, YoloBox::new([10, 13, 16, 30, 33, 23], 2, 0.01, 32));
        "yolov3_loss(ymap,ybox,ylabel,[10,13,16,30,33,23],[0,1,2],2,0.7,32,gt_score=yscore,use_label_smooth=False)"
            [ymap ybox ylabel yscore] |net| {
            let truth = YoloTruth { gt_box: &ybox, gt_label: &ylabel, gt_score: Some(&yscore) };
            let options = YoloLoss::new([10, 13, 16, 30, 33, 23], [0, 1, 2], 2, 0.7, 32).use_label_smooth(false);
            net.yolov3_loss(&ymap, truth, options)
        };
        "sigmoid_focal_loss(scores2,lab32,fgnum,gamma=1.5)" [scores2 lab32 fgnum]
            |net| net.sigmoid_focal_loss(&scores2, &lab32, &fgnum, 1.5, 0.25);
    }
}

fn proposals() -> Vec<Case> {
    cases! {
        "rpn_target_assign(codes,logits,priors,pvar,boxes,crowd,info,use_random=False)"
            [codes logits priors pvar boxes crowd info] |net| {
            let objects = ImageObjects { gt_boxes: &boxes, is_crowd: &crowd, im_info: &info };
            let predictions = AnchorPredictions { bbox_pred: &codes, cls_logits: &logits };
            // The layer does not read the variances.
            let _ = pvar;
            net.rpn_target_assign(predictions, &priors, objects, RpnTargets::new().use_random(false))
        };
        "retinanet_target_assign(codes,confs,priors,pvar,boxes,cls32,crowd,info,num_classes=3)"
            [codes confs priors pvar boxes cls32 crowd info] |net| {
            let objects = ImageObjects { gt_boxes: &boxes, is_crowd: &crowd, im_info: &info };
            let predictions = AnchorPredictions { bbox_pred: &codes, cls_logits: &confs };
            let _ = pvar;
            net.retinanet_target_assign(predictions, &priors, objects, &cls32, RetinanetTargets::new().num_classes(3))
        };
        "retinanet_detection_output([codes],[confs],[priors],info,keep_top_k=7)" [codes confs priors info]
            |net| net.retinanet_detection_output(&[codes], &[confs], &[priors], &info, RetinanetOutput::new().keep_top_k(7));
        "generate_proposals(rpnscore,rpnmove,info,rpnanchor,rpnvar,post_nms_top_n=50,return_rois_num=True)"
            [rpnscore rpnmove info rpnanchor rpnvar] |net| {
            let options = Proposals::new().post_nms_top_n(50);
            net.generate_proposals(&rpnscore, &rpnmove, &info, (&rpnanchor, &rpnvar), options)
        };
        "generate_proposal_labels(boxes,cls32,crowd,boxes,info,class_nums=3,use_random=False)" [boxes cls32 crowd info]
            |net| {
            let objects = ImageObjects { gt_boxes: &boxes, is_crowd: &crowd, im_info: &info };
            net.generate_proposal_labels(&boxes, &cls32, objects, ProposalLabels::classes(3).use_random(false))
        };
        "generate_mask_labels(info,cls32,crowd,segms,boxes,cls32,3,14)" [info cls32 crowd segms boxes] |net| {
            let objects = MaskObjects { im_info: &info, gt_classes: &cls32, is_crowd: &crowd, gt_segms: &segms };
            net.generate_mask_labels(objects, &boxes, &cls32, MaskLabels::new(3, 14))
        };
        "collect_fpn_proposals([boxes,boxes],[fscore,fscore],2,3,100)" [boxes fscore]
            |net| net.collect_fpn_proposals(&[boxes.clone(), boxes], &[fscore.clone(), fscore], 100);
        "distribute_fpn_proposals(boxes,2,4,3,224)" [boxes] |net| {
            let levels = FpnLevels { min_level: 2, max_level: 4, refer_level: 3, refer_scale: 224 };
            net.distribute_fpn_proposals(&boxes, levels).map(|(mut rois, order)| {
                rois.push(order);
                rois
            })
        };
    }
}

fn regions() -> Vec<Case> {
    cases! {
        "roi_pool(map1,boxes,2,3,0.5)" [map1 boxes]
            |net| net.roi_pool(&map1, &boxes, RoiPool::to(2, 3).spatial_scale(0.5), RegionImages::Lod);
        "roi_align(map1,boxes,2,3,0.5,2)" [map1 boxes]
            |net| net.roi_align(&map1, &boxes, RoiPool::to(2, 3).spatial_scale(0.5), 2, RegionImages::Lod);
        "psroi_pool(map1,boxes,2,0.5,2,2)" [map1 boxes]
            |net| net.psroi_pool(&map1, &boxes, 2, RoiPool::to(2, 2).spatial_scale(0.5));
        "prroi_pool(map1,boxes,0.5,2,2)" [map1 boxes]
            |net| net.prroi_pool(&map1, &boxes, RoiPool::to(2, 2).spatial_scale(0.5), RegionImages::Lod);
        "roi_perspective_transform(map1,quads,4,6,0.5)" [map1 quads]
            |net| net.roi_perspective_transform(&map1, &quads, RoiPool::to(4, 6).spatial_scale(0.5));
        "deformable_conv(map1,dloff,dlmask,4,3,deformable_groups=1,im2col_step=1)" [map1 dloff dlmask] |net| {
            let options = DeformableConv::new(4, 3).deformable_groups(Some(1)).im2col_step(Some(1));
            net.deformable_conv(&map1, &dloff, Some(&dlmask), options)
        };
        "deformable_conv(map1,dloff,None,4,3,groups=2,modulated=False,bias_attr=False)" [map1 dloff]
            |net| net.deformable_conv(&map1, &dloff, None, DeformableConv::new(4, 3).groups(Some(2)).bias_attr(false));
        "deformable_roi_pooling(map1,boxes,moves,pooled_height=2,pooled_width=2,trans_std=0.2)" [map1 boxes moves] |net| {
            let options = DeformableRoiPooling::new().pooled_height(2).pooled_width(2).trans_std(0.2);
            net.deformable_roi_pooling(&map1, &boxes, &moves, options)
        };
    }
}
