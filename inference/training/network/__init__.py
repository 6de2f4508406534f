"""The network and its files.

Not here: data.

    model       a small Llama in plain torch, and its files in Hugging Face's form
    sampling    continuations drawn from a model, with their rows
    checkpoint  training state on disk
    export      the files of a pair and their manifest
"""
