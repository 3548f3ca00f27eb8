import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import { commandLinePage } from '../reference/command-line.ts';
import { limitsPage } from '../reference/limits.ts';
import {
  errorCodesPage,
  eventsPage,
  nodeCommandsPage,
  permissionsPage,
  settingsPage,
  skillsPage,
} from '../reference/pages.ts';
import type { ShownSkill } from '../reference/pages.ts';

/** Compares a page with the code. `npm run reference` writes it. */
async function expectPage(name: string, text: string): Promise<void> {
  expect(text).not.toContain('undefined');
  if (process.env.OUTRIGGER_WRITE_REFERENCE === '1') {
    const { writeFileSync } = await import('node:fs');
    writeFileSync(`docs/reference/${name}`, text);
  }
  expect(
    readFileSync(`docs/reference/${name}`, 'utf8'),
    `docs/reference/${name} is out of date: npm run reference`,
  ).toBe(text);
}

test.each([
  ['error-codes.md', errorCodesPage],
  ['settings.md', settingsPage],
  ['events.md', eventsPage],
  ['permissions.md', permissionsPage],
  ['limits.md', limitsPage],
  ['command-line.md', commandLinePage],
])('the reference page %s is up to date', async (name, makePage) => {
  await expectPage(name, makePage());
});

test('the reference pages of skills and node commands are up to date', async () => {
  const hub = await startHub({ SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'hub@example.org' });
  onTestFinished(() => hub[Symbol.asyncDispose]());
  const { api } = await hub.workspace();
  const { skills } = (await api.call('listAutomationSkillCatalog')) as unknown as { skills: ShownSkill[] };
  await expectPage('skills.md', skillsPage(skills));
  await expectPage('node-commands.md', nodeCommandsPage(skills));
});
