"""Machine: on what was it measured? Facts that the system tells, and "unknown" where it does not."""

import os
import platform
import re
from importlib import metadata
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "torch")
QUIET = 0.5  # load below which a machine has nothing else to do
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def load() -> float | None:
    """Programs that wanted to run, on average over the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def describe() -> dict[str, str]:
    """Name of a fact -> the fact."""
    return {
        "processor": _processor(),
        "cores": _cores(),
        "caches": _caches(),
        "widest registers": _registers(),
        "system": f"{platform.system()}, {platform.machine()}",
        "Python": platform.python_version(),
        "LLVM": _llvm(),
        **{name: _version(name) for name in LIBRARIES},
        "BLAS": "; ".join(_blas()) or "unknown (threadpoolctl tells)",
        "PyTorch": _torch(),
    }


def _processor() -> str:
    text = _read(Path("/proc/cpuinfo"))
    found = {key: re.search(rf"^{key}\s*: (.+)$", text, re.MULTILINE) for key in ("model name", "cpu family", "model")}
    if not found["model name"]:
        return platform.processor() or "unknown"
    numbers = [f"{key} {hit[1]}" for key, hit in found.items() if hit and key != "model name"]
    return f"{found['model name'][1]} ({', '.join(numbers)})"


def allowed() -> int:
    """How many cores this process may use: taskset, or a container, may allow fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cores() -> str:
    return f"{os.cpu_count()}" + (f", of which {allowed()} for this bench" if allowed() != os.cpu_count() else "")


def _caches() -> str:
    found = [
        f"L{_read(place / 'level').strip()} {_read(place / 'type').strip().lower()} {_read(place / 'size').strip()}"
        for place in sorted(CACHES.glob("index*"))
    ]
    return ", ".join(found) or "unknown"


def _registers() -> str:
    flags = set(_read(Path("/proc/cpuinfo")).split())
    return next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "unknown")


def _llvm() -> str:
    from llvmlite import binding  # noqa: PLC0415  only once the environment is set

    return ".".join(map(str, binding.llvm_version_info))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _blas() -> list[str]:
    """Which BLAS is loaded, and for which processor its kernels were written."""
    try:
        from threadpoolctl import threadpool_info  # noqa: PLC0415  it comes with scikit-learn, and need not be there
    except ImportError:
        return []
    return [
        f"{Path(one['filepath']).parent.name.removesuffix('.libs')}: {one['internal_api']} {one.get('version')}"
        f", kernels for {one.get('architecture', 'unknown')}"
        for one in threadpool_info()
        if one["user_api"] == "blas"
    ]


def _torch() -> str:
    try:
        import torch  # noqa: PLC0415  it need not be there
    except ImportError:
        return "not installed"
    parts = [part for part in torch.__config__.show().splitlines() if "Math Kernel" in part or "MKL-DNN" in part]
    names = [re.sub(r"\s*\(Git.*?\)|-Product Build.*| for Intel.*", "", part).strip(" -") for part in parts]
    return f"{', '.join(names)}; vectors: {torch.backends.cpu.get_cpu_capability()}"


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
