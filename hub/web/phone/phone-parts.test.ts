import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chatLocales } from '../../../shared/contract/chat/settings.ts';
import { loadLanguage } from './language.ts';
import { MediaOutage } from './media-outage.ts';
import { outcomeOfAnswered, outcomeOf, outcomeOfIncoming, shownOutcome } from './outcomes.ts';
import { nameOf } from './parts/names.ts';
import { peerOf, callListItemOf, targetOf, userOf } from './peers.ts';
import { qualityBetween } from './quality.ts';
import { english } from './words/english.ts';

const own = 'w2f0c8e1b7a6d5943-019c0000000070008000000000000007';
const ben = { id: '019c0000-0000-7000-8000-000000000008', email: 'Ben@harbour.example', user: '' };
const colleagues = [{ ...ben, user: userOf(own, ben.id) }];
const directory = { domain: 'sip.example.com', colleagues };

test('the dial field accepts numbers with separators, emails of colleagues and SIP addresses of the domain, and rejects other texts', () => {
  const user = 'w2f0c8e1b7a6d5943-019c0000000070008000000000000008';
  for (const [text, found] of [
    ['+49 (30) 123-45.67', '+49301234567'],
    ['+49 (0)30 1234567', '+49301234567'],
    ['0049(0)30 1234567', '0049301234567'],
    ['+39 (0)6 1234567', '+39061234567'],
    ['(0)30 1234567', '0301234567'],
    ['tel:+4930123', '+4930123'],
    ['sip:+4930123@sip.example.com;transport=udp', '+4930123'],
    ['ben@HARBOUR.example ', user],
    [`sip:${user}@sip.example.com`, user],
    ['*21#', '*21#'],
    ['sip:boss@elsewhere.example', null],
    ['somebody', null],
    ['', null],
  ] as const)
    expect(targetOf(text, directory)).toBe(found);
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(targetOf(text, directory) ?? '+1').toMatch(/^(?:\+?[0-9*#]{1,32}|w[0-9a-f]{16}(?:-[0-9a-f]{32})?)$/);
    }),
  );
});

test('a colleague is identified by the SIP user and not by the display name that a caller sends', () => {
  expect(peerOf(colleagues[0]?.user ?? '', 'The boss', colleagues)).toMatchObject({ name: ben.email, number: '' });
  expect(peerOf('+4930123', 'The boss', colleagues)).toEqual({
    user: '+4930123',
    name: 'The boss',
    number: '+4930123',
  });
  expect(peerOf(own, '', colleagues)).toMatchObject({ name: '' });
});

test('a call between colleagues is listed as incoming for the callee, outgoing for the caller, and with both names for other members', () => {
  const { user, email } = colleagues[0] as (typeof colleagues)[0];
  const third = { id: '', email: 'cleo@harbour.example', user: userOf(own, '019c0000-0000-7000-8000-000000000009') };
  const all = { ...directory, colleagues: [...colleagues, third] };
  const itemOf = (fromId: string | null, toId: string | null, direction: 'inbound' | 'outbound' | null = 'outbound') =>
    callListItemOf({ direction, fromId, toId }, own, all);
  expect(itemOf(user, own)).toMatchObject({ kind: 'inbound', peer: { user, name: email }, other: null });
  expect(itemOf(own, user)).toMatchObject({ kind: 'outbound', peer: { user, name: email }, other: null });
  expect(itemOf(user, third.user)).toMatchObject({ kind: 'between', peer: { user }, other: { name: third.email } });
  expect(itemOf(user, '+4930123')).toMatchObject({ kind: 'between', peer: { user }, other: { name: '+4930123' } });
  // For calls of a carrier, the direction that the carrier reports decides.
  expect(itemOf('+4930123', '+4940', 'inbound')).toEqual({
    kind: 'inbound',
    peer: { user: '+4930123', name: '+4930123', number: '' },
    other: null,
  });
  expect(itemOf('+4940', '+4930123')).toMatchObject({ kind: 'outbound', peer: { user: '+4930123' } });
  expect(itemOf('sip:a@elsewhere.example', '+4940', 'inbound').peer).toMatchObject({ user: null });
  expect(itemOf(null, null, null)).toMatchObject({ kind: 'outbound', peer: { user: null, name: '' } });
});

test('phone numbers keep their direction in a right-to-left language, and durations use the digits of the language', async () => {
  const number = peerOf('+4930123', '', []);
  const [latin, arabic] = [await loadLanguage('en', ['en']), await loadLanguage('ar', ['ar-EG'])];
  expect([nameOf(number, latin), nameOf(number, arabic)]).toEqual(['+4930123', '\u2068+4930123\u2069']);
  expect([0, 62, 3_605].map((seconds) => latin.clock(seconds))).toEqual(['0:00', '1:02', '1:00:05']);
  expect(arabic.clock(3_605)).toBe('١:٠٠:٠٥');
});

