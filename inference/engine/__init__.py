"""The Engine port, the engine's process, vLLM behind one door, drafters.

Not here: the ledger.

    port             the seam between the walk and whatever samples: `Engine`, its request and its
                     answer
    drafters         drafters: who proposes, behind one protocol, chosen when the engine starts
    main             the engine child's entry: `python -m inference.engine.main`
    frames           frames on the pipe between the gateway and the engine child
    flight           trajectories in flight: what the engine knows of each, and the records of its
                     steps
    vllm_engine      the only door to vLLM: an engine that runs in this process, step by step
    sampling_fix     what is changed in vLLM's sampler, which accepts drafts and draws tokens
    capture_adapter  adapters vLLM loads by name: they see every step, and only they subclass
                     vLLM's classes
    self_test        the start-up self-test: an engine that samples wrongly must not serve
"""
