import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { Clock } from '../../../platform/clock.ts';
import { SipTimeout } from './client-transaction.ts';
import { answerChallenge, chooseChallenge } from './digest.ts';
import { maxMessagesPerSecond, SipEndpoint } from './endpoint.ts';
import type { SipEndpointOptions, SipTransport } from './endpoint.ts';
import { challengesOf, listOf, parseAddress } from './header-values.ts';
import { headerOf, headersOf, maxMessageBytes, parseMessage, SipSyntaxError, writeMessage } from './message.ts';
import { escapeUser, maxRegisterRequests, register } from './register.ts';
import { SipServer } from './sip-server.ts';
import { StreamFraming } from './stream-framing.ts';

const lines = (...text: string[]) => Buffer.from(`${text.join('\r\n')}\r\n\r\n`);
const never = new AbortController().signal;

/** A clock that advances only in `advance`. */
class ManualClock implements Clock {
  #now = 0;
  #timers: { at: number; callback: () => void }[] = [];

  now() {
    return this.#now;
  }

  after(ms: number, callback: () => void): Disposable {
    const timer = { at: this.#now + ms, callback };
    this.#timers.push(timer);
    return { [Symbol.dispose]: () => void (this.#timers = this.#timers.filter((each) => each !== timer)) };
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((each) => each !== next);
      this.#now = next.at;
      next.callback();
    }
    this.#now = end;
  }

  get pending(): number {
    return this.#timers.length;
  }
}

describe('parseMessage', () => {
  test('reads folded lines, compact names and several values in one line', () => {
    const message = parseMessage(
      Buffer.from(
        'OPTIONS sip:a@b SIP/2.0\r\nv: SIP/2.0/UDP one;branch=z9hG4bK1, SIP/2.0/UDP two\r\nVIA : SIP/2.0/TCP three\r\ns: folded\r\n  over\r\n\ttwo lines\r\nm: "a, b" <sip:x@y;p=1>;expires=3, <sip:z@y>\r\nl: 4\r\n\r\nbodyrest',
      ),
    );
    expect(message).toMatchObject({ kind: 'request', method: 'OPTIONS', uri: 'sip:a@b', body: Buffer.from('body') });
    expect(listOf(message, 'via')).toHaveLength(3);
    expect(headerOf(message, 'subject')).toBe('folded over two lines');
    expect(parseMessage(Buffer.from('SIP/2.0 200\r\nConstructor: a\r\n\r\n')).headers).toEqual([['constructor', 'a']]);
    expect(listOf(message, 'contact').map(parseAddress)).toEqual([
      { uri: 'sip:x@y;p=1', parameters: new Map([['expires', '3']]) },
      { uri: 'sip:z@y', parameters: new Map() },
    ]);
  });

  test.each([
    ['a NUL', 'OPTIONS sip:a@b SIP/2.0\r\nSubject: a\0b\r\n\r\n'],
    ['a carriage return within a line', 'OPTIONS sip:a@b SIP/2.0\r\nSubject: a\rb\r\n\r\n'],
    ['a head without an end', 'OPTIONS sip:a@b SIP/2.0\r\nSubject: a\r\n'],
    ['a body that is too short', 'OPTIONS sip:a@b SIP/2.0\r\nContent-Length: 9\r\n\r\nshort'],
    ['two lengths', 'OPTIONS sip:a@b SIP/2.0\r\nl: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['a negative length', 'OPTIONS sip:a@b SIP/2.0\r\nl: -1\r\n\r\n'],
    ['an unknown version', 'OPTIONS sip:a@b SIP/3.0\r\n\r\n'],
    ['an invalid status', 'SIP/2.0 999 Odd\r\n\r\n'],
    ['a header without a name', 'OPTIONS sip:a@b SIP/2.0\r\n: x\r\n\r\n'],
    ['too many headers', `OPTIONS sip:a@b SIP/2.0\r\n${'a: b\r\n'.repeat(300)}\r\n`],
    ['a head that is too large', `OPTIONS sip:a@b SIP/2.0\r\na: ${'b'.repeat(17_000)}\r\n\r\n`],
    ['more than a datagram holds', `OPTIONS sip:a@b SIP/2.0\r\n\r\n${'b'.repeat(maxMessageBytes)}`],
  ])('rejects %s', (_what, text) => {
    expect(() => parseMessage(Buffer.from(text))).toThrow(SipSyntaxError);
  });

  const piece = fc.oneof(
    fc.constantFrom(
      'SIP/2.0 200 OK',
      'INVITE sip:a@b SIP/2.0',
      '\r\n',
      '\n',
      '\r\n\r\n',
      '\r\n ',
      'v: SIP/2.0/UDP a;branch=z9hG4bKx',
      'Via:',
      ',',
      ';',
      '"',
      '\\',
      '<',
      '>',
      '=',
      'l: 5',
      'Content-Length: 99999999999',
      '\0',
      'm: <sip:a@b>;expires=1',
      'WWW-Authenticate: Digest realm="a", nonce=b, qop="auth"',
    ),
    fc.string({ maxLength: 20, unit: 'binary' }),
    fc.string({ minLength: 1, maxLength: 3 }).map((text) => text.repeat(3_000)),
  );
  const hostile = fc.array(piece, { maxLength: 30 }).map((pieces) => Buffer.from(pieces.join('')));

  test('accepts any bytes or throws SipSyntaxError, and no other error', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.uint8Array({ maxLength: 300 })), (bytes) => {
        try {
          const message = parseMessage(bytes);
          for (const name of ['via', 'contact', 'from', 'to']) listOf(message, name).map(parseAddress);
          chooseChallenge(challengesOf(message, 'www-authenticate'));
          expect(message.headers.length).toBeLessThanOrEqual(256);
        } catch (error) {
          expect(error).toBeInstanceOf(SipSyntaxError);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('leaves a bounded number of timers in an endpoint that receives any bytes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<SipTransport>('udp', 'tcp'),
        fc.array(hostile, { maxLength: 5 }),
        (transport, all) => {
          const { endpoint, clock } = openEndpoint(transport);
          try {
            for (const bytes of all) endpoint.receive(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(SipSyntaxError);
          }
          expect(clock.pending).toBeLessThanOrEqual(2 * 256);
          endpoint[Symbol.dispose]();
          expect(clock.pending).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('returns the headers that writeMessage wrote, and writeMessage rejects line breaks in values', () => {
    const text = fc.string({ minLength: 1, maxLength: 40 }).map((value) => value.trim());
    fc.assert(
      fc.property(fc.array(text), (values) => {
        const written = writeMessage({
          method: 'OPTIONS',
          uri: 'sip:a',
          headers: values.map((value) => ['X-A', value]),
        });
        expect(headersOf(parseMessage(written), 'x-a')).toEqual(values);
      }),
      { numRuns: 100 },
    );
    for (const bad of ['a\r\nEvil: b', 'a\nb', 'a\0'])
      expect(() => writeMessage({ status: 200, reason: bad, headers: [] })).toThrow(SipSyntaxError);
  });
});

describe('StreamFraming', () => {
  const first = Buffer.from('MESSAGE sip:a SIP/2.0\r\nl: 6\r\n\r\na\r\n\r\nb');
  const second = lines('OPTIONS sip:b SIP/2.0', 'Subject: no length');

  test('returns the same messages for any split of the stream, and counts pings', () => {
    const whole = Buffer.concat([first, Buffer.from('\r\n\r\n'), second, first]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (sizes) => {
        const framing = new StreamFraming();
        const messages = [];
        let pings = 0;
        for (let at = 0, turn = 0; at < whole.length; turn += 1) {
          const size = sizes[turn % sizes.length] as number;
          const taken = framing.push(whole.subarray(at, at + size));
          messages.push(...taken.messages);
          pings += taken.pings;
          at += size;
        }
        expect(messages.map(({ body }) => body.toString())).toEqual(['a\r\n\r\nb', '', 'a\r\n\r\nb']);
        expect(pings).toBeLessThanOrEqual(1);
      }),
      { numRuns: 100 },
    );
    expect(new StreamFraming().push(Buffer.from('\r\n\r\n')).pings).toBe(1);
    expect(new StreamFraming().push(Buffer.from('\r\n')).pings).toBe(0);
  });

  test('scans a chunk once, even if it contains many messages', () => {
    const piece = Buffer.from('A b SIP/2.0\r\n\r\n'.repeat(4_000));
    let looked = 0;
    const { indexOf } = Buffer.prototype;
    const spy = vi.spyOn(Buffer.prototype, 'indexOf').mockImplementation(function (this: Buffer, value, from) {
      const found = indexOf.call(this, value as number, from as number);
      looked += (found < 0 ? this.length : found + 1) - Number(from ?? 0);
      return found;
    });
    const { messages } = new StreamFraming().push(piece);
    spy.mockRestore();
    expect(messages).toHaveLength(4_000);
    expect(looked).toBeLessThan(2 * piece.length);
  });

  test('an endpoint closes a stream above the message rate and drops datagrams above it', () => {
    for (const transport of ['tcp', 'udp'] as const) {
      const { endpoint, clock, sent } = openEndpoint(transport);
      const cancel = lines(
        'CANCEL sip:a SIP/2.0',
        'v: SIP/2.0/TCP a;branch=z9hG4bK',
        'f: a',
        't: b',
        'i: c',
        'CSeq: 1 CANCEL',
      );
      const bring = () => {
        for (let count = 0; count < maxMessagesPerSecond; count += 1) endpoint.receive(cancel);
      };
      bring();
      clock.advance(1_000);
      bring();
      expect(sent).toHaveLength(2 * maxMessagesPerSecond);
      if (transport === 'tcp') expect(() => endpoint.receive(cancel)).toThrow(SipSyntaxError);
      else endpoint.receive(cancel);
      expect(sent).toHaveLength(2 * maxMessagesPerSecond);
    }
  });

  test('rejects a message above the size limits', () => {
    const endless = new StreamFraming();
    const grow = () => {
      for (let at = 0; at < 100; at += 1) endless.push(Buffer.from(`a${'b'.repeat(1_000)}`));
    };
    expect(grow).toThrow(SipSyntaxError);
    expect(() => new StreamFraming().push(lines('OPTIONS sip:b SIP/2.0', 'l: 70000'))).toThrow(SipSyntaxError);
  });
});

describe('a digest response', () => {
  // RFC 7616, 3.9.1.
  const parameters = (algorithm: string): [string, string][] => [
    ['realm', 'http-auth@example.org'],
    ['nonce', '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v'],
    ['qop', 'auth, auth-int'],
    ['algorithm', algorithm],
  ];
  const request = {
    method: 'GET',
    uri: '/dir/index.html',
    username: 'Mufasa',
    password: 'Circle of Life',
    clientNonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ',
  };
  const challenge = (...algorithms: string[]) =>
    chooseChallenge(algorithms.map((algorithm) => ({ scheme: 'digest', parameters: new Map(parameters(algorithm)) })));

  test.each([
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
    ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ])('with %s equals the example of RFC 7616', (algorithm, response) => {
    const answer = answerChallenge(challenge(algorithm) as NonNullable<ReturnType<typeof challenge>>, request);
    expect(answer).toContain(`response="${response}"`);
    expect(answer).toContain(`algorithm=${algorithm}, qop=auth, nc=00000001`);
  });

  test('uses the strongest offered algorithm and ignores unknown ones', () => {
    expect(challenge('MD5', 'SHA-256')?.algorithm).toBe('SHA-256');
    expect(challenge('SHA-512-256', 'SHA-256')?.algorithm).toBe('SHA-512-256');
    expect(challenge('MD5-sess')).toMatchObject({ hash: 'md5', isSession: true });
    expect(challenge('SHA-1', 'constructor')).toBeNull();
    const onlyIntegrity = new Map([...parameters('MD5'), ['qop', 'auth-int'] as [string, string]]);
    expect(chooseChallenge([{ scheme: 'digest', parameters: onlyIntegrity }])).toBeNull();
    expect(chooseChallenge([{ scheme: 'basic', parameters: new Map([['realm', 'a']]) }])).toBeNull();
  });
});

function openEndpoint(
  transport: SipTransport,
  answer: SipEndpointOptions['answer'] = async () => ({ status: 480, reason: 'Temporarily Unavailable' }),
) {
  const clock = new ManualClock();
  const sent: string[] = [];
  const endpoint = new SipEndpoint({
    transport,
    clock,
    connection: {
      local: { address: '::1', port: 5060 },
      remote: { address: '198.51.100.7', port: 5070 },
      send: (bytes) => void sent.push(Buffer.from(bytes).toString()),
    },
    answer,
  });
  return { endpoint, clock, sent };
}

const respond = (request: string, status: string, ...headers: string[]) => {
  const copied = request.split('\r\n').filter((line) => /^(Via|From|To|Call-ID|CSeq):/.test(line));
  return lines(`SIP/2.0 ${status}`, ...copied, ...headers, 'Content-Length: 0');
};

describe('a request', () => {
  const common = [
    ['From', '<sip:a@b>;tag=1'],
    ['To', '<sip:a@b>'],
    ['Call-ID', 'c'],
    ['CSeq', '1 REGISTER'],
  ] as const;

  test('over UDP is retransmitted by the timers of RFC 3261 for 32 s', async () => {
    const { endpoint, clock, sent } = openEndpoint('udp');
    const answer = endpoint.request('REGISTER', 'sip:b', common, never);
    const at = [0, 500, 1_500, 3_500, 7_500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500];
    for (const [index, due] of at.entries()) {
      clock.advance(due - clock.now() - (index === 0 ? 0 : 1));
      expect(sent).toHaveLength(Math.max(1, index));
      clock.advance(due - clock.now());
      expect(sent).toHaveLength(index + 1);
    }
    expect(new Set(sent).size).toBe(1);
    clock.advance(500);
    await expect(answer).rejects.toThrow(SipTimeout);
    expect(clock.pending).toBe(0);
  });

  test('is retransmitted every 4 s after a provisional response, and only once sent over a stream', async () => {
    const slow = openEndpoint('udp');
    const answer = slow.endpoint.request('REGISTER', 'sip:b', common, never);
    slow.endpoint.receive(respond(slow.sent[0] as string, '100 Trying'));
    slow.clock.advance(4_400);
    expect(slow.sent).toHaveLength(2);
    slow.endpoint.receive(respond(slow.sent[0] as string, '200 OK'));
    expect((await answer).status).toBe(200);
    const stream = openEndpoint('tcp');
    const other = stream.endpoint.request('REGISTER', 'sip:b', common, never);
    stream.clock.advance(31_999);
    expect(stream.sent).toHaveLength(1);
    stream.endpoint.fail(new Error('gone'));
    await expect(other).rejects.toThrow('gone');
  });

  test('ignores responses with another branch or CSeq method', async () => {
    const { endpoint, sent } = openEndpoint('udp');
    const answer = endpoint.request('REGISTER', 'sip:b', common, never);
    const own = respond(sent[0] as string, '200 OK').toString();
    endpoint.receive(Buffer.from(own.replace(/branch=\w+/, 'branch=z9hG4bKother')));
    endpoint.receive(Buffer.from(own.replace('1 REGISTER', '1 OPTIONS')));
    endpoint.receive(Buffer.from(own.replace('200 OK', '403 Forbidden')));
    expect((await answer).status).toBe(403);
  });
});

describe('a received request', () => {
  const incoming = (method: string, branch = 'z9hG4bKa') =>
    lines(
      `${method} sip:me@here SIP/2.0`,
      `Via: SIP/2.0/UDP far:5060;branch=${branch};rport`,
      'Via: SIP/2.0/UDP farther;branch=z9hG4bKz',
      'From: <sip:+15005550006@far>;tag=1',
      'To: <sip:me@here>',
      'Call-ID: call',
      `CSeq: 7 ${method}`,
    );

  test('gets the same response for each retransmission, with the source address in Via', async () => {
    let asked = 0;
    const { endpoint, sent } = openEndpoint('udp', async () => {
      asked += 1;
      return { status: 200, reason: 'OK' };
    });
    endpoint.receive(incoming('OPTIONS'));
    await expect.poll(() => sent.length).toBe(1);
    endpoint.receive(incoming('OPTIONS'));
    expect(sent).toEqual([sent[0], sent[0]]);
    expect(asked).toBe(1);
    expect(sent[0]).toContain(
      'Via: SIP/2.0/UDP far:5060;branch=z9hG4bKa;rport=5070;received=198.51.100.7\r\nVia: SIP/2.0/UDP farther',
    );
    expect(sent[0]).toMatch(/To: <sip:me@here>;tag=\w{16}\r\n/);
  });

  test('of method INVITE gets its final response repeatedly until the ACK arrives, at most for 32 s', async () => {
    const { endpoint, clock, sent } = openEndpoint('udp');
    endpoint.receive(incoming('INVITE'));
    await expect.poll(() => sent.length).toBe(1);
    clock.advance(1_500);
    expect(sent).toHaveLength(3);
    endpoint.receive(incoming('CANCEL'));
    expect(sent.at(-1)).toMatch(/^SIP\/2\.0 200 OK[^]*7 CANCEL/);
    endpoint.receive(incoming('ACK'));
    clock.advance(10_000);
    expect(sent).toHaveLength(4);
    expect(clock.pending).toBe(0);
    endpoint.receive(incoming('INVITE', 'z9hG4bKb'));
    await expect.poll(() => sent.length).toBe(5);
    clock.advance(120_000);
    expect(sent.length).toBeLessThan(20);
    expect(clock.pending).toBe(0);
  });

  test('is dropped above the transaction limit or without a required header', async () => {
    const asked: string[] = [];
    const { endpoint, clock, sent } = openEndpoint('udp', (request) => {
      asked.push(request.method);
      return { status: 480, reason: 'Temporarily Unavailable' };
    });
    for (const lacking of ['From', 'To', 'Call-ID', 'CSeq'])
      endpoint.receive(
        Buffer.from(
          incoming('INVITE')
            .toString()
            .replace(new RegExp(`${lacking}: .*`), 'Subject: a'),
        ),
      );
    expect(asked).toEqual([]);
    for (let at = 0; at < 300; at += 1) endpoint.receive(incoming('OPTIONS', `z9hG4bK${at}`));
    await expect.poll(() => sent.length).toBe(256);
    endpoint.receive(lines('OPTIONS sip:me SIP/2.0', 'Via: SIP/2.0/UDP far;branch=z9hG4bKq'));
    endpoint.receive(incoming('CANCEL', 'z9hG4bKnone'));
    expect(sent.at(-1)).toContain('481');
    endpoint[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });
});

describe('a registration', () => {
  const registration = {
    registrar: 'carrier.example',
    username: 'acme@x',
    password: 'p',
    contact: 'sip:own@here:5060',
    instanceId: '01980000-0000-7000-8000-000000000007',
    callId: 'call',
    expiresSeconds: 600,
    userAgent: 'test',
  };
  const challenge = (more = '') => `Proxy-Authenticate: Digest realm="r", nonce="n"${more}`;
  const run = async (answers: (turn: number) => [string, ...string[]]) => {
    const { endpoint, sent } = openEndpoint('tcp');
    let sequence = 1;
    const outcome = register(endpoint, { ...registration, nextSequence: () => sequence++ }, never);
    for (let turn = 0; turn < 20; turn += 1) {
      const settled = await Promise.race([outcome.then(() => true), new Promise((done) => setImmediate(done, false))]);
      if (settled === true) break;
      const [status, ...headers] = answers(turn);
      endpoint.receive(respond(sent.at(-1) as string, status, ...headers));
    }
    return { outcome: await outcome, sent };
  };

  test('uses Min-Expires, and takes the lifetime of its own binding among others', async () => {
    const { outcome, sent } = await run((turn) =>
      turn === 0
        ? ['423 Interval Too Brief', 'Min-Expires: 1800']
        : ['200 OK', 'Contact: <sip:other@x>;expires=5, "me" <sip:own@nat:1>;expires=1700'],
    );
    expect(outcome).toMatchObject({ kind: 'registered', expiresSeconds: 1_700 });
    expect(sent.map((text) => /CSeq: (\d+)[^]*Expires: (\d+)/.exec(text)?.slice(1))).toEqual([
      ['1', '600'],
      ['2', '1800'],
    ]);
    expect(sent[0]).toContain('To: <sip:acme%40x@carrier.example>');
    const endless = await run(() => ['423 Interval Too Brief', 'Min-Expires: 999999']);
    expect(endless).toMatchObject({ outcome: { kind: 'refused', code: 423 }, sent: { length: 1 } });
  });

  test('stops after a second challenge without stale, and after two stale nonces', async () => {
    expect(await run(() => ['407 Proxy', challenge()])).toMatchObject({
      outcome: { code: 407, isCredentials: true },
      sent: { length: 2 },
    });
    expect(await run(() => ['407 Proxy', challenge(', stale=TRUE')])).toMatchObject({
      outcome: { code: 407, isCredentials: false, reason: 'nonce_always_stale' },
      sent: { length: 4 },
    });
    expect(await run(() => ['401 No', 'WWW-Authenticate: Basic realm="r"'])).toMatchObject({
      outcome: { reason: 'challenge_not_supported' },
      sent: { length: 1 },
    });
    const mixed = await run((turn) =>
      turn % 2 === 0 ? ['423 Brief', `Min-Expires: ${700 + turn}`] : ['423 Brief', `Min-Expires: ${700 + turn}`],
    );
    expect(mixed.sent.length).toBe(maxRegisterRequests);
  });

  test.each([
    ['302 Moved', []],
    ['503 Busy\u200b', ['Retry-After: 120 (maintenance)']],
    [`403 ${'x'.repeat(5_000)}`, []],
  ] as [string, string[]][])('returns the printable reason of %.20s', async (status, headers) => {
    const { outcome, sent } = await run(() => [status, ...headers]);
    expect(sent).toHaveLength(1);
    expect(outcome).toMatchObject({ kind: 'refused', retryAfterSeconds: headers.length > 0 ? 120 : null });
    expect((outcome as { reason: string }).reason).toMatch(/^(Moved|Busy|x{200})$/);
  });

  test('escapeUser escapes characters that a SIP URI does not allow', () => {
    expect(escapeUser('a b@ü:"')).toBe('a%20b%40%C3%BC%3A%22');
  });
});

test('a connection to a SIP server that stops answering pings is closed', async () => {
  const servers = [true, false].map((autoPong) => new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong }));
  onTestFinished(() => servers.forEach((server) => server.close()));
  const [here, gone] = await Promise.all(
    servers.map(async (server) => {
      if (server.address() === null) await once(server, 'listening');
      const wsUrl = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const rest = { domain: 'd', rpcUrl: wsUrl, sharedSecret: 's', pingMs: 3_000 };
      return new SipServer({ ...rest, wsUrl }).connect('user');
    }),
  );
  await once(gone as WebSocket, 'close');
  expect(here?.readyState).toBe(1);
  here?.terminate();
});
