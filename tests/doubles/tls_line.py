"""A test CA, and both ends of a TLS line: the sidecar (as stunnel) and the broker's TLS door."""

import asyncio
import contextlib
import datetime as dt
import gc
import ipaddress
import queue
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fix.dialects.profile import Tls

_BLOCK = 65_536
GOODBYE_S = 0.5
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class Issuer:
    """A CA with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def file(self, folder: Path, name: str) -> Path:
        path = folder / f"{name}.pem"
        path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        return path


def issuer(name: str) -> Issuer:
    key = ec.generate_private_key(ec.SECP256R1())
    return Issuer(_certificate(name, key, None), key)


def served_by(folder: Path, ca: Issuer, name: str) -> ssl.SSLContext:
    """Return a server's context with a certificate for a name."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(name, key, ca)
    path = folder / f"{name}.chain.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def _certificate(name: str, key: ec.EllipticCurvePrivateKey, ca: Issuer | None) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates live in real time
    names: list[x509.GeneralName] = [x509.DNSName(name)]
    if ca is None:
        names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if ca is None else ca.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key if ca is None else ca.key, hashes.SHA256())
    )


@contextlib.contextmanager
def sidecar(tls: Tls, *, failures: list[str]) -> Iterator[int]:
    """Yield the port of a sidecar that checks chain and name, as `profile sidecar` says."""
    context = ssl.create_default_context(cafile=tls.ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2

    async def outward() -> Line:
        try:
            return await asyncio.open_connection(
                tls.host, tls.port, ssl=context, server_hostname=tls.server_name
            )
        except ssl.SSLError as error:
            failures.append(str(error))
            raise

    with _forwarder(None, outward) as port:
        yield port


@contextlib.contextmanager
def tls_door(context: ssl.SSLContext, behind: int) -> Iterator[int]:
    """Yield the port of the broker's TLS door, before its engine's port."""

    async def outward() -> Line:
        return await asyncio.open_connection("127.0.0.1", behind)

    with _forwarder(context, outward) as port:
        yield port


@contextlib.contextmanager
def _forwarder(
    inward: ssl.SSLContext | None, outward: Callable[[], Awaitable[Line]]
) -> Iterator[int]:
    """Yield a port whose connections go on to where `outward` connects, on a loop of its own."""
    loop = asyncio.new_event_loop()
    ports: queue.SimpleQueue[int] = queue.SimpleQueue()
    stop = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            far_reader, far_writer = await outward()
            ends.append(far_writer)
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        except OSError:
            return
        finally:
            await _hang_up(ends)

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=inward)
        ports.put(server.sockets[0].getsockname()[1])
        await stop.wait()
        server.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    try:
        yield ports.get(timeout=10.0)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10.0)
        loop.run_until_complete(_ended(loop))
        loop.close()


async def _hang_up(ends: Sequence[asyncio.StreamWriter]) -> None:
    """Close connections; one whose peer does not say goodbye (TLS) is broken off."""
    try:
        for end in ends:
            if not end.is_closing():  # closed twice, a TLS transport can no longer be aborted
                end.close()
        closing = asyncio.gather(*(end.wait_closed() for end in ends), return_exceptions=True)
        await asyncio.wait_for(closing, GOODBYE_S)
    except TimeoutError:
        pass
    finally:
        for end in ends:
            end.transport.abort()


async def _ended(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is left and wait for it, then break off what has no task: open handshakes."""
    while rest := [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]:
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
    await asyncio.sleep(GOODBYE_S)
    for one in gc.get_objects():
        if issubclass(type(one), asyncio.Transport) and getattr(one, "_loop", None) is loop:
            one.abort()
    await asyncio.sleep(0)  # a transport that is broken off closes its socket at the next turn
    await loop.shutdown_asyncgens()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while block := await source.read(_BLOCK):
            sink.write(block)
            await sink.drain()
    sink.close()
