"""Writes scalars with a Python writer, and prints the seconds until all are in the file.

Arguments: `tensorboardX`, `tensorboard` or `wandb`, the number of scalars, and a directory.
"""

import sys
import time

TAGS = ["train/loss", "train/entropy", "train/grad_norm", "rollout/return", "rollout/length"]
PEER, COUNT, DIRECTORY = sys.argv[1], int(sys.argv[2]), sys.argv[3]

if PEER == "tensorboardX":
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(DIRECTORY)
    began = time.perf_counter()
    for index in range(COUNT):
        writer.add_scalar(TAGS[index % 5], index, index // 5)
    writer.close()
elif PEER == "tensorboard":
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(DIRECTORY)
    began = time.perf_counter()
    for index in range(COUNT):
        value = Summary.Value(tag=TAGS[index % 5], simple_value=index)
        summary = Summary(value=[value])
        writer.add_event(Event(wall_time=time.time(), step=index // 5, summary=summary))
    writer.close()
elif PEER == "wandb":
    import wandb

    settings = wandb.Settings(silent=True, x_disable_stats=True, console="off")
    run = wandb.init(mode="offline", dir=DIRECTORY, settings=settings)
    began = time.perf_counter()
    for step in range(COUNT // 5):
        run.log({tag: step for tag in TAGS}, step=step)
    run.finish()
else:
    import swanlab

    run = swanlab.init(mode="offline", logdir=DIRECTORY, hardware_monitor=False)
    began = time.perf_counter()
    for step in range(COUNT // 5):
        swanlab.log({tag: step for tag in TAGS}, step=step)
    swanlab.finish()
print(time.perf_counter() - began)
