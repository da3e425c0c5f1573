"""The pipeline: resolve -> select -> prune -> overlay -> specialize -> lockstep -> verify -> emit."""
