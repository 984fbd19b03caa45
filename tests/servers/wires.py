# SPDX-License-Identifier: Apache-2.0
"""How the protocols frame their messages, and as much of what stands in them as faults need to know."""
import struct


def receive(stream, size):
    parts = b""
    while len(parts) < size:
        part = stream.recv(size - len(parts))
        if not part:
            raise ConnectionError
        parts += part
    return parts


class Wire:
    """One protocol's framing. `head`: bytes of a message that say whose it is, its damage would only make it a stranger's;
    `greeting`: replies of the set-up, which ends with one line when they make no sense."""
    head = 0
    greeting = 0

    def receive_message(self, stream):
        raise NotImplementedError

    def framed(self, body):
        raise NotImplementedError

    def oversized(self, body, chance):
        raise NotImplementedError

    def strange(self, body, chance):
        raise NotImplementedError

    def damaged_from(self, body):
        return min(self.head, len(body) - 1)

    def listing_start(self, body):
        """Of a request for a part of a directory: where it says from where on, and what stands there for the beginning."""
        return None

    def opens_connection(self, body):
        """Whether a client may begin a connection with this request."""
        return True


def opaque_end(body, at):
    return at + 4 + (struct.unpack_from(">I", body, at)[0] + 3 & ~3)


def rpc_arguments(body):
    """Where those of a call begin."""
    return opaque_end(body, opaque_end(body, 28) + 4)


class Rpc(Wire):
    """ONC RPC: NFS."""
    head = 8
    RENAME = 100003, 3, 14  # program, version, procedure
    CHANGES_NAMES = {8, 9, 10, 11, 12, 13, 14, 15}  # CREATE to LINK

    def changes_names(self, body):
        program, version, procedure = struct.unpack_from(">3I", body, 12)
        return (program, version) == (100003, 3) and procedure in self.CHANGES_NAMES

    def creates_file(self, body):
        return struct.unpack_from(">3I", body, 12) == (100003, 3, 8)

    def listing_start(self, body):
        readdir, readdirplus = (100003, 3, 16), (100003, 3, 17)
        if struct.unpack_from(">3I", body, 12) not in (readdir, readdirplus):
            return None
        return opaque_end(body, rpc_arguments(body)), bytes(16)

    def receive_message(self, stream):
        body, last = b"", False
        while not last:
            mark = struct.unpack(">I", receive(stream, 4))[0]
            last = bool(mark >> 31)
            body += receive(stream, mark & 0x7FFFFFFF)
        return body

    def framed(self, body):
        return struct.pack(">I", len(body) | 1 << 31) + body

    def oversized(self, body, chance):
        return struct.pack(">I", chance.choice([0x7FFFFFFF, 0xFFFFFFFF, 0x80000000 | len(body) + 50_000_000])) + body

    def strange(self, body, chance):
        return struct.pack(">I", chance.getrandbits(32)) + body[4:]


class Rpc4(Rpc):
    """NFSv4, whose set-up goes the same way."""
    greeting = 8
    OPEN, LOCK, PUTFH, READDIR, SETATTR, EXCHANGE_ID, SEQUENCE, RECLAIM_COMPLETE = 18, 12, 22, 26, 34, 42, 53, 58
    CREATE, LINK, REMOVE, RENAME4, SAVEFH = 6, 11, 28, 29, 32

    def changes_names(self, body):
        return any(number in (self.CREATE, self.LINK, self.REMOVE, self.RENAME4) for number, _, _ in self.operations(body))

    def creates_file(self, body):
        """An OPEN that creates, which names its owner before."""
        return any(number == self.OPEN and struct.unpack_from(">I", body, opaque_end(body, at + 20))[0] == 1 for number, at, _ in self.operations(body))

    def operations(self, body):
        """(number, where its arguments begin, index) of each operation of a COMPOUND, up to the first that is not known here."""
        at = opaque_end(body, rpc_arguments(body)) + 4
        if struct.unpack_from(">2I", body, 16) != (4, 1):
            return
        for index in range(struct.unpack_from(">I", body, at)[0]):
            number = struct.unpack_from(">I", body, at + 4)[0]
            yield number, at + 8, index
            if number == self.SEQUENCE:
                at += 36
            elif number == self.PUTFH:
                at = opaque_end(body, at + 8) - 4
            elif number == self.SAVEFH:
                at += 4
            else:
                return

    def listing_start(self, body):
        for number, at, _ in self.operations(body):
            if number == self.READDIR:
                return at, bytes(16)
        return None

    def shortened(self, body, operations):
        """The COMPOUND with only so many of its operations, which must be known."""
        count = opaque_end(body, rpc_arguments(body)) + 4
        end = [at for _, at, index in self.operations(body) if index == operations][0] - 4
        return body[:count] + struct.pack(">I", operations) + body[count + 4:end]

    def lengthened(self, body, number, status):
        """A reply, in which one more operation failed."""
        count = opaque_end(body, 28)
        results = struct.unpack_from(">I", body, count)[0]
        return (body[:24] + struct.pack(">I", status) + body[28:count] + struct.pack(">I", results + 1) + body[count + 4:]
                + struct.pack(">2I", number, status))

    def failed(self, body, status):
        """The answer to a COMPOUND of which nothing was done."""
        number = next(self.operations(body))[0]
        return body[:4] + struct.pack(">9I", 1, 0, 0, 0, 0, status, 0, 1, number) + struct.pack(">I", status)


