"""Who was called: errors of arguments name the function or the layer, the argument, and its value."""

import jt_edu as jt
from jt_edu import nn

IMAGE = jt.ones((1, 4, 6, 6))
WINDOW = jt.ones((4, 4, 3, 3))

ASKED = [
    ("conv2d's stride", "0", lambda: jt.conv2d(IMAGE, WINDOW, stride=0)),
    ("conv2d's padding", "'half'", lambda: jt.conv2d(IMAGE, WINDOW, padding="half")),
    ("conv_transpose2d's stride", "0", lambda: jt.conv_transpose2d(IMAGE, WINDOW, stride=0)),
    ("max_pool2d's kernel_size", "0", lambda: jt.max_pool2d(IMAGE, 0)),
    ("avg_pool2d's stride", "0", lambda: jt.avg_pool2d(IMAGE, 2, 0)),
    ("adaptive_avg_pool2d's output_size", "0", lambda: jt.adaptive_avg_pool2d(IMAGE, 0)),
    ("unfold's kernel_size", "0", lambda: nn.functional.unfold(IMAGE, 0)),
    ("fold's output_size", "0", lambda: nn.functional.fold(jt.ones((1, 4, 4)), 0, 2)),
    ("interpolate's size", "0", lambda: jt.interpolate(IMAGE, 0)),
    ("affine_grid's size", "0", lambda: nn.functional.affine_grid(jt.zeros((1, 2, 3)), (1, 1, 0, 2))),
    ("pixel_shuffle's upscale_factor", "0", lambda: nn.functional.pixel_shuffle(IMAGE, 0)),
    ("Conv2d's kernel_size", "0", lambda: nn.Conv2d(1, 1, 0)),
    ("Conv3d's padding", "-1", lambda: nn.Conv3d(1, 1, 1, padding=-1)),
    ("ConvTranspose2d's output_padding", "-1", lambda: nn.ConvTranspose2d(1, 1, 1, output_padding=-1)),
    ("MaxPool2d's kernel_size", "0", lambda: nn.MaxPool2d(0)),
    ("LPPool2d's stride", "0", lambda: nn.LPPool2d(2, 2, 0)),
    ("MaxUnpool2d's padding", "-1", lambda: nn.MaxUnpool2d(2, padding=-1)),
    ("AdaptiveMaxPool2d's output_size", "0", lambda: nn.AdaptiveMaxPool2d(0)),
    ("PixelUnshuffle's downscale_factor", "0", lambda: nn.PixelUnshuffle(0)),
    ("Fold's kernel_size", "0", lambda: nn.Fold(3, 0)),
    ("Linear takes in_features", "0", lambda: nn.Linear(0, 1)),
    ("Conv1d takes in_channels", "0", lambda: nn.Conv1d(0, 1, 1)),
    ("GRU takes hidden_size", "0", lambda: nn.GRU(3, 0)),
    ("LSTM takes hidden_size", "0", lambda: nn.LSTM(3, 0)),
    ("LSTM takes hidden_size", "'2'", lambda: nn.LSTM(3, "2")),
    ("LSTM takes a proj_size below hidden_size", "2", lambda: nn.LSTM(3, 2, proj_size=2)),
    ("Embedding takes num_embeddings", "0", lambda: nn.Embedding(0, 1)),
    ("GroupNorm takes num_groups", "0", lambda: nn.GroupNorm(0, 4)),
    ("MultiheadAttention takes embed_dim", "0", lambda: nn.MultiheadAttention(0, 1)),
    ("local_response_norm takes size", "0", lambda: nn.functional.local_response_norm(IMAGE, 0)),
    ("add takes alpha", "'2'", lambda: jt.add(IMAGE, IMAGE, alpha="2")),
    ("subtract takes alpha", "'2'", lambda: jt.subtract(IMAGE, IMAGE, alpha="2")),
    ("hsplit takes indices_or_sections", "1.5", lambda: jt.hsplit(IMAGE, 1.5)),
    ("unique_consecutive takes return_counts", "'x'", lambda: jt.unique_consecutive(jt.ones(3), return_counts="x")),
    ("lp_pool2d takes a finite norm_type", "inf", lambda: nn.functional.lp_pool2d(IMAGE, float("inf"), 2)),
    ("softplus takes beta", "-1", lambda: jt.softplus(IMAGE, -1.0)),
    ("base_momentum", "2", lambda: jt.optim.lr_scheduler.OneCycleLR(
        jt.optim.SGD([jt.ones(1)], lr=0.1, momentum=0.9), 0.1, total_steps=3, base_momentum=2.0)),
]  # fmt: skip

CALLS = [(f"{who} of {found}", call, jt.ArgumentError, f"{who}.*found .*{found}") for who, found, call in ASKED]
