import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pairingLink } from '../../shared/companion/app.ts';
import { readPairingLink } from './pairing-link.ts';

const link = (hub: string, code = 'ABCD-EFGH') =>
  `outrigger://pair?hub=${encodeURIComponent(hub)}&code=${encodeURIComponent(code)}`;

describe('a pairing link', () => {
  test('returns hub and code', () => {
    expect(readPairingLink(link('https://hub.example.org/outrigger/', 'abcd-efgh'))).toEqual({
      code: 'ABCD-EFGH',
      hub: 'https://hub.example.org/outrigger',
      looksLike: null,
      isEncrypted: true,
      isLocal: false,
      problem: null,
    });
  });

  test.each(['http://127.0.0.1:4400', 'http://localhost:4400', 'http://[::1]:4400'])(
    'may use %s without encryption, because it is this machine',
    (hub) => {
      expect(readPairingLink(link(hub))).toMatchObject({ hub, isLocal: true, isEncrypted: false, problem: null });
    },
  );

  test('marks unencrypted addresses of other machines', () => {
    for (const hub of ['http://192.168.0.7:4400', 'http://127.0.0.1.example.org'])
      expect(readPairingLink(link(hub))).toMatchObject({ isEncrypted: false, isLocal: false, problem: null });
  });

  test('shows a host in ASCII, together with its Unicode form', () => {
    expect(readPairingLink(link('https://аpple.example'))).toMatchObject({
      hub: 'https://xn--pple-43d.example',
      looksLike: 'аpple.example',
      problem: null,
    });
  });

  test.each([
    ['javascript:alert(1)', 'http or https'],
    ['file:///etc/passwd', 'http or https'],
    ['https://hub.example.org@evil.example', 'user name'],
    ['https://evil.example/?hub.example.org', 'more than an address'],
    ['https://evil.example/#hub.example.org', 'more than an address'],
    ['nonsense', 'no valid hub address'],
  ])('with the hub %s is refused with a reason', (hub, problem) => {
    expect(readPairingLink(link(hub)).problem).toContain(problem);
  });

  test.each(['', 'ABCD', 'ABCD-EFGHJ', 'ABCD-EFGU', 'ABCD EFGH', '<b>x</b>'])(
    'with the code "%s" is refused',
    (code) => {
      expect(readPairingLink(link('https://hub.example.org', code))).toMatchObject({
        code: '',
        problem: expect.stringContaining('pairing code') as string,
      });
    },
  );

  test.each([
    'outrigger://pair',
    'outrigger://other?hub=https%3A%2F%2Fa.example&code=ABCD-EFGH',
    'outrigger://pair/more?hub=https%3A%2F%2Fa.example&code=ABCD-EFGH',
    'outrigger://user@pair?hub=https%3A%2F%2Fa.example&code=ABCD-EFGH',
    'outrigger://pair:80?hub=https%3A%2F%2Fa.example&code=ABCD-EFGH',
    'outrigger://pair?hub=https%3A%2F%2Fa.example&hub=https%3A%2F%2Fb.example&code=ABCD-EFGH',
    'outrigger://pair?hub=https%3A%2F%2Fa.example&code=ABCD-EFGH&code=ABCD-EFGK',
    'outrigger://pair?hub=https%3A%2F%2Fa.example&code=ABCD-EFGH&force=true',
    `outrigger://pair?hub=https%3A%2F%2Fa.example&code=ABCD-EFGH${'x'.repeat(2_000)}`,
    'https://pair?hub=https%3A%2F%2Fa.example&code=ABCD-EFGH',
  ])('in another form is refused: %s', (text) => {
    expect(readPairingLink(text)).toMatchObject({
      hub: '',
      problem: expect.stringContaining('not a complete') as string,
    });
  });

  test('of any text has the declared form, and contains no misleading characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (hub, code) => {
        const read = readPairingLink(link(hub.toWellFormed(), code.toWellFormed()));
        expect(pairingLink.parse(read)).toEqual(read);
        expect(`${read.hub}${read.looksLike ?? ''}`).not.toMatch(/[\p{Cf}\p{Cc}]/u);
      }),
    );
    expect(readPairingLink(link('gnp.\u202Egro')).hub).toBe('gnp.⟨U+202E⟩gro');
  });
});
