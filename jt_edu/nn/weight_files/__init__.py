"""weight_files: names and numbers in files of four formats, of which none is ever a program here.

    formats             which format is it? Its suffix says so
    npz_file            .npz: plain arrays, NumPy's format and ours
    torch_reader        .pth, .pt and .bin: PyTorch's, with unpickler: a pickle is read, and never run
    torch_writer        the same, written
    safetensors_file    .safetensors: a table and numbers
    packed              what they share: an array that is read when somebody asks for its numbers

Nothing here knows a module.
"""

__all__: list[str] = []
