"""check_predictions.py LAB [--command shapelog] [--with-hf] [--cases a,b]

Runs each program of a lab with the list that ``shapelog suggest-dynamic`` gives for its recorded trace, and holds the compiles and
recompile-limit hits that it then has against the predicted ones. Needs the lab's Python environment (torch 2.13.0; the hf_* programs
transformers, too). LAB holds lab.py, cases/, traces/ and truth/; another set of programs is chosen with LAB_ROOT.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any


def advice_for(command: str, trace: Path) -> dict[str, Any]:
    """The advice as JSON; raises CalledProcessError when shapelog fails."""
    done = subprocess.run([*shlex.split(command), "suggest-dynamic", str(trace), "--format", "json"], capture_output=True, check=True)
    advice: dict[str, Any] = json.loads(done.stdout)
    return advice


def measured_with(lab: Any, case: str, env: str) -> int | None:
    """Compiles and limit hits of a run with this list, None where it failed."""
    result = lab.run_fork(case, env)
    return None if result["crashed"] else result["total"]["compiles"] + result["total"]["limit_hits"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lab", type=Path)
    parser.add_argument("--command", default="shapelog", help="how to call shapelog  [default: shapelog]")
    parser.add_argument("--with-hf", action="store_true", help="also the hf_* programs")
    parser.add_argument("--cases", help="only these, separated by commas")
    options = parser.parse_args()
    sys.path.insert(0, str(options.lab))
    import lab  # type: ignore[import-not-found]

    root = Path(os.environ.get("LAB_ROOT") or options.lab)
    names = sorted(path.name.removesuffix(".log.gz") for path in (root / "traces").glob("*.log.gz") if ".pgo_" not in path.name)
    names = [name for name in names if options.with_hf or not name.startswith("hf_")]
    if options.cases:
        names = [name for name in names if name in options.cases.split(",")]
    lab.preload()
    exact = 0
    for name in names:
        advice = advice_for(options.command, root / "traces" / f"{name}.log.gz")
        # without a list the run is the one that was recorded
        measured = measured_with(lab, name, advice["env"]) if advice["env"] else advice["compiles"]
        exact += measured == advice["predicted_compiles"]
        verdict = "exact" if measured == advice["predicted_compiles"] else "WRONG"
        print(
            f"{name:32} before {advice['compiles']:3}  predicted {advice['predicted_compiles']:3}  measured {measured}  {verdict}",
            flush=True,
        )
    print(f"\npredicted cost (compiles + limit hits) exact in {exact} of {len(names)} programs ({100 * exact / max(1, len(names)):.1f} %)")


if __name__ == "__main__":
    main()
