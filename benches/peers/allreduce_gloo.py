"""All-reduce of two processes on loopback with gloo: seconds of one exchange, a line per size."""
import os
import socket
import time

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

SIZES, WINDOWS = [(4 << 10, 2000), (1 << 20, 200), (16 << 20, 20), (64 << 20, 8)], 5


def worker(rank, port):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:%d" % port, rank=rank, world_size=2)
    for size, count in SIZES:
        data, times = torch.ones(size // 4), []
        for window in range(WINDOWS + 1):
            data.fill_(1.0)
            dist.barrier()
            start = time.perf_counter()
            for _ in range(count):
                dist.all_reduce(data)
            if window:
                times.append((time.perf_counter() - start) / count)
        if rank == 0:
            print("TIMES %d %s" % (size, " ".join("%.9f" % t for t in times)), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(worker, args=(port,), nprocs=2)
