"""A folder's names and whole files, durable.

Not here: formats.

    durable     a folder's names, durable
    whole_file  a file that somebody asked for, whole or not there
"""
