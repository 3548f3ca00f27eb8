import { expect, test } from 'vitest';
import { isPublicAddress, parsePrivateEntry } from './addresses.ts';
import { addressProblem, navigationProblem } from './host-rules.ts';
import { ownerProxyFor, ProxySettingsError } from './owner-proxy.ts';

const none = { allowHosts: [], blockHosts: [], privateHosts: [] };

test.each([
  'http://localhost:3000/',
  'http://a.localhost/',
  'http://LOCALHOST./',
  'http://127.0.0.1/',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0177.0.0.1/',
  'http://0.0.0.0:4400/',
  'http://0/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[64:ff9b::127.0.0.1]/',
  'http://[fe80::1]/',
  'http://[fd00::1]/',
  'http://[2002:7f00:1::]/',
  'http://10.0.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
])('%s is refused by default', (address) => {
  expect(navigationProblem(address, none)).toContain('outrigger-companion hosts --private');
});

test.each([
  ['http://169.254.169.254/latest/meta-data', true],
  ['http://[::ffff:169.254.169.254]/', true],
  ['http://[fd00:ec2::254]/', true],
  ['http://100.100.100.200/', true],
  ['http://10.0.0.1/', false],
  ['http://localhost:3000/', false],
])('the refusal of %s warns of cloud metadata: %s', (address, warns) => {
  expect(navigationProblem(address, none)?.includes('warning: this may be a cloud metadata service')).toBe(warns);
});

test.each([
  ['93.184.216.34', 'http://[::ffff:93.184.216.34]/'],
  ['93.184.216.34', 'http://[::5db8:d822]/'],
  ['93.184.216.34', 'http://[64:ff9b::5db8:d822]/'],
  ['93.184.216.34', 'http://[64:ff9b:1::5db8:d822]/'],
  ['93.184.216.34', 'http://[2002:5db8:d822::1]/'],
  ['93.184.216.34', 'http://1572395042/'],
  ['93.184.216.34', 'http://0x5db8d822/'],
  ['[::ffff:93.184.216.34]', 'http://93.184.216.34/'],
  ['[2606:4700::1]', 'http://[2606:4700:0:0:0:0:0:1]/'],
  ['127.0.0.1', 'http://[::ffff:7f00:1]/'],
])('blocking %s also blocks %s, even if private destinations are allowed', (entry, address) => {
  const rules = { ...none, privateHosts: ['0.0.0.0/0', '::/0'] };
  expect(navigationProblem(address, rules)).toBeNull();
  expect(navigationProblem(address, { ...rules, blockHosts: [entry] })).toContain('blocks');
});

test('blocking an address blocks names that resolve to it, and no other address', () => {
  const rules = { ...none, blockHosts: ['93.184.216.34', '[::1]'] };
  const destination = { host: 'a.example', port: 443 };
  for (const address of ['93.184.216.34', '64:ff9b::5db8:d822'])
    expect(addressProblem(destination, address, rules)).toContain('blocks');
  for (const address of ['93.184.216.35', '2606:4700::1', '64:ff9b::808:808'])
    expect(addressProblem(destination, address, rules), address).toBeNull();
  expect(navigationProblem('http://127.0.0.1/', { ...rules, privateHosts: ['localhost'] })).toBeNull();
});

test.each(['8.8.8.8', '172.32.0.1', '2606:4700:4700::1111', '64:ff9b::808:808', '::ffff:8.8.8.8'])(
  '%s is public',
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

test.each([
  ['localhost', 'http://127.0.0.1:3000/', 'http://10.0.0.1/'],
  ['localhost', 'http://[::1]/', 'http://0.0.0.0/'],
  ['127.0.0.1', 'http://localhost/', 'http://[::1]/'],
  ['10.0.0.0/8', 'http://10.255.0.1:81/', 'http://11.0.0.1.localhost/'],
  ['fd00::/8', 'http://[fd12::1]/', 'http://[fe80::1]/'],
  ['localhost:3000', 'http://localhost:3000/', 'http://localhost:3001/'],
  ['http://192.168.1.5', 'http://192.168.1.5/', 'https://192.168.1.5/'],
  ['[::1]:8080', 'http://[::1]:8080/', 'http://[::1]:8081/'],
])('the private destination %s allows %s and not %s', (entry, allowed, refused) => {
  const rules = { ...none, privateHosts: [entry] };
  expect(navigationProblem(allowed, rules)).toBeNull();
  expect(navigationProblem(refused, rules)).not.toBeNull();
});

test.each(['', '*', '10.0.0.0/33', '10.0.0/8', 'a b', 'http://a/b', 'localhost:99999', 'localhost:0'])(
  '%j is not a valid private destination',
  (text) => {
    expect(parsePrivateEntry(text)).toBeNull();
  },
);

test('HTTP_PROXY, HTTPS_PROXY and NO_PROXY select the proxy of a destination', () => {
  const environment = {
    HTTPS_PROXY: 'http://user:p%40ss@proxy.example:3128',
    http_proxy: 'plain.example',
    NO_PROXY: 'internal.example, 10.0.0.5,ported.example:8443',
  };
  const to = (host: string, port = 443, isTunnel = true) => ownerProxyFor({ host, port, isTunnel }, environment);
  expect(to('example.org')).toEqual({
    host: 'proxy.example',
    port: 3128,
    isSecure: false,
    authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
    variable: 'HTTPS_PROXY',
  });
  expect(to('example.org', 80, false)).toMatchObject({ host: 'plain.example', port: 80 });
  for (const host of ['internal.example', 'a.internal.example', '10.0.0.5']) expect(to(host), host).toBeNull();
  expect(to('ported.example', 8443)).toBeNull();
  expect(to('ported.example')).not.toBeNull();
  expect(to('notinternal.example')).not.toBeNull();
  expect(() => ownerProxyFor({ host: 'a.example', port: 443, isTunnel: true }, { HTTPS_PROXY: 'socks5://x' })).toThrow(
    ProxySettingsError,
  );
});
