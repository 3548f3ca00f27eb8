import { describe, expect, test } from 'vitest';
import { proxyFor } from './proxy.ts';
import type { Environment } from './proxy.ts';

const hub = new URL('https://hub.example.org/base');
const proxied = (env: Environment, url = hub) => proxyFor(url, env)?.origin ?? null;

describe('the proxy of an address', () => {
  test('is the one for its scheme, lower-case variables first, and none without a variable', () => {
    const env = { HTTPS_PROXY: 'http://upper:1', https_proxy: 'http://lower:2', HTTP_PROXY: 'http://plain:3' };
    expect(proxied(env)).toBe('http://lower:2');
    expect(proxied({ HTTPS_PROXY: 'http://upper:1' }, new URL('wss://hub.example.org'))).toBe('http://upper:1');
    expect(proxied(env, new URL('http://hub.example.org'))).toBe('http://plain:3');
    expect(proxied(env, new URL('ws://hub.example.org'))).toBe('http://plain:3');
    expect(proxied({ HTTP_PROXY: 'http://plain:3' })).toBeNull();
    expect(proxied({ HTTPS_PROXY: ' ' })).toBeNull();
  });

  test('is never used for this machine', () => {
    const env = { HTTP_PROXY: 'http://proxy:1', HTTPS_PROXY: 'http://proxy:1' };
    for (const host of ['localhost', 'a.localhost', '127.0.0.1', '127.8.9.1', '[::1]', '[::ffff:127.0.0.1]'])
      expect(proxied(env, new URL(`http://${host}:4400`)), host).toBeNull();
  });

  test.each([
    ['*', true],
    ['other.org, example.org', true],
    ['.example.org', true],
    ['*.example.org', true],
    ['hub.example.org', true],
    ['HUB.Example.org:443', true],
    ['hub.example.org:8443', false],
    ['b.example.org', false],
    ['ample.org', false],
    ['', false],
  ])('is not used for hosts that NO_PROXY lists: %j', (list, covered) => {
    for (const name of ['NO_PROXY', 'no_proxy'])
      expect(proxied({ HTTPS_PROXY: 'http://proxy:1', [name]: list })).toBe(covered ? null : 'http://proxy:1');
  });

  test.each([
    ['https://10.1.2.3', '10.0.0.0/8', true],
    ['https://10.1.2.3', '10.1.2.3', true],
    ['https://11.1.2.3', '10.0.0.0/8', false],
    ['https://[fd00::1]', 'fd00::/8', true],
    ['https://[fd00::1]', '[fd00::1]', true],
    ['https://10.1.2.3', '10.0.0.0/99', false],
  ])('is not used for addresses in NO_PROXY: %s, %s', (url, list, covered) => {
    expect(proxied({ HTTPS_PROXY: 'proxy:1', NO_PROXY: list }, new URL(url)) === null).toBe(covered);
  });

  test('may have no scheme, and credentials that are percent-decoded and never shown', () => {
    expect(proxyFor(hub, { HTTPS_PROXY: 'me:p%40ss@[fd00::2]:8080' })).toEqual({
      variable: 'HTTPS_PROXY',
      origin: 'http://[fd00::2]:8080',
      isTls: false,
      host: 'fd00::2',
      port: 8080,
      authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
    });
    expect(proxyFor(hub, { HTTPS_PROXY: 'https://proxy' })).toMatchObject({ isTls: true, port: 443 });
  });

  test.each([
    'socks5://user:secret@proxy:1080',
    'http://',
    'http://user:secret%zz@proxy:1',
    'http://user:secret@proxy:99999',
  ])('that is invalid causes an error that names the variable and no secret: %s', (value) => {
    expect(() => proxyFor(hub, { https_proxy: value })).toThrow(/^https_proxy (?!.*secret)/);
  });
});
