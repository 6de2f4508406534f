"""The Signer protocol, and where keys live.

Not here: what is signed.

    file    who signs: the Signer protocol and a key in a file
    pkcs11  a key in a device
"""
