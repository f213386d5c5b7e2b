"""Train in DistributedDataParallel on whatever ranks there are; each reports its parameters and what it saw."""

import numpy as np

import jt_edu as jt
from jt_edu.mpi.mpirun_jobs.run import report

jt.flags.backend = "python"
dist = jt.distributed
dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
jt.manual_seed(rank)  # parameters start from rank 0 all the same
net = jt.nn.Sequential(jt.nn.Linear(4, 5), jt.nn.Tanh(), jt.nn.Linear(5, 3)).double()
ddp = jt.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=1e-6)
opt = jt.optim.Adam(ddp.parameters(), lr=0.1)
rows = np.random.RandomState(0).randn(12, 4)[rank::size]
for _ in range(3):
    opt.step((ddp(jt.array(rows)) ** 2).mean())
report([p.numpy() for p in net.parameters()], [e.what for e in ddp.events])
dist.destroy_process_group()
