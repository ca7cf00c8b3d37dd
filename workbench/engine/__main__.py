"""`python -m workbench.engine`: the process of one session."""

import gc
import sys

# httpx loads its own command if it can, with click and rich, which no engine needs.
sys.modules["httpx._main"] = None  # type: ignore[assignment]

if __name__ == "__main__":
    gc.disable()  # the objects made by imports stay, so collections during the start free nothing
    from workbench.engine.process import run

    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()
    run()
