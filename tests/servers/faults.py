# SPDX-License-Identifier: Apache-2.0
"""What a proxy (proxy.py) may do to messages."""
import errno
import random
import struct
import threading
import time

import wires


# --- damages of one reply: what to send instead, or None to close the connection ---
def flip(wire, body, chance):
    damaged = bytearray(body)
    for _ in range(chance.randint(1, 8)):
        damaged[chance.randrange(wire.damaged_from(body), len(damaged))] = chance.randrange(256)
    return wire.framed(bytes(damaged))


def cut(wire, body, chance):
    return wire.framed(body[:chance.randrange(wire.damaged_from(body), len(body))])


def huge_length(wire, body, chance):
    return wire.oversized(body, chance)


def garbage(_, __, chance):
    return chance.randbytes(chance.randrange(1, 5000))


def stranger(wire, body, chance):
    return wire.framed(wire.strange(body, chance))


def twice(wire, body, _):
    return wire.framed(body) * 2


def hang_up(_, __, ___):
    return None


def silence(_, __, ___):
    return b""


class Fault:
    """What a proxy does to messages; this one passes them all. `times`: how often it was committed."""
    times = 0

    def request(self, link, body):
        """What goes on to the server; None: nothing does."""
        return body

    def reply(self, link, body):
        """The octets that the client gets; None: the connection ends."""
        return link.wire.framed(body)

    def name(self):
        return "".join(" " + c.lower() if c.isupper() else c for c in type(self).__name__).strip()


class Damage(Fault):
    """One reply of `every` is damaged, but each connection's first `greeting` and all of the first `honest` connections."""

    def __init__(self, damage, every, honest=0, greeting=0):
        self.damage, self.every, self.honest, self.greeting = damage, every, honest, greeting
        self.chance = random.Random(7)

    def reply(self, link, body):
        if link.number < self.honest or link.replies <= self.greeting or self.chance.randrange(self.every):
            return link.wire.framed(body)
        self.times += 1
        return self.damage(link.wire, body, self.chance)

    def name(self):
        return self.damage.__name__.replace("_", " ")


class CutInMidFrame(Fault):
    """The connection ends within one reply of `every`."""

    def __init__(self, every):
        self.every, self.chance = every, random.Random(7)

    def reply(self, link, body):
        octets = link.wire.framed(body)
        if link.replies <= link.wire.greeting or self.chance.randrange(self.every):
            return octets
        self.times += 1
        link.send(octets[:self.chance.randrange(1, len(octets))])
        return None


class Delay(Fault):
    """Every reply comes so many seconds late, up to."""

    def __init__(self, seconds):
        self.seconds, self.chance = seconds, random.Random(7)

    def reply(self, link, body):
        self.times += 1
        time.sleep(self.chance.random() * self.seconds)
        return link.wire.framed(body)


class OneAtATime(Fault):
    """A server that is busy for so many seconds with each request: its limit is known, however busy this machine is."""

    def __init__(self, seconds):
        self.seconds, self.free, self.turn = seconds, 0, threading.Lock()

    def reply(self, link, body):
        with self.turn:
            self.free = max(self.free, time.monotonic()) + self.seconds
            due = self.free
        time.sleep(max(0, due - time.monotonic()))
        return link.wire.framed(body)


class FallSilent(Fault):
    """Passes so many replies of each connection, then none: a server that hangs."""

    def __init__(self, replies):
        self.passed = replies

    def reply(self, link, body):
        if link.replies <= self.passed:
            return link.wire.framed(body)
        self.times += 1
        return b""


class RepeatCookies(Fault):
    """Every request for a part of a directory asks the server for its beginning."""

    def request(self, link, body):
        place = link.wire.listing_start(body)
        if place is None:
            return body
        self.times += 1
        at, start = place
        return body[:at] + start + body[at + len(start):]


class CutAt(Fault):
    """The connection ends once for each number of `which`, a function that gives requests one or None: instead of the request or,
    `after` it was done, instead of its reply."""

    def __init__(self, which, after=False):
        self.which, self.after = which, after
        self.cut, self.due = set(), False

    def request(self, link, body):
        number = self.which(link.wire, body)
        if number is None or number in self.cut:
            return body
        self.cut.add(number)
        self.times += 1
        self.due = True
        if self.after:
            return body
        raise ConnectionError

    def reply(self, link, body):
        if self.after and self.due:
            self.due = False
            return None
        return link.wire.framed(body)


class CutSetUp(CutAt):
    """The same, and the connection after it ends at its first request."""

    def request(self, link, body):
        if link.requests == 1 and link.number % 2:
            raise ConnectionError
        return super().request(link, body)


class GoneFor(CutAt):
    """The connection ends instead of the reply to such a request, and each further one at its first request, for so many seconds."""

    def __init__(self, which, seconds):
        super().__init__(which, after=True)
        self.seconds, self.back = seconds, 0

    def request(self, link, body):
        if time.monotonic() < self.back:
            raise ConnectionError
        return super().request(link, body)

    def reply(self, link, body):
        if self.due:
            self.back = time.monotonic() + self.seconds
        return super().reply(link, body)


