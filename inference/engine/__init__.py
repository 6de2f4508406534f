"""The Engine port, the engine's process, the only door to vLLM, drafters.

Not here: the ledger.

    port                  `Engine`: what the walk asks of a sampler, with its request and answer
    drafters              drafters, chosen when the engine starts
    main                  the engine child's entry: `python -m inference.engine.main`
    frames                messages on the pipe between the gateway and the engine child
    flight                trajectories in progress, their draws and their rounds
    vllm_engine           the only door to vLLM: an engine that is stepped in this process
    sampling_fix          changes to vLLM's sampler
    vector_kernels        resolves MKL's kernels in one thread, before vLLM computes anything
    capture_adapter       subclasses of vLLM's classes, which see every step
    look_ahead_scheduler  look-aheads, first drafts and shared prompts, as vLLM schedules them
    prompt_sharing        trajectories of one request compute their common prompt once
    self_test             the start-up self-test: an engine that samples wrongly must not serve
"""
