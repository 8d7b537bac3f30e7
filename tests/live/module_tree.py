"""A weir with other modules: sources are copied, configured and built, with
what is compiled of them already."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import shutil
import subprocess

import weir as weir_py

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
VARIANT = "sanitize" if weir_py.SANITIZED else "release"
OUTPUT = os.path.relpath(os.path.dirname(weir_py.BINARY), ROOT)


def copy_tree(to):
    """Sources, and what is compiled of them already."""
    os.makedirs(f"{to}/build", exist_ok=True)
    for name in ("configure", "Makefile.in", "build/config.h",
                 "build/modules.c"):
        shutil.copy2(f"{ROOT}/{name}", f"{to}/{name}")
    for name in ("src", "modules", f"{OUTPUT}/obj"):
        shutil.copytree(f"{ROOT}/{name}", f"{to}/{name}", dirs_exist_ok=True)
    shutil.copy2(f"{ROOT}/{OUTPUT}/flags", f"{to}/{OUTPUT}/flags")


def run_in(tree, *command):
    """What it printed."""
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_tests(tree, module):
    """The live tests of its module, with what make check M=MODULE builds."""
    run_in(tree, "make", f"VARIANT={VARIANT}", f"{OUTPUT}/weirctl")
    run_in(tree, "env", f"WEIR={tree}/{OUTPUT}/weir", "tests/live/run", "-n",
           "2", f"modules/{module}")


def configure(tree, *options):
    """With the compiler of this tree."""
    with open(f"{ROOT}/Makefile", encoding="utf-8") as file:
        compiler = re.search("^CC = (.*)", file.read(), re.M)[1]
    run_in(tree, "env", f"CC={compiler}", "./configure", *options)


def build(tree, *options, versions=(None,)):
    configure(tree, *options)
    binary = f"{OUTPUT}/weir"
    run_in(tree, "make", f"VARIANT={VARIANT}", binary,
           *(f"{OUTPUT}/landlock-{v}/weir" for v in versions if v))
    return f"{tree}/{binary}"


def build_with(module, tree, versions=(None,)):
    """A weir that has modules/NAME of this folder as well; and those that are
    told versions of Landlock (weir.at_version())."""
    copy_tree(tree)
    shutil.copytree(f"{HERE}/modules/{module}", f"{tree}/modules/{module}")
    return build(tree, versions=versions)


def build_without(module, tree):
    """A weir that has all modules but one."""
    copy_tree(tree)
    return build(tree, f"--without-{module}")
