"""Build the quickfix wheel once per machine and install it: sdist in, cached wheel out.

PyPI carries no quickfix wheel, and its default build takes nine minutes on two cores. This script
compiles with ``-O1 -g0`` and two files at a time (about two and a half minutes; the wheel shrinks
from 24 MB to 3.5 MB and is no slower), checks the sdist's digest before any of its code runs, and
keeps the wheel in the cache folder, so that every later environment installs it in seconds.

Run with the environment's own interpreter: ``.venv/bin/python scripts/build_quickfix.py``.
The cache folder is ``COUNTERSIGN_CACHE``, else ``~/.cache/countersign``.

Exit codes: 0 installed; 1 with one line saying what is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

VERSION = "1.16.0"
SDIST = f"quickfix-{VERSION}.tar.gz"
SDIST_SHA256 = "825aceb72cfd69c30fbbf5b380b66f464abe1fe3188374f13d8c9987dd8eb4e9"
FLAGS = "-O1 -g0"
JOBS = 2
DISK_BYTES_MIN = 600 * 1024 * 1024


class BuildError(Exception):
    """Something the operator must put right; its text is the one line that is printed."""


def say(text: str) -> None:
    """Print one progress line at once, also into a pipe."""
    print(f"quickfix: {text}", flush=True)  # a build script talks to its terminal


def cache_folder() -> Path:
    """Return the folder that keeps the sdist and the wheel, creating it."""
    named = os.environ.get("COUNTERSIGN_CACHE")
    folder = Path(named).expanduser() if named else Path.home() / ".cache" / "countersign"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def sha256_of(path: Path) -> str:
    """Return a file's SHA-256 as hexadecimal text."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cached_wheel(cache: Path) -> Path | None:
    """Return the wheel built earlier for this interpreter and platform, if there is one."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    wheel = cache / f"quickfix-{VERSION}-{tag}-{tag}-{platform}.whl"
    return wheel if wheel.is_file() else None


def fetch_sdist(cache: Path) -> Path:
    """Return the sdist from the cache or, through pip, from the package index, digest checked.

    Raises:
        BuildError: it could not be fetched, or its digest is not the pinned one.
    """
    sdist = cache / SDIST
    if not sdist.is_file():
        say(f"fetching {SDIST}")
        pin = cache / "quickfix-pin.txt"
        pin.write_text(f"quickfix=={VERSION} --hash=sha256:{SDIST_SHA256}\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-build-isolation", "--no-binary", ":all:", "--dest", str(cache)]
        # pip compares the hash before it runs the sdist's setup.py for its metadata
        done = subprocess.run([*command, "--require-hashes", "-r", str(pin)], check=False)
        if done.returncode or not sdist.is_file():
            message = f"pip could not download {SDIST}; put the file into {cache} and run again"
            raise BuildError(message)
    found = sha256_of(sdist)
    if found != SDIST_SHA256:
        message = f"{sdist} has SHA-256 {found}, expected {SDIST_SHA256}: remove it and run again"
        raise BuildError(message)
    return sdist


def check_machine(cache: Path) -> None:
    """Refuse early when the compiler, Python's headers or room on the disk are missing.

    Raises:
        BuildError: naming the first thing that is missing.
    """
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        message = "no C++ compiler found: install g++ (Debian: apt-get install g++)"
        raise BuildError(message)
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        message = (
            "Python.h not found: install Python's headers (Debian: apt-get install python3-dev)"
        )
        raise BuildError(message)
    free = shutil.disk_usage(cache).free
    if free < DISK_BYTES_MIN:
        message = f"{free >> 20} MiB free in {cache}, {DISK_BYTES_MIN >> 20} MiB needed"
        raise BuildError(message)


def build_wheel(cache: Path, sdist: Path) -> Path:
    """Compile the sdist in a temporary folder inside the cache and move the wheel into it.

    Raises:
        BuildError: the compiler failed; its output is in ``quickfix-build.log`` in the cache.
    """
    log_path = cache / "quickfix-build.log"
    with tempfile.TemporaryDirectory(dir=cache, prefix="quickfix-build-") as work_name:
        work = Path(work_name)
        with tarfile.open(sdist) as archive:
            archive.extractall(work, filter="data")
        source = work / f"quickfix-{VERSION}"
        environment = os.environ | {"CFLAGS": FLAGS, "CXXFLAGS": FLAGS}
        command = [sys.executable, str(Path(__file__).resolve()), "--compile-in", str(source)]
        with (
            log_path.open("w") as log,
            subprocess.Popen(
                command, cwd=source, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
            ) as process,
        ):
            for line in process.stdout or ():
                if line.startswith("quickfix: "):
                    print(line, end="", flush=True)
                else:
                    log.write(line)
        wheels = list((source / "dist").glob("*.whl"))
        if process.returncode or len(wheels) != 1:
            message = f"the build failed (exit {process.returncode}); see {log_path}"
            raise BuildError(message)
        target = cache / wheels[0].name
        wheels[0].replace(target)
    return target


def compile_in(source: Path) -> None:
    """Run the sdist's own ``setup.py bdist_wheel`` with the compile step made parallel.

    setuptools compiles the files of one extension one after the other; this replaces that loop by
    a pool of two. The SWIG file is by far the longest and goes first.
    """
    importlib.import_module("setuptools")  # puts its own distutils in place, under this name:
    ccompiler = importlib.import_module("distutils.ccompiler")

    def parallel(compiler: Any, sources: list[str], **options: Any) -> list[str]:  # noqa: ANN401
        objects: list[str]
        _, objects, extra, pp_opts, build = compiler._setup_compile(  # noqa: SLF001
            options.get("output_dir"),
            options.get("macros"),
            options.get("include_dirs"),
            sources,
            options.get("depends"),
            options.get("extra_postargs"),
        )
        cc_args = compiler._get_cc_args(  # noqa: SLF001
            pp_opts, options.get("debug", 0), options.get("extra_preargs")
        )
        order = sorted(build, key=lambda name: "QuickfixPython" not in name)
        started, lock, done = time.monotonic(), threading.Lock(), []

        def one(name: str) -> None:
            path, suffix = build[name]
            compiler._compile(  # noqa: SLF001
                name, path, suffix, cc_args, extra, pp_opts
            )
            with lock:
                done.append(name)
                elapsed_s = time.monotonic() - started
                say(f"compiled {len(done):2d} of {len(order)} files, {elapsed_s:4.0f} s")

        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(one, order))
        return objects

    ccompiler.CCompiler.compile = parallel
    sys.argv = ["setup.py", "-q", "bdist_wheel"]
    sys.path.insert(0, str(source))
    script = (source / "setup.py").read_text()
    exec(compile(script, "setup.py", "exec"), {"__name__": "__main__", "__file__": "setup.py"})  # noqa: S102


def install(wheel: Path) -> None:
    """Install the wheel into the interpreter that runs this script.

    Raises:
        BuildError: pip refused.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    if subprocess.run([*command, "--force-reinstall", str(wheel)], check=False).returncode:
        message = f"pip could not install {wheel}"
        raise BuildError(message)


def main() -> int:
    """Build when the cache has no wheel, install, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--compile-in", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--no-install", action="store_true", help="only fill the cache")
    arguments = parser.parse_args()
    if arguments.compile_in:
        compile_in(arguments.compile_in)
        return 0
    try:
        cache = cache_folder()
        wheel = cached_wheel(cache)
        if wheel is None:
            check_machine(cache)
            sdist = fetch_sdist(cache)
            say(f"building {VERSION} from source, {JOBS} files at a time (about 3 minutes)")
            wheel = build_wheel(cache, sdist)
        say(f"wheel {wheel}")
        if not arguments.no_install:
            install(wheel)
            say("installed")
    except (BuildError, OSError) as error:
        say(f"cannot build: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
