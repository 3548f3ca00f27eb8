import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { expect, test } from 'vitest';
import { isSigned } from './signatures.ts';

const now = new Date('2026-01-31T09:00:00Z');
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const twilio = (url: string, body: string, headers: Record<string, string>, token = '12345') =>
  isSigned('twilio', { headers, url, body: Buffer.from(body) }, [token], now);

// Test vectors of the documentation and the library of Twilio.
const vectorUrl = 'https://mycompany.com/myapp.php?foo=1&bar=2';
const vectorForm = new URLSearchParams({
  Digits: '1234',
  CallSid: 'CA1234567890ABCDE',
  To: '+18005551212',
  Caller: '+14158675309',
  From: '+14158675309',
}).toString();
const vectorSignature = 'RSOYDt4T1cUTdK1PDd93/VVr8B8=';

test('isSigned accepts the examples of Twilio for a form and for a body with bodySHA256', () => {
  expect(twilio(vectorUrl, vectorForm, { ...form, 'x-twilio-signature': vectorSignature })).toBe(true);
  const json = '{"property": "value", "boolean": true}';
  const hashUrl = `${vectorUrl}&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620`;
  const signature = 'a9nBmqA0ju/hNViExpshrM61xv4=';
  const headers = { 'content-type': 'application/json', 'x-twilio-signature': signature };
  expect(twilio(hashUrl, json, headers)).toBe(true);
  expect(twilio(hashUrl, json.replace('true', 'false'), headers)).toBe(false);
});

test('isSigned rejects a Twilio request with another address, body, token or signature', () => {
  const headers = { ...form, 'x-twilio-signature': vectorSignature };
  expect(twilio(`${vectorUrl}&more=1`, vectorForm, headers)).toBe(false);
  expect(twilio(vectorUrl.replace('https', 'http'), vectorForm, headers)).toBe(false);
  expect(twilio(vectorUrl, vectorForm.replace('1234', '1235'), headers)).toBe(false);
  expect(twilio(vectorUrl, vectorForm, headers, '12346')).toBe(false);
  expect(twilio(vectorUrl, vectorForm, form)).toBe(false);
  expect(twilio(vectorUrl, vectorForm, { ...form, 'x-twilio-signature': 'AAAA' })).toBe(false);
  // The signature covers the address but not this body.
  const overAddress = createHmac('sha1', '12345').update(vectorUrl).digest('base64');
  expect(twilio(vectorUrl, '{}', { 'content-type': 'application/json', 'x-twilio-signature': overAddress })).toBe(
    false,
  );
});

test('a Twilio signature may include the default port or omit it, and covers repeated values once', () => {
  const signed = (url: string, rest: string) => createHmac('sha1', '12345').update(`${url}${rest}`).digest('base64');
  const withPort = signed('https://hub.example.org:443/carrier?x=1', 'A1');
  expect(twilio('https://hub.example.org/carrier?x=1', 'A=1', { ...form, 'x-twilio-signature': withPort })).toBe(true);
  const own = signed('https://hub.example.org/carrier', 'A1A2B3');
  expect(
    twilio('https://hub.example.org:8443/carrier', 'B=3&A=2&A=1&A=2', { ...form, 'x-twilio-signature': own }),
  ).toBe(true);
});

test('Telnyx and Kamailio signatures are valid for 300 seconds, for the exact bytes, with any current secret', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
  const other = generateKeyPairSync('ed25519')
    .publicKey.export({ format: 'der', type: 'spki' })
    .subarray(-32)
    .toString('base64');
  const body = Buffer.from('{"data":{}}');
  const telnyx = (seconds: number, sent: Buffer, secrets: string[]) => {
    const timestamp = String(now.getTime() / 1000 + seconds);
    const signature = sign(null, Buffer.concat([Buffer.from(`${timestamp}|`), body]), privateKey).toString('base64');
    const headers = { 'telnyx-timestamp': timestamp, 'telnyx-signature-ed25519': signature };
    return isSigned('telnyx', { headers, url: 'https://x.example', body: sent }, secrets, now);
  };
  const kamailio = (seconds: number, sent: Buffer, secrets: string[]) => {
    const timestamp = now.getTime() / 1000 + seconds;
    const digest = createHmac('sha256', key).update(`${timestamp}.`).update(body).digest('hex');
    const headers = { 'x-signature': `t=${timestamp},v1=${digest}` };
    return isSigned('kamailio', { headers, url: 'https://x.example', body: sent }, secrets, now);
  };
  for (const check of [telnyx, kamailio]) {
    expect([check(-299, body, [key]), check(-301, body, [key]), check(301, body, [key])]).toEqual([true, false, false]);
    expect(check(0, Buffer.from('{"data":{} }'), [key])).toBe(false);
    expect([check(0, body, [other, key]), check(0, body, [other]), check(0, body, [])]).toEqual([true, false, false]);
  }
});
