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
  [{ running: [{}] }, 'connected', '1 command is running'],
  [{ running: [{}, {}] }, 'connected', '2 commands are running'],
  [{ prompts: [{}], running: [{}] }, 'waiting', 'A program is waiting for your decision'],
  [{ prompts: [{}, {}] }, 'waiting', '2 programs are waiting for your decision'],
  [{ connection: { isUp: false } }, 'offline', 'Not connected to hub.example.org:8443'],
  [{ paired: null }, 'offline', 'Not paired'],
  [{ problem: 'x', connection: { isUp: false } }, 'offline', 'Needs your attention'],
  [{ settings: { paused: true }, problem: 'x', running: [{}] }, 'paused', 'Paused: nothing runs'],
])('the tray shows the most important state in one line: %j', (changes, mark, line) => {
  expect(describeForTray(running, companion(changes))).toMatchObject({ mark, line });
});

test('the tray shows a state while no companion is connected', () => {
  expect(describeForTray({ state: 'restarting', detail: 'x' }, null)).toMatchObject({
    mark: 'offline',
    line: 'Restarting',
    isPaused: false,
  });
});
