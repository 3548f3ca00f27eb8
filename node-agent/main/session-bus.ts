import { connect } from 'node:net';

/**
 * Checks whether a name has an owner on the D-Bus session bus. Electron does not report whether a desktop has a tray or
 * a key store, and a library for two messages would be the largest part of the app.
 */

/** Time limit for a response of the bus. A connection to a missing bus fails immediately. */
const patienceMs = 15_000;
const bus = 'org.freedesktop.DBus';

/** The address of the bus for Node's `connect`. Null if there is none. */
function busPath(address: string | undefined): string | null {
  for (const one of (address ?? '').split(';')) {
    const found = /^unix:(?:.*,)?(path|abstract)=([^,]+)/.exec(one);
    if (found === null) continue;
    const path = decodeURIComponent(found[2] as string);
    return found[1] === 'abstract' ? `\0${path}` : path;
  }
  return null;
}

/** A method call to the bus in its wire format (little endian). */
export function encodeBusCall(serial: number, member: string, argument: string | null): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(bytes.length);
    return Buffer.concat([size, bytes, Buffer.alloc(1)]);
  };
  const body = argument === null ? Buffer.alloc(0) : text(argument);
  const fields: Buffer[] = [];
  let length = 0;
  const add = (...parts: Buffer[]) => {
    const field = Buffer.concat(parts);
    const padding = Buffer.alloc((8 - (length % 8)) % 8);
    fields.push(padding, field);
    length += padding.length + field.length;
  };
  const signature = (type: string) => Buffer.from([type.length, ...Buffer.from(type), 0]);
  add(Buffer.from([1]), signature('o'), text('/org/freedesktop/DBus'));
  add(Buffer.from([6]), signature('s'), text(bus));
  add(Buffer.from([2]), signature('s'), text(bus));
  add(Buffer.from([3]), signature('s'), text(member));
  if (argument !== null) add(Buffer.from([8]), signature('g'), signature('s'));
  const head = Buffer.alloc(16);
  head.write('l', 0);
  head[1] = 1;
  head[3] = 1;
  head.writeUInt32LE(body.length, 4);
  head.writeUInt32LE(serial, 8);
  head.writeUInt32LE(length, 12);
  return Buffer.concat([head, ...fields, Buffer.alloc((8 - (length % 8)) % 8), body]);
}

/** The first complete message of the received bytes. Null if it is not complete yet. */
function readMessage(bytes: Buffer): { kind: number; body: Buffer; size: number } | null {
  if (bytes.length < 16) return null;
  const bodyLength = bytes.readUInt32LE(4);
  const fieldsLength = bytes.readUInt32LE(12);
  const bodyAt = 16 + Math.ceil(fieldsLength / 8) * 8;
  const size = bodyAt + bodyLength;
  if (bytes.length < size) return null;
  return { kind: bytes[1] ?? 0, body: bytes.subarray(bodyAt, size), size };
}

/**
 * Whether a name has an owner on the session bus. False if there is no bus, null if it does not answer within
 * `timeoutMs`.
 */
export function hasOwnerOnBus(
  name: string,
  address = process.env['DBUS_SESSION_BUS_ADDRESS'],
  timeoutMs = patienceMs,
): Promise<boolean | null> {
  const path = busPath(address);
  if (path === null || process.platform !== 'linux') return Promise.resolve(false);
  return new Promise((done) => {
    const socket = connect(path);
    let received = Buffer.alloc(0);
    let isGreeted = false;
    let replies = 0;
    const finish = (answer: boolean | null) => {
      socket.destroy();
      done(answer);
    };
    socket.setTimeout(timeoutMs, () => finish(null));
    socket.on('error', () => finish(false));
    socket.on('close', () => done(false));
    socket.on('connect', () => {
      const user = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
      socket.write(`\0AUTH EXTERNAL ${user}\r\n`);
    });
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (!isGreeted) {
        const end = received.indexOf('\r\n');
        if (end === -1) return;
        if (!received.subarray(0, end).toString().startsWith('OK ')) return finish(false);
        isGreeted = true;
        received = received.subarray(end + 2);
        socket.write('BEGIN\r\n');
        socket.write(encodeBusCall(1, 'Hello', null));
        socket.write(encodeBusCall(2, 'NameHasOwner', name));
      }
      for (let message = readMessage(received); message !== null; message = readMessage(received)) {
        received = received.subarray(message.size);
        if (message.kind === 3) return finish(false);
        if (message.kind !== 2) continue;
        replies += 1;
        if (replies === 2) return finish(message.body.length >= 4 && message.body.readUInt32LE(0) === 1);
      }
    });
  });
}
