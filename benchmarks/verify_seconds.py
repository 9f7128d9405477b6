"""verify_seconds.py DIR PROGRAM.py [...]

Runs ``shapelog verify`` on each program under this Python, which needs torch, one after another, and prints whether the measured seconds
lie inside the estimate, and how wide that is as a multiple of its lower end. ``backend="aot_eager"`` and ``"eager"`` become Inductor.
What it wrote is in DIR; a program whose result is there is not run again.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

BACKEND = re.compile(r"backend=\"(aot_)?eager\"")


def verified(program: Path, folder: Path) -> dict[str, float] | None:
    """The seconds of one program as JSON has them, None where nothing could be verified."""
    result = folder / f"{program.stem}.json"
    if not result.exists():
        copy = folder / program.name
        copy.write_text(BACKEND.sub('backend="inductor"', program.read_text(encoding="utf-8")), encoding="utf-8")
        command = [sys.executable, "-m", "shapelog", "verify", "--trace-dir", str(folder / program.stem), "-f", "json", "-o", str(result)]
        with (folder / f"{program.stem}.txt").open("w", encoding="utf-8") as log:
            subprocess.run([*command, "--", sys.executable, str(copy)], stdout=log, stderr=log, check=False)
    seconds = json.loads(result.read_text(encoding="utf-8")).get("seconds") if result.exists() else None
    return seconds if isinstance(seconds, dict) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("programs", type=Path, nargs="+")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    inside = narrow = tried = 0
    for program in options.programs:
        seconds = verified(program, options.folder)
        if seconds is None:
            print(f"{program.stem:28} not verified", flush=True)
            continue
        least, most = seconds["predicted"]["least"], seconds["predicted"]["most"]
        width = (most - least) / least if most is not None else None
        tried, inside, narrow = tried + 1, inside + seconds["inside"], narrow + (width is not None and width <= 2)
        where = "inside" if seconds["inside"] else "OUTSIDE"
        times = f"before {seconds['before']:6.1f}  estimate {least:6.1f} to {most or 0:6.1f}  measured {seconds['measured']:6.1f}"
        print(f"{program.stem:28} {times}  {where}  width {width or 0:.1f}", flush=True)
    print(f"\ninside in {inside} of {tried}; at most twice as wide as the lower end in {narrow}")


if __name__ == "__main__":
    main()
