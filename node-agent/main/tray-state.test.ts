import { expect, test } from 'vitest';
import type { CompanionState } from '../../shared/companion/state.ts';
import { describeForTray } from './tray-state.ts';

const running = { state: 'running', detail: null } as const;
const companion = (changes: object) =>
  ({
    settings: { paused: false },
    paired: { hub: 'https://hub.example.org:8443/outrigger' },
    connection: { isUp: true },
    problem: null,
    running: [],
    prompts: [],
    ...changes,
  }) as unknown as CompanionState;

test.each([
  [{}, 'connected', 'Connected to hub.example.org:8443'],
  [{ running: [{}] }, 'connected', 'A command runs'],
  [{ running: [{}, {}] }, 'connected', '2 commands run'],
  [{ prompts: [{}], running: [{}] }, 'waiting', 'A program waits for your word'],
  [{ prompts: [{}, {}] }, 'waiting', '2 programs wait for your word'],
  [{ connection: { isUp: false } }, 'offline', 'Not connected to hub.example.org:8443'],
  [{ paired: null }, 'offline', 'Not paired'],
  [{ problem: 'x', connection: { isUp: false } }, 'offline', 'Needs your attention'],
  [{ settings: { paused: true }, problem: 'x', running: [{}] }, 'paused', 'Paused: nothing runs'],
])('the tray says in one line what counts most: %j', (changes, mark, line) => {
  expect(describeForTray(running, companion(changes))).toMatchObject({ mark, line });
});

test('the tray has a word also while no companion answers', () => {
  expect(describeForTray({ state: 'restarting', detail: 'x' }, null)).toMatchObject({
    mark: 'offline',
    line: 'Restarting',
    isPaused: false,
  });
});
