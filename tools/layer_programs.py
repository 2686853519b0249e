"""Prints the programs that layers of PaddlePaddle 1.8 build, in the form of `crates/oarlock/tests/layers/fluid.txt`.

Usage: python layer_programs.py > programs.txt

It needs a Python in which `import paddle.fluid` works. `DATA` names the inputs as `crates/oarlock/tests/layers/mod.rs` does; a call
uses those whose names occur in it. Attributes that every operator has, or that only choose a library, are left out.
"""

import re

import numpy as np
import paddle.fluid as fluid

# Name: shape, element type, levels of LoD. All have a batch dimension before the shape.
DATA = {
    "map1": ([8, 4, 4], "float32", 0), "map2": ([8, 2, 2], "float32", 0), "map3": ([8, 1, 1], "float32", 0),
    "pic": ([3, 64, 64], "float32", 0), "boxes": ([4], "float32", 1), "priors": ([4], "float32", 0), "pvar": ([4], "float32", 0),
    "codes": ([20, 4], "float32", 0), "confs": ([20, 3], "float32", 0), "info": ([3], "float32", 0), "cls32": ([1], "int32", 1),
    "crowd": ([1], "int32", 1), "overlap": ([20], "float32", 1), "matches": ([20], "int32", 0), "negs": ([1], "int32", 1),
    "rows3": ([1, 4], "float32", 1), "allcodes": ([8], "float32", 0), "scores2": ([2], "float32", 0), "score3": ([3, 20], "float32", 0),
    "score1": ([1, 20], "float32", 0), "rpnscore": ([3, 4, 4], "float32", 0), "rpnmove": ([12, 4, 4], "float32", 0),
    "quads": ([8], "float32", 1), "segms": ([2], "float32", 3), "ymap": ([21, 4, 4], "float32", 0), "ybox": ([5, 4], "float32", 0),
    "ylabel": ([5], "int32", 0), "yscore": ([5], "float32", 0), "size2": ([2], "int32", 0), "dloff": ([18, 2, 2], "float32", 0),
    "dlmask": ([9, 2, 2], "float32", 0), "moves": ([2, 2, 2], "float32", 0), "logits": ([20, 1], "float32", 0),
    "lab32": ([1], "int32", 0), "fscore": ([1], "float32", 1),
}

CALLS = [
    "prior_box(map1,pic,[16.0],max_sizes=[32.0],aspect_ratios=[2.0],flip=True,clip=True,steps=[8.0,8.0])",
    "density_prior_box(map1,pic,[2,1],[16.0,32.0],[1.0,2.0],flatten_to_2d=True)",
    "anchor_generator(map1,[32.0,64.0],[0.5,1.0],stride=[16.0,16.0])",
    "iou_similarity(boxes,priors,box_normalized=False)",
    "box_coder(priors,pvar,boxes)",
    "box_coder(priors,[0.1,0.1,0.2,0.2],codes,'decode_center_size',box_normalized=False)",
    "box_clip(boxes,info)",
    "polygon_box_transform(map1)",
    "bipartite_match(overlap,'per_prediction',0.6)",
    "bipartite_match(overlap)",
    "target_assign(rows3,matches,negs,mismatch_value=2)",
    "multi_box_head([map1,map2],pic,64,3,[[2.0],[2.0,3.0]],min_sizes=[16.0,32.0],max_sizes=[[32.0],[48.0]],kernel_size=3,pad=1)",
    "multi_box_head([map1,map2,map3],pic,64,3,[2.0,[2.0],[2.0]],min_ratio=20,max_ratio=90,steps=[16.0,32.0,64.0])",
    "multi_box_head([map1],pic,64,3,[[2.0]],min_sizes=[16.0],max_sizes=[32.0])",
    "ssd_loss(codes,confs,boxes,cls32,priors,pvar)",
    "ssd_loss(codes,confs,boxes,cls32,priors,[0.1,0.1,0.2,0.2],loc_loss_weight=2.0,normalize=False,match_type='bipartite',sample_size=5)",
    "detection_output(codes,confs,priors,pvar,nms_top_k=10)",
    "detection_output(codes,confs,priors,pvar,return_index=True)",
    "multiclass_nms(codes,score3,0.1,10,5,background_label=-1)",
    "fluid.contrib.layers.multiclass_nms2(codes,score3,0.1,10,5,return_index=True)",
    "locality_aware_nms(codes,score1,0.1,10,5)",
    "matrix_nms(codes,score3,0.1,0.05,10,5,use_gaussian=True,return_index=True)",
    "yolo_box(ymap,size2,[10,13,16,30,33,23],2,0.01,32)",
    "yolov3_loss(ymap,ybox,ylabel,[10,13,16,30,33,23],[0,1,2],2,0.7,32,gt_score=yscore,use_label_smooth=False)",
    "sigmoid_focal_loss(scores2,lab32,fgnum,gamma=1.5)",
    "rpn_target_assign(codes,logits,priors,pvar,boxes,crowd,info,use_random=False)",
    "retinanet_target_assign(codes,confs,priors,pvar,boxes,cls32,crowd,info,num_classes=3)",
    "retinanet_detection_output([codes],[confs],[priors],info,keep_top_k=7)",
    "generate_proposals(rpnscore,rpnmove,info,rpnanchor,rpnvar,post_nms_top_n=50,return_rois_num=True)",
    "generate_proposal_labels(boxes,cls32,crowd,boxes,info,class_nums=3,use_random=False)",
    "generate_mask_labels(info,cls32,crowd,segms,boxes,cls32,3,14)",
    "collect_fpn_proposals([boxes,boxes],[fscore,fscore],2,3,100)",
    "distribute_fpn_proposals(boxes,2,4,3,224)",
    "roi_pool(map1,boxes,2,3,0.5)",
    "roi_align(map1,boxes,2,3,0.5,2)",
    "psroi_pool(map1,boxes,2,0.5,2,2)",
    "prroi_pool(map1,boxes,0.5,2,2)",
    "roi_perspective_transform(map1,quads,4,6,0.5)",
    "deformable_conv(map1,dloff,dlmask,4,3,deformable_groups=1,im2col_step=1)",
    "deformable_conv(map1,dloff,None,4,3,groups=2,modulated=False,bias_attr=False)",
    "deformable_roi_pooling(map1,boxes,moves,pooled_height=2,pooled_width=2,trans_std=0.2)",
    "box_decoder_and_assign(priors,fixed4,allcodes,scores2,4.135)",
]

