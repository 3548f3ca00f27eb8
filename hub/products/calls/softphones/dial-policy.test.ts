import { describe, expect, test } from 'vitest';
import { decideDial } from './dial-policy.ts';
import type { DialRules } from './dial-policy.ts';

const workspace = 'w0123456789abcdef';
const person = `${workspace}-${'0a'.repeat(16)}`;
const rules: DialRules = { domain: 'sip.example.com', emergency: 'refuse', allow: ['+49', '*97'] };
const decide = (uri: string, more: Partial<DialRules> = {}) => decideDial(uri, workspace, { ...rules, ...more });

describe('decideDial', () => {
  test.each([
    ['sip:+4930123456@sip.example.com', '+4930123456'],
    ['sip:+49%2030-123.456@SIP.EXAMPLE.COM;user=phone', '+4930123456'],
    ['SIP:+49(30)123456;phone-context=x@sip.example.com', '+4930123456'],
    ['tel:+49-30-123456', '+4930123456'],
    ['sip:004930123456@sip.example.com', '+4930123456'],
    ['sip:*97@sip.example.com', '*97'],
    [`sip:${person}@sip.example.com`, person],
    [`sips:${person.toUpperCase()}@sip.example.com;transport=ws`, person],
    [`sip:${workspace}@sip.example.com`, workspace],
  ])('normalizes an allowed address: %s', (uri, user) => {
    expect(decide(uri)).toMatchObject({
      kind: 'allowed',
      uri: `sip:${user}@sip.example.com`,
      isCounted: !user.startsWith('w'),
    });
  });

  test.each([
    'sip:911@sip.example.com',
    'sip:9%31%31@sip.example.com',
    'sip:9-1-1@sip.example.com',
    'sip:911;phone-context=+49@sip.example.com',
    'sip:911:secret@sip.example.com',
    'sip:+1911@sip.example.com',
    'sip:001911@sip.example.com',
    'tel:112',
    'tel:911;phone-context=+1',
    'TEL:1-1-0',
    'sip:999@sip.example.com;user=phone',
    'tel:112;phone-context=+49',
    'tel:110;phone-context=+49',
    'tel:999;phone-context=+44',
    'tel:112;phone-context=example.com',
    'tel:911?x=y',
    'urn:service:sos',
    'URN:service:sos.police',
    'sip:112%23@sip.example.com',
    'sip:112@sip.example.com:5060',
    'sip:112@sip.example.com.',
    'sip:112@10.0.0.1?Route=x',
    'sip:112',
    'sip:１１２@sip.example.com',
    'sip:%EF%BC%91%EF%BC%91%EF%BC%92@sip.example.com',
    'sip:%D9%A1%D9%A1%D9%A2@sip.example.com',
    'sip:\u{116db}\u{116db}\u{116dc}@sip.example.com',
    'sip:9%E2%80%8B1%C2%A01@sip.example.com',
    'sip:911%00,@sip.example.com',
    'sip:9_1_1%@sip.example.com',
    'sip:++112@sip.example.com',
  ])('recognizes an emergency number in any notation and applies the setting of the operator: %s', (uri) => {
    expect(decide(uri, { allow: [''] })).toMatchObject({
      kind: 'refused',
      reason: 'Emergency Calls Not Possible Here',
      isEmergency: true,
    });
    expect(decide(uri, { emergency: 'route', allow: [] })).toMatchObject({
      kind: 'allowed',
      uri: expect.stringMatching(/^sip:\+?(112|911|999|110|1911)@sip\.example\.com$/),
      isCounted: false,
      isEmergency: true,
    });
  });

  test.each([
    'sip:+33123456@sip.example.com',
    'sip:30123456@sip.example.com',
    'sip:+4930123456@other.example.com',
    'sip:+4930123456@sip.example.com:5080',
    'sip:+4930123456@sip.example.com?Route=x',
    'sip:%2b4%2539@sip.example.com',
    'sip:+49３0@sip.example.com',
    'sip:%E0%A4%A@sip.example.com',
    `sip:w0123456789abcdee-${'0a'.repeat(16)}@sip.example.com`,
    `sip:${workspace}0@sip.example.com`,
    `sip:${workspace}-x@sip.example.com`,
    'sip:sip.example.com',
    'sip:0112@other.example.com',
    'urn:service:counseling',
    'tel:1125;phone-context=+33',
    'mailto:a@sip.example.com',
    'tel:',
    `sip:${'a'.repeat(2_000)}@sip.example.com`,
  ])('refuses an address that no rule allows: %.60s', (uri) => {
    expect(decide(uri)).toMatchObject({
      kind: 'refused',
      reason: expect.stringMatching(/^(Number|Address) Not Allowed$/),
      isEmergency: false,
    });
  });
});
