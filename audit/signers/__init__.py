"""The Signer protocol, and where keys live.

Not here: what is signed.

    file    the Signer protocol, and keys in files
    pkcs11  a key in a device
"""
