"""Snapshot to a prompt in words and a fixed-width answer back: the codec of instruct models.

Not here: which folder's tokenizer it is (`inference.weights`).

    answer     the grammar of an answer, its symbols, its strict parser
    hostile    headlines as quoted data
    template   the words of a prompt
    tokenizer  the door to a folder's tokenizer and chat template
    codec      text codec 1
"""
