"""Writes a configuration of PaddleRec that trains a model with two servers and two workers on this machine."""

import sys

import yaml

source, target, strategy = sys.argv[1:]
with open(source) as f:
    config = yaml.safe_load(f)
train = next(runner for runner in config["runner"] if runner["class"] == "train" and str(runner.get("device", "cpu")).lower() == "cpu")
runner = {
    "name": "local_cluster", "class": "local_cluster_train", "device": "cpu", "epochs": 1, "fleet_mode": "ps",
    "distribute_strategy": strategy, "worker_num": 2, "server_num": 2, "print_interval": 10,
    "save_checkpoint_interval": 1, "save_checkpoint_path": "increment_cluster", "init_model_path": "",
}
if "phases" in train:
    runner["phases"] = train["phases"]
if strategy == "geo":
    # Its servers add up what trainers change, which is what SGD needs.
    config["hyper_parameters"]["optimizer"]["class"] = "SGD"
config["mode"] = ["local_cluster"]
config["runner"].append(runner)
with open(target, "w") as f:
    yaml.safe_dump(config, f)
