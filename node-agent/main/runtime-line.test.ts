import { expect, test } from 'vitest';
import { readRuntimeLine } from './runtime-line.ts';

const time = '2026-01-01T00:00:00.000Z';

test.each([
  [{ time, event: 'connected', hub: 'https://hub.example.org', by: 'channel' }, 'connected to https://hub.example.org'],
  [{ time, event: 'settings', paused: true }, 'paused'],
  [{ time, event: 'disconnected', reason: 'x', retryInSeconds: 2 }, 'not connected: x; trying again in 2 s'],
  [
    { time, event: 'disconnected', reason: "The hub can't be reached.", retryInSeconds: 2 },
    "not connected: The hub can't be reached; trying again in 2 s",
  ],
  [{ time, event: 'of_tomorrow', who: 'ann', count: 2 }, 'of_tomorrow, who "ann", count 2'],
  [{ time, event: 'command', outcome: 'succeeded' }, 'command, outcome "succeeded"'],
])('an event of the runtime is described without its timestamp: %j', (event, text) => {
  expect(readRuntimeLine(JSON.stringify(event))).toEqual({ text, reason: null });
});

test('the end event of a runtime contains the reason', () => {
  expect(readRuntimeLine(JSON.stringify({ time, event: 'ended', reason: 'no disk' }))).toEqual({
    text: 'ended: no disk',
    reason: 'no disk',
  });
});

test.each(['(node:1) Warning: x', '{"a":1}', 'null', '{"event":5}', '{"event":'])(
  'other lines stay unchanged: %s',
  (line) => {
    expect(readRuntimeLine(line)).toEqual({ text: line, reason: null });
  },
);
