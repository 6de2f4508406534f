"""Pair v1, made once: a target that forecasts scaled returns, and two drafters distilled from it.

phases       the phases behind the command: train, distil, evaluate
synthetic    synthetic series
windows      batches
train        the training loop of the target
checkpoint   where it goes on
distil       the target's two drafters: a one-layer network and a table
evaluate     skill against EWMA
news_effect  what news does to it
card         the model card
export       the files of a pair
"""