class NineP(Wire):
    head = 3
    greeting = 8

    def receive_message(self, stream):
        size = struct.unpack("<I", receive(stream, 4))[0]
        return receive(stream, size - 4)

    def framed(self, body):
        return struct.pack("<I", len(body) + 4) + body

    def oversized(self, body, chance):
        return struct.pack("<I", chance.choice([0, 3, 6, 0x7FFFFFFF, 0xFFFFFFFF, 50_000_000])) + body

    def strange(self, body, chance):
        return body[:1] + struct.pack("<H", chance.getrandbits(16)) + body[3:]

    TVERSION, TREADDIR, TWRITE, TCLUNK, TXATTRCREATE = 100, 40, 118, 120, 32
    TLCREATE, TSYMLINK, TLINK, TMKDIR, TRENAMEAT, TUNLINKAT = 14, 16, 70, 72, 74, 76

    def changes_names(self, body):
        return body[0] in (self.TLCREATE, self.TSYMLINK, self.TLINK, self.TMKDIR, self.TRENAMEAT, self.TUNLINKAT)

    def creates_file(self, body):
        return body[0] == self.TLCREATE

    def listing_start(self, body):
        return (7, bytes(8)) if body[0] == self.TREADDIR else None

    def opens_connection(self, body):
        return body[0] == self.TVERSION

    def offers_linux(self, body):
        return body[0] == self.TVERSION and body.endswith(b"9P2000.L")


class Afp(Wire):
    head = 4  # flags, command, request id
    greeting = 9

    def receive_message(self, stream):
        head = receive(stream, 16)
        return head + receive(stream, struct.unpack(">I", head[8:12])[0])

    def framed(self, body):
        return body[:8] + struct.pack(">I", max(0, len(body) - 16)) + body[12:]

    def oversized(self, body, chance):
        return body[:8] + struct.pack(">I", chance.choice([1, 0x7FFFFFFF, 0xFFFFFFFF, 50_000_000])) + body[12:]

    def strange(self, body, chance):
        return body[:2] + struct.pack(">H", chance.getrandbits(16)) + body[4:]

    COMMAND, GET_STATUS, OPEN_SESSION = 2, 3, 4
    OPEN_FORK, SET_FILE_DIR_PARMS, ENUMERATE2 = 26, 35, 68
    CREATE_DIR, CREATE_FILE, SET_FILE_PARMS = 6, 7, 30

    def command(self, body):
        return body[16] if body[1] == self.COMMAND else None

    def changes_names(self, body):
        """Makes names; a file is only recognized by the one it had, if it is removed or moved."""
        return self.command(body) in (self.CREATE_DIR, self.CREATE_FILE, self.SET_FILE_PARMS)

    def creates_file(self, body):
        return self.command(body) == self.CREATE_FILE

    def listing_start(self, body):
        return (30, struct.pack(">I", 1)) if self.command(body) == self.ENUMERATE2 else None

    def opens_connection(self, body):
        return body[1] in (self.GET_STATUS, self.OPEN_SESSION)

    def damaged_from(self, body):
        return min(16, len(body) - 1)