test('the quality of a call is good without loss, worse with loss and delay, and silent when no packets arrive', () => {
  const counts = (received: number, lost: number, roundTripMs: number | null = 40) => ({
    atMs: 0,
    received,
    lost,
    jitterMs: 2,
    roundTripMs,
  });
  const after = (received: number, lost: number, roundTripMs?: number | null) =>
    qualityBetween(counts(100, 1), counts(100 + received, 1 + lost, roundTripMs));
  expect(after(200, 0)).toMatchObject({ verdict: 'good', lostPercent: 0, roundTripMs: 40, jitterMs: 2 });
  expect(after(190, 10)).toMatchObject({ verdict: 'poor', lostPercent: 5 });
  expect(after(200, 0, 900).verdict).not.toBe('good');
  expect(after(0, 0).verdict).toBe('silent');
  expect(after(200, 0, null).roundTripMs).toBe(null);
  // Counters that a browser resets do not count as loss.
  expect(qualityBetween(counts(500, 9), counts(20, 0))).toMatchObject({ verdict: 'silent', lostPercent: 0 });
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(1000), fc.nat(5000), (received, lost, roundTripMs) => {
      const { score } = after(received, lost, roundTripMs);
      expect(score).toBeGreaterThanOrEqual(1);
      expect(score).toBeLessThanOrEqual(4.5);
    }),
  );
});

test('a media outage warns after 30 seconds and ends the call after 60, and received audio resets the time', () => {
  const outage = new MediaOutage();
  const at = (seconds: number, isBroken = true) => outage.update(isBroken, seconds * 1000);
  expect([at(100), at(129), at(130), at(159)]).toEqual(['none', 'none', 'warn', 'warn']);
  expect([at(159.5, false), at(160), at(189), at(190), at(220)]).toEqual(['none', 'none', 'none', 'warn', 'end']);
});

test('each end of a call maps to an outcome, and refusals by the hub have outcomes of their own', () => {
  const refused = (status: number, reason: string) =>
    outcomeOf({ originator: 'remote', cause: 'Rejected', status, reason });
  expect(refused(403, 'Emergency Calls Not Possible Here')).toBe('emergencyNotPossible');
  expect(refused(403, 'Number Not Allowed')).toBe('numberNotAllowed');
  expect(refused(503, 'No Way To Numbers')).toBe('noWayToNumbers');
  expect(refused(403, 'Minutes Of The Day Used Up')).toBe('minutesUsedUp');
  expect(refused(486, 'Busy Here')).toBe('busy');
  expect(refused(480, '')).toBe('notReachable');
  expect(refused(599, '')).toBe('declined');
  expect(outcomeOf({ originator: 'local', cause: 'Canceled' })).toBe('cancelled');
  expect(outcomeOf({ originator: 'system', cause: 'Connection Error' })).toBe('connectionLost');
  expect(outcomeOf({ originator: 'system', cause: 'What Nobody Knows' })).toBe('callFailed');
  expect(['Terminated', 'WebRTC Error', 'Request Timeout'].map(outcomeOfAnswered)).toEqual([
    'callOver',
    'noCommonSound',
    'connectionBroken',
  ]);
});

test('an incoming call that was answered or declined on another phone is distinguished from a cancelled call', () => {
  const cancelled = { originator: 'remote', cause: 'Canceled' };
  for (const [isDeclined, reasonHeader, outcome] of [
    [false, 'SIP;cause=200;text="Call completed elsewhere"', 'answeredElsewhere'],
    [false, 'SIP ;cause=603', 'youDeclined'],
    [false, 'Q.850;cause=16', 'cancelled'],
    [false, undefined, 'cancelled'],
    [true, undefined, 'youDeclined'],
  ] as const)
    expect(outcomeOfIncoming(cancelled, isDeclined, reasonHeader)).toBe(outcome);
});

test('a failed emergency call always tells the user to call from another phone, whatever the cause', () => {
  for (const number of ['112', '+112', '00112', '911', '+1911', '999', '110'])
    for (const outcome of ['noSuchNumber', 'noWayToNumbers', 'busy', 'connectionLost', 'microphoneNeeded'] as const)
      expect(shownOutcome(outcome, number)).toBe('emergencyNotPossible');
  expect(shownOutcome('cancelled', '112')).toBe('cancelled');
  expect([shownOutcome('busy', '+49112'), shownOutcome('busy', null)]).toEqual(['busy', 'busy']);
});

test('every language has all texts of English, with the same placeholders, and translates every sentence', async () => {
  const values = (text: string) => text.match(/\{\w+\}/g)?.toSorted() ?? [];
  const sentences = (words: typeof english) => Object.entries(words).filter(([, text]) => text.length > 25);
  for (const locale of chatLocales) {
    const { words } = await loadLanguage(locale, [locale]);
    expect(Object.keys(words)).toEqual(Object.keys(english));
    for (const [key, text] of Object.entries(words)) {
      expect(text).not.toBe('');
      expect(values(text)).toEqual(values(english[key as keyof typeof english]));
    }
    if (locale !== 'en')
      for (const [key, text] of sentences(words)) expect(text).not.toBe(english[key as keyof typeof english]);
  }
});
