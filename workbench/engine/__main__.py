"""`python -m workbench.engine`: the process of one session."""

import gc

if __name__ == "__main__":
    gc.set_threshold(50_000)  # the objects made by imports stay, so collections during the start free nothing
    from workbench.engine.process import run

    run()