class CutAndForget(CutAt):
    """NFSv4.1: the connection ends instead of the reply to such a request, and the server no longer knows the session when the request
    comes again, as after a restart."""

    def __init__(self, which):
        super().__init__(which, after=True)
        self.forgotten = set()

    def request(self, link, body):
        if body[:4] in self.forgotten:
            self.forgotten.remove(body[:4])
            link.answer(link.wire.failed(body, 10052))
            return None
        before = self.times
        body = super().request(link, body)
        if self.times > before:
            self.forgotten.add(body[:4])
        return body


class LoseSession(Fault):
    """NFSv4.1: the session is unknown once for each number of `which`, as in CutAt: before the request, or `after` it was done."""

    def __init__(self, which, after=False):
        self.which, self.after = which, after
        self.lost, self.due = set(), {}

    def request(self, link, body):
        number = self.which(link.wire, body)
        if number is None or number in self.lost:
            return body
        self.lost.add(number)
        self.times += 1
        if self.after:
            self.due[body[:4]] = body
            return body
        link.answer(link.wire.failed(body, 10052))
        return None

    def reply(self, link, body):
        asked = self.due.pop(body[:4], None)
        return link.wire.framed(link.wire.failed(asked, 10052) if asked else body)


class ReclaimFirst(Fault):
    """NFSv4.1 as RFC 8881, 18.51.3 has it: a client that the server did not know opens and locks nothing anew before it said that it
    has reclaimed everything. A fault is a request that does."""
    CONFIRMED, CLAIM_PREVIOUS, GRACE = 0x80000000, 1, 10013
    complete = True

    def __init__(self):
        self.refused = {}

    def anew(self, wire, body):
        """(number, index) of the operation that opens or locks anew."""
        for number, at, index in wire.operations(body):
            if number == wire.RECLAIM_COMPLETE:
                self.complete = True
            if number == wire.LOCK and struct.unpack_from(">I", body, at + 4)[0] == 0:
                return number, index
            if number == wire.OPEN:
                how = wires.opaque_end(body, at + 20)
                if struct.unpack_from(">2I", body, how) != (0, self.CLAIM_PREVIOUS):
                    return number, index
        return None

    def request(self, link, body):
        found = self.anew(link.wire, body)
        if not found or self.complete:
            return body
        self.times += 1
        self.refused[body[:4]] = found[0]
        return link.wire.shortened(body, found[1])

    def reply(self, link, body):
        number = self.refused.pop(body[:4], None)
        if number:
            return link.wire.framed(link.wire.lengthened(body, number, self.GRACE))
        first = wires.opaque_end(body, 28) + 4  # operation, status, client id, sequence, flags
        if len(body) >= first + 24 and struct.unpack_from(">2I", body, first) == (link.wire.EXCHANGE_ID, 0):
            if not struct.unpack_from(">I", body, first + 20)[0] & self.CONFIRMED:
                self.complete = False
        return link.wire.framed(body)


class EntryGone(Fault):
    """A 9P2000.u server before which entries of a directory go while it lists it: `remove` is called then, and instead of its nth reply
    there is an error."""
    TREAD, RERROR = 116, 107

    def __init__(self, nth, remove):
        self.left, self.tag, self.remove = nth, None, remove

    def request(self, link, body):
        if body[0] == self.TREAD:
            self.left -= 1
            if self.left == 0:
                self.tag = body[1:3]
        return body

    def reply(self, link, body):
        if body[1:3] == self.tag:
            self.times, self.tag = self.times + 1, None
            self.remove()
            text = b"No such file or directory"
            body = bytes([self.RERROR]) + body[1:3] + struct.pack("<H", len(text)) + text + struct.pack("<I", errno.ENOENT)
        return link.wire.framed(body)


class LateOpen(Fault):
    """A 9P2000.L server that answers the first Tlopen after so many Tlock."""
    TLOPEN, RLOCK = 12, 53

    def __init__(self, locks):
        self.left, self.tag, self.held = locks, None, None

    def request(self, link, body):
        if body[0] == self.TLOPEN and self.tag is None:
            self.tag = body[1:3]
        return body

    def reply(self, link, body):
        if self.held is None and body[1:3] == self.tag and body[0] == self.TLOPEN + 1:
            self.held = body
            return b""
        octets = link.wire.framed(body)
        if body[0] == self.RLOCK and self.held:
            self.left -= 1
            if self.left == 0:
                self.times += 1
                octets += link.wire.framed(self.held)
        return octets


class OtherDialect(Fault):
    """A 9P server that does not answer when 9P2000.L is offered, or hangs up; so often."""

    def __init__(self, hangs_up, most=1000):
        self.hangs_up, self.most = hangs_up, most

    def request(self, link, body):
        if not link.wire.offers_linux(body) or self.times >= self.most:
            return body
        self.times += 1
        if self.hangs_up:
            link.end()
        return None