# Inputs without a batch dimension.
FIXED = {"rpnanchor": ([4, 4, 3, 4], "float32"), "rpnvar": ([4, 4, 3, 4], "float32"), "fixed4": ([4], "float32"), "fgnum": ([1], "int32")}

SHORT = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "bool": "bool"}
UNREAD = {
    "op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "use_cudnn", "use_mkldnn", "use_quantizer", "mkldnn_data_type",
    "workspace_size_MB", "exhaustive_search", "is_test", "fuse_relu", "fuse_relu_before_depthwise_conv", "fuse_residual_connection",
    "fuse_activation", "fuse_alpha", "fuse_beta", "use_addto", "Scale_in", "Scale_out", "Scale_in_eltwise", "Scale_weights",
    "Scale_x", "Scale_y", "force_fp32_output", "data_layout", "with_quant_attr", "x_data_format", "y_data_format",
}


def number(value):
    return np.format_float_positional(np.float32(value), unique=True, trim="0")


def literal(kind, value):
    listed = lambda word, show: word + " []" if not value else "[%s]" % ", ".join(map(show, value))
    quoted = lambda text: '"%s"' % text
    boolean = lambda flag: "true" if flag else "false"
    return {
        "INT": lambda: str(value), "FLOAT": lambda: number(value), "STRING": lambda: quoted(value), "BOOL": lambda: boolean(value),
        "INTS": lambda: listed("ints", str), "FLOATS": lambda: listed("floats", number), "STRINGS": lambda: listed("strings", quoted),
        "BOOLS": lambda: listed("bools", boolean), "LONG": lambda: "%dL" % value, "LONGS": lambda: listed("longs", lambda v: "%dL" % v),
    }[kind]()


def slots(op, names, arguments):
    found = [(name, arguments(name)) for name in names]
    return [(name, args) for name, args in found if args]


def shown(pairs):
    return ", ".join("%s: %s" % (name, args[0] if len(args) == 1 else "[%s]" % ", ".join(args)) for name, args in pairs)


def op_text(op):
    outputs = slots(op, op.output_names, op.output)
    left = outputs[0][1][0] if len(outputs) == 1 and outputs[0][0] == "Out" and len(outputs[0][1]) == 1 else shown(outputs)
    attrs = []
    for name in sorted(op.attr_names):
        kind = str(op.attr_type(name)).rpartition(".")[2]
        if name not in UNREAD:
            attrs.append("%s: %s" % (name, literal(kind, op.attr(name))))
    tail = " {%s}" % ", ".join(attrs) if attrs else ""
    return "  %s = %s(%s)%s" % (left, op.type, shown(slots(op, op.input_names, op.input)), tail)


def program_text(program):
    lines = ["program 1008005", "block 0 {"]
    block = program.global_block()
    for name in sorted(block.vars):
        var = block.vars[name]
        dtype = fluid.data_feeder.convert_dtype(var.dtype)
        dims = ", ".join("?" if size < 0 else str(size) for size in var.shape)
        lod = " lod %d" % var.lod_level if var.lod_level else ""
        lines.append("  var %s: %s[%s]%s%s" % (name, SHORT[dtype], dims, lod, " persistable" if var.persistable else ""))
    return "\n".join(lines + [op_text(op) for op in block.ops] + ["}"])


def flat(made):
    return [var for each in made for var in flat(each)] if isinstance(made, (list, tuple)) else [made]


def main():
    for call in CALLS:
        main_program, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main_program, startup), fluid.unique_name.guard():
            known = {"fluid": fluid, "None": None}
            for word in dict.fromkeys(re.findall(r"\w+", call)):
                if word in DATA:
                    shape, dtype, lod = DATA[word]
                    known[word] = fluid.layers.data(word, shape, dtype=dtype, lod_level=lod)
                elif word in FIXED:
                    known[word] = fluid.layers.data(word, FIXED[word][0], dtype=FIXED[word][1], append_batch_size=False)
                elif hasattr(fluid.layers, word):
                    known[word] = getattr(fluid.layers, word)
            made = flat(eval(call, known))
        print("=== %s\nreturns %s\n%s\n--- startup\n%s" % (
            call, " ".join(var.name for var in made), program_text(main_program), program_text(startup)))


if __name__ == "__main__":
    main()
