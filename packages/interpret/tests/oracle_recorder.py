"""The recorder, run where only what parsing needs is installed: see oracle_standins."""

import sys

import oracle_standins

if __name__ == "__main__":
    oracle_standins.install()
    from outcomebox.interpret.live import record

    code = record.main()
    absent = ", ".join(oracle_standins.standing_in()) or "nothing"
    sys.stderr.write(f"recorder: stood in for {absent}\n")
    sys.exit(code)
