"""The network and its bytes.

Not here: data.

    checkpoint  training state on disk: all of it or the one before, never half a file
    export      writing a pair: target, draft, table, and the manifest that pins their bytes
    model       a small Llama in plain torch, and its files in Hugging Face's form
    sampling    drawing continuations from a model in plain torch, with the rows each draw came
                from
"""
