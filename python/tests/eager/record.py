"""Records what Fluid 1.8.5 computes for ``cases.py``: run it with a Python that has Fluid 1.8.5, ``python record.py``.

It writes ``recorded.json`` and the checkpoint ``fluid185`` beside itself. With the path of a checkpoint it prints the losses after it.
"""

import json
import os
import sys
import traceback

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def plain(value):
    """A value as JSON has it; floats with as many digits as float32 needs."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float("%.8g" % float(value))
    return value


def main():
    sys.path.insert(0, HERE)
    import paddle.fluid as fluid
    from cases import CASES, go_on, save

    if len(sys.argv) > 1:
        # A checkpoint that was written elsewhere: prints the losses of the steps after it.
        print(json.dumps(plain(go_on(fluid, sys.argv[1]))))
        return
    save(fluid, os.path.join(HERE, "fluid185"))
    recorded = {}
    for name in sorted(CASES):
        try:
            recorded[name] = {key: plain(value) for key, value in CASES[name](fluid).items()}
        except Exception:
            traceback.print_exc()
            print("not recorded: " + name)
    with open(os.path.join(HERE, "recorded.json"), "w") as file:
        json.dump(recorded, file, indent=0, sort_keys=True, separators=(",", ":"))
    print("%d of %d cases recorded" % (len(recorded), len(CASES)))


if __name__ == "__main__":
    main()
